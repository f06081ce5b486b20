//! `formsvc-server user link`.

use secrecy::ExposeSecret;
use url::Url;

use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::settings::bad;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user.
    #[arg(value_name = "EMAIL")]
    email: String,
    /// Where browsers find the server, such as `https://forms.example.org`. Without it the link's
    /// path is printed.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let base = args.base_url.as_deref().map(base_of).transpose()?;
    let create = async |admin: &Admin| {
        let user = admin.user(&args.email).await?;
        Ok(admin.create_link(Some(&user.id)).await?)
    };
    let created = with(&args.database, Missing::Refuse, create).await?;
    let until = created.record.expires_at.to_timestamp();
    output::note(&format!(
        "whoever opens this link first, until {until}, sets the password of `{}`; \
        earlier links of theirs do not work any more",
        args.email
    ));
    if base.is_none() {
        output::note("open it behind the address of the server, or give that as `--base-url`");
    }
    let path = created.path();
    output::line(&format!("{}{}", base.unwrap_or_default(), path.expose_secret()))
}

/// The address without the slash at its end.
fn base_of(text: &str) -> Result<String, CommandError> {
    let rule = "must be an http or https address without user, query and fragment";
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    let url = url.ok_or_else(|| bad("--base-url", text, rule))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_joined_with_one_slash() {
        for (text, base) in [
            ("https://forms.example.org", "https://forms.example.org"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("https://example.org/forms/", "https://example.org/forms"),
        ] {
            assert_eq!(base_of(text).unwrap(), base);
        }
        for text in
            ["", "forms.example.org", "ftp://a", "https://me@a", "https://a?b", "https://a#b"]
        {
            assert!(base_of(text).is_err(), "{text}");
        }
    }
}
