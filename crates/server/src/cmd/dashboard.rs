//! How the dashboard is served, as `serve` is told of it, and the link by which the first person gets in.

use secrecy::ExposeSecret;

use super::error::CommandError;
use super::output;
use super::settings::bad;
use crate::admin::Admin;
use crate::dashboard::{DashboardOptions, FirstLink, Site, first_link};

#[derive(Debug, clap::Args)]
pub(super) struct DashboardArgs {
    /// Where browsers find the server, such as `https://forms.example.org`: what the dashboard can be
    /// used at beyond this machine.
    #[arg(long, value_name = "URL", env = "FORMSVC_SERVER_PUBLIC_URL")]
    public_url: Option<String>,
    /// Let people sign in to the dashboard without TLS from other machines: others on the way can
    /// read their passwords.
    #[arg(long, env = "FORMSVC_SERVER_ALLOW_PLAIN_SIGN_IN")]
    allow_plain_sign_in: bool,
}

impl DashboardArgs {
    /// The settings, or the first that breaks a rule.
    pub(super) fn resolve(&self) -> Result<DashboardOptions, CommandError> {
        let mut site = match &self.public_url {
            Some(url) => {
                Site::at(url).map_err(|rule| bad("--public-url", url, &rule.to_string()))?
            }
            None => Site::default(),
        };
        if self.allow_plain_sign_in {
            site = site.in_the_clear();
        }
        Ok(DashboardOptions { site, ..DashboardOptions::default() })
    }
}

/// Tells whoever starts a server how the first person gets in, if nobody can sign in yet.
pub(super) async fn invite(admin: &Admin, address: &str) -> Result<(), CommandError> {
    match first_link(admin).await? {
        FirstLink::NotNeeded => {}
        FirstLink::Link(link) => {
            let until = link.record.expires_at.to_timestamp();
            output::note(&format!("nobody can sign in yet: open this link, until {until}"));
            output::note(&format!("{address}{}", link.path().expose_secret()));
        }
        FirstLink::Ask => output::note(
            "nobody can sign in yet: `formsvc-server user link EMAIL` makes a link for a user",
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: DashboardArgs,
    }

    fn resolve(flags: &[&str]) -> Result<DashboardOptions, CommandError> {
        Line::parse_from([&["x"], flags].concat()).args.resolve()
    }

    #[test]
    fn an_address_is_judged_and_kept_without_its_slash() {
        let options = resolve(&["--public-url", "https://forms.example.org/"]).unwrap();
        assert_eq!(options.site.origin(), Some("https://forms.example.org"));
        assert_eq!(resolve(&[]).unwrap().site.origin(), None);
        for bad in ["forms.example.org", "https://a.b/c", "ftp://a.b", ""] {
            assert!(resolve(&["--public-url", bad]).is_err(), "{bad}");
        }
    }
}
