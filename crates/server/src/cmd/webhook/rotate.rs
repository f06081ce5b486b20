//! `formsvc-server webhook rotate`.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::EndpointArgs;
use crate::admin::{Admin, GRACE_DEFAULT, GRACE_MAX};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::secret_key::SecretKeyArgs;
use crate::cmd::settings::{bad, duration_of};
use crate::secrets;

/// What the server's key is to this command.
const KEY_HELP: &str = "File with the key under which webhook signing secrets are kept; with `--grace 0s` \
    made when there is none [default: beside a database file, its name with `.key` added; none for \
    PostgreSQL]";

#[derive(Debug, clap::Args)]
#[command(mut_arg("secret_key_file", |arg| arg.help(KEY_HELP)))]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    secret_key: SecretKeyArgs,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// How long deliveries are signed with the secret of before as well, at most 7d [default: 24h].
    #[arg(long, value_name = "DURATION")]
    grace: Option<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.endpoint.id()?;
    let grace = args.grace.as_deref().map_or(Ok(GRACE_DEFAULT), grace)?;
    // Under a new key the secret of before could not be read, and nothing be signed with both.
    let missing = if grace.is_zero() { secrets::Missing::Create } else { secrets::Missing::Refuse };
    let rotate = async |admin: &Admin| {
        let key = &args.secret_key;
        let vault = key.vault_to_rotate(&args.database.database, admin.store(), missing).await?;
        Ok(admin.rotate_secret(&id, grace, &vault).await?)
    };
    let rotated = with(&args.database, Missing::Refuse, rotate).await?;
    if let Some(why) = rotated.unopened.filter(|_| !grace.is_zero()) {
        output::note(&format!("warning: the secret of before is dropped at once: {why}"));
    }
    let until = match rotated.record.previous_secret_until {
        Some(until) => format!("the one before signs as well until {until}"),
        None => "the one before signs nothing any more".to_owned(),
    };
    output::note(&format!(
        "endpoint `{id}` has a new secret, which cannot be shown again; {until}"
    ));
    output::line(rotated.secret.expose_secret())
}

fn grace(text: &str) -> Result<Duration, CommandError> {
    let grace = duration_of(text, &["s", "m", "h", "d"], GRACE_MAX);
    let rule = "must be a whole number with `s`, `m`, `h` or `d`, of at most 7d, such as 24h";
    grace.ok_or_else(|| bad("--grace", text, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_is_at_most_seven_days() {
        for (text, seconds) in [("0s", 0), ("90m", 5_400), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(grace(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for text in ["", "1", "h", "8d", "169h", "-1h", "1.5h", "1w", "99999999999999999999d"] {
            assert!(grace(text).is_err(), "{text}");
        }
    }
}
