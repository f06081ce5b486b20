//! `formsvc-server copy`.

use clap::builder::TypedValueParser;
use serde_json::json;

use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::place::Place;
use super::secret_key::SecretKeyArgs;
use super::settings::{bad, whole};
use crate::copy::{self, CopyError, Role};
use crate::secrets::Missing;

/// What the server's key is to this command, which makes none.
const KEY_HELP: &str = "File with the key of the source, which must open its webhook signing secrets, if \
    there are any [default: beside a database file, its name with `.key` added; none for PostgreSQL]";

#[derive(Debug, clap::Args)]
#[command(mut_arg("secret_key_file", |arg| arg.help(KEY_HELP)))]
pub(super) struct Args {
    /// What is copied, and no server may run on: path of a database file, or address of a PostgreSQL
    /// database [default: that of --database].
    #[arg(long, value_name = "DATABASE")]
    #[arg(value_parser = clap::builder::OsStringValueParser::new().map(Place::from))]
    from: Option<Place>,
    /// Where to: a database with nothing in it, or with an unfinished copy of the same source
    /// [default: that of --database].
    #[arg(long, value_name = "DATABASE")]
    #[arg(value_parser = clap::builder::OsStringValueParser::new().map(Place::from))]
    to: Option<Place>,
    /// What is not given of --from and --to: an address with a password goes into the variable.
    #[arg(long, value_name = "DATABASE", env = "FORMSVC_SERVER_DATABASE", hide_env_values = true)]
    #[arg(value_parser = clap::builder::OsStringValueParser::new().map(Place::from))]
    database: Option<Place>,
    #[command(flatten)]
    secret_key: SecretKeyArgs,
    /// Rows in one transaction, at most.
    #[arg(long, value_name = "N", default_value = "5000")]
    rows: String,
}

/// Copies, and prints what was copied of each table as a line of JSON.
pub(super) async fn run(args: &Args) -> Result<(), CommandError> {
    let rows = whole(&args.rows, 1, 100_000)
        .ok_or_else(|| bad("--rows", &args.rows, "must be a whole number from 1 to 100000"))?;
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let (from_place, to_place) = args.places()?;
    if from_place.is_same(to_place) {
        return Err(CommandError::usage("the source and the destination are the same database").hint(
            "what of `--from` and `--to` is not given is in FORMSVC_SERVER_DATABASE: name the other one",
        ));
    }
    // Both, before either is opened.
    from_place.check()?;
    to_place.check()?;
    let mut from = from_place.open_to_copy(Role::Source).await?;
    let sealed = copy::sealed_secrets(&mut from).await?;
    if !sealed.is_empty() {
        // The destination's servers need the same one.
        copy::check_secrets(&args.secret_key.vault(from_place, Missing::Refuse)?, &sealed)?;
    }
    let mut to = to_place.open_to_copy(Role::Destination).await?;
    for census in copy::copy(&mut from, &mut to, rows, &mut output::note).await? {
        output::json(&json!({
            "table": census.table,
            "rows": census.rows,
            "sha256": census.sha256,
        }))?;
    }
    output::note("copied: both have the same rows");
    if !sealed.is_empty() {
        output::note("its servers need the key file of the source: `--secret-key-file`");
    }
    Ok(())
}

impl Args {
    /// From where to where.
    fn places(&self) -> Result<(&Place, &Place), CommandError> {
        match (&self.from, &self.to, &self.database) {
            (Some(from), Some(to), _)
            | (Some(from), None, Some(to))
            | (None, Some(to), Some(from)) => Ok((from, to)),
            _ => Err(CommandError::usage("from where is to be copied, and where to?")
                .hint("name both with `--from` and `--to`, or one, and the other in FORMSVC_SERVER_DATABASE")),
        }
    }
}

impl From<CopyError> for CommandError {
    fn from(error: CopyError) -> Self {
        let (exit, hint) = match &error {
            CopyError::NotEmpty { .. } => (Exit::Usage, "name a database that has nothing in it"),
            CopyError::OtherSource { .. } => {
                (Exit::Usage, "empty the destination, or name the source that it was begun with")
            }
            CopyError::Differs { .. } => {
                (Exit::Failed, "nothing serves the destination: empty it, and copy again")
            }
            CopyError::Sealed { .. } => (Exit::LocalIo, "name its key with `--secret-key-file`"),
            CopyError::Note(_) | CopyError::Key { .. } => {
                (Exit::Failed, "empty the destination, and copy again")
            }
            CopyError::Store(_) => (Exit::LocalIo, "the same command goes on where this one ended"),
        };
        Self::of(exit, &error).hint(hint)
    }
}
