//! How public forms are served, as `serve` is told of it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::error::CommandError;
use super::settings::{bad, rate_limit};
use crate::public::PublicOptions;

#[derive(Debug, clap::Args)]
pub(super) struct PublicArgs {
    /// What one address may send to one form in any minute, or `off` [default: 20].
    #[arg(long, value_name = "N|off", env = "FORMSVC_SERVER_SENDER_LIMIT")]
    sender_limit: Option<String>,
    /// Submissions all addresses together may make to one form in any minute, or `off`
    /// [default: 600].
    #[arg(long, value_name = "N|off", env = "FORMSVC_SERVER_FORM_LIMIT")]
    form_limit: Option<String>,
    /// Believe what a proxy at an address, or in a range such as 10.0.0.0/8, says in
    /// `X-Forwarded-For` about who sends; can be repeated, or have commas.
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    #[arg(env = "FORMSVC_SERVER_TRUSTED_PROXY")]
    trusted_proxy: Vec<String>,
}

impl PublicArgs {
    /// The settings, or the first that breaks a rule.
    pub(super) fn resolve(&self) -> Result<PublicOptions, CommandError> {
        let mut options = PublicOptions::default();
        if let Some(limit) = &self.sender_limit {
            options.per_address = rate_limit("--sender-limit", limit)?;
        }
        if let Some(limit) = &self.form_limit {
            options.per_form = rate_limit("--form-limit", limit)?;
        }
        options.trusted_proxies =
            self.trusted_proxy.iter().map(|text| range(text)).collect::<Result<_, _>>()?;
        Ok(options)
    }
}

/// A range of addresses, or one address.
fn range(text: &str) -> Result<IpNet, CommandError> {
    let range = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    range.map_err(|_| {
        bad("--trusted-proxy", text, "must be an IP address or a range, such as 10.0.0.0/8")
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: PublicArgs,
    }

    fn resolve(flags: &[&str]) -> Result<PublicOptions, CommandError> {
        Line::parse_from([&["x"], flags].concat()).args.resolve()
    }

    #[test]
    fn each_setting_has_one_rule() {
        let table: [(&str, &[&str], &[&str]); 3] = [
            ("--sender-limit", &["1", "off", "1000000"], &["", "0", "-1", "1.5", "OFF"]),
            ("--form-limit", &["1", "off"], &["0", "1000001"]),
            (
                "--trusted-proxy",
                &["10.0.0.0/8", "192.0.2.1", "::1", "2001:db8::/32,10.0.0.1"],
                &["", "10.0.0.0/33", "proxy.internal", "10.0.0.1:80", "10.0.0.1,"],
            ),
        ];
        for (flag, good, bad) in table {
            let judged = |value: &&str| resolve(&[&format!("{flag}={value}")]).is_ok();
            assert!(good.iter().all(judged), "{flag} {good:?}");
            assert!(!bad.iter().any(judged), "{flag} {bad:?}");
        }
    }

    #[test]
    fn proxies_add_up() {
        let options = resolve(&["--trusted-proxy=10.0.0.1,::1", "--trusted-proxy=10.1.0.0/16"]);
        let proxies: Vec<_> =
            options.unwrap().trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!(proxies, ["10.0.0.1/32", "::1/128", "10.1.0.0/16"]);
        assert!(resolve(&[]).unwrap().trusted_proxies.is_empty());
    }
}
