//! `formsvc-server seed`.

use super::database::{DatabaseArgs, Missing, with};
use super::error::CommandError;
use super::output;
use super::settings::{bad, whole};
use crate::admin::{Admin, parse_id};
use crate::seed::{SeedOptions, seed_form};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user who gets the form.
    #[arg(long, value_name = "EMAIL")]
    user: String,
    /// Public id of the form.
    #[arg(long, value_name = "ID", default_value = "seeded")]
    public_id: String,
    /// Title of the form; one with the public id in it unless given.
    #[arg(long)]
    title: Option<String>,
    /// How many submissions.
    #[arg(long, value_name = "N", default_value = "1000")]
    submissions: String,
    /// Which ones: the same number gives the same submissions.
    #[arg(long, value_name = "S", default_value = "1")]
    seed: String,
    /// Leave out the rare answers of 1 MiB.
    #[arg(long)]
    no_large_answers: bool,
}

/// Makes the form and prints it as JSON.
pub(super) async fn run(args: &Args) -> Result<(), CommandError> {
    let options = options(args)?;
    let fill = async |admin: &Admin| {
        let user = admin.user(&args.user).await?;
        Ok(seed_form(admin, &user.id, &options).await?)
    };
    output::json(&with(&args.database, Missing::Refuse, fill).await?)
}

fn options(args: &Args) -> Result<SeedOptions, CommandError> {
    let public_id =
        parse_id(&args.public_id).map_err(|rule| bad("--public-id", &args.public_id, rule))?;
    let submissions = whole(&args.submissions, 0, 100_000_000).ok_or_else(|| {
        bad("--submissions", &args.submissions, "must be a whole number up to 100000000")
    })?;
    let mut options = SeedOptions::new(public_id, submissions.into());
    options.seed = args.seed.parse().map_err(|_| {
        bad("--seed", &args.seed, "must be a whole number below 2 to the power of 64")
    })?;
    options.large_answers = !args.no_large_answers;
    if let Some(title) = &args.title {
        options.title.clone_from(title);
    }
    Ok(options)
}
