//! `formsvc-server webhook add`.

use secrecy::ExposeSecret;

use crate::admin::{Admin, AdminError, Registrar};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::egress::EgressArgs;
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::secret_key::SecretKeyArgs;
use crate::egress::{EndpointUrl, EndpointUrlError};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    secret_key: SecretKeyArgs,
    #[command(flatten)]
    egress: EgressArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// Where deliveries go: https, or http to this machine.
    #[arg(value_name = "URL")]
    url: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let policy = args.egress.policy()?;
    let add = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?;
        let vault = args.secret_key.vault_of(&args.database.database, admin.store()).await?;
        let registrar = Registrar::new(vault, policy.clone());
        let added = admin.add_endpoint(&form.id, &args.url, &registrar).await;
        added.map_err(|error| {
            let meant = matches!(&error, AdminError::Url(EndpointUrlError::NoScheme));
            let meant = meant.then(|| with_scheme(&args.url)).flatten();
            let failed = CommandError::from(error);
            match meant {
                Some(url) => failed.hint(format!("did you mean `{url}`?")),
                None => failed,
            }
        })
    };
    let added = with(&args.database, Missing::Refuse, add).await?;
    if let Some(why) = added.unresolved {
        output::note(&format!("warning: the host of the URL cannot be resolved now: {why}"));
    }
    let id = &added.record.id;
    output::note(&format!("added endpoint `{id}`; its signing secret cannot be shown again"));
    output::line(added.secret.expose_secret())
}

/// The URL that was meant by one without a scheme. Its query, which often is a token, is not repeated.
fn with_scheme(text: &str) -> Option<String> {
    let (shown, query) = text.split_once('?').map_or((text, ""), |(shown, _)| (shown, "?…"));
    let https = format!("https://{shown}");
    let url: EndpointUrl = https.parse().ok()?;
    Some(if url.is_localhost() { format!("http://{shown}{query}") } else { https + query })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_scheme_is_told_with_one() {
        for (text, meant) in [
            ("example.org/hook", Some("https://example.org/hook")),
            ("example.org:8443/hook?token=s3cret", Some("https://example.org:8443/hook?…")),
            ("localhost:9000/", Some("http://localhost:9000/")),
            ("ada:s3cret@example.org/", None),
            ("", None),
        ] {
            assert_eq!(with_scheme(text).as_deref(), meant, "{text}");
        }
    }
}
