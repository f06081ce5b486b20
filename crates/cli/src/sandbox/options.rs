//! The options of a sandbox, which are flags of `formsvc sandbox`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_client::types::PublicId;
use formsvc_protocol::RetrySchedule;
use formsvc_server::admin::parse_id;
use formsvc_server::delivery::{read_retry_base, read_retry_factor};
use formsvc_server::egress::AllowEntry;
use formsvc_server::faults::{FAULTS, FaultSetting, FaultSide};
use formsvc_workbench::target;
use secrecy::SecretString;

use crate::settings::args::{Rate, duration, rate};

/// The default is a sandbox in memory, without endpoints.
#[derive(Debug, Default, Args)]
pub(crate) struct SandboxOptions {
    /// Requests a key may make in any minute, or `off` [default: 300]; `off` lifts the limits of
    /// public forms as well
    #[arg(long, value_name = "N|off", value_parser = rate)]
    pub(crate) rate_limit: Option<Rate>,
    /// Add a form with COUNT generated submissions, unless the database has a form with this public id
    /// (repeatable)
    #[arg(long, value_name = "PUBLIC_ID=COUNT", value_parser = generated)]
    pub(crate) generate: Vec<(PublicId, u64)>,
    /// Keep the sandbox in this SQLite file, with its API keys and endpoints; otherwise all is lost when
    /// it stops
    #[arg(long, value_name = "PATH")]
    pub(crate) database: Option<PathBuf>,
    /// Deliver the submissions of a form to an endpoint, and print its signing secret (repeatable)
    #[arg(long, value_name = "FORM=URL", value_parser = webhook)]
    pub(crate) webhook: Vec<RequestedWebhook>,
    /// Pause before the first retry of a delivery, plus up to 20 % [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = retry_base)]
    pub(crate) retry_base: Option<Duration>,
    /// Factor from one pause to the next [default: 6]
    #[arg(long, value_name = "N", value_parser = retry_factor)]
    pub(crate) retry_factor: Option<u32>,
    /// Let deliveries reach an address range (10.1.0.0/16), an address, or a host and port
    /// (hooks.internal:8443) that is neither public nor this machine (repeatable or comma-separated)
    #[arg(long, value_name = "ENTRY", value_delimiter = ',')]
    pub(crate) egress_allow: Vec<AllowEntry>,
    /// Inject a fault: NAME or NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", long_help = fault_help())]
    pub(crate) fault: Vec<FaultSetting>,
    /// Add a submission every DURATION, in turn to the forms of `--webhook`, or else to `contact`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) submit_every: Option<Duration>,
    /// A form without an endpoint that gets submissions.
    #[arg(skip)]
    pub(crate) submit_to: Option<PublicId>,
}

/// An endpoint to add to a form.
#[derive(Clone, Debug)]
pub(crate) struct RequestedWebhook {
    pub(crate) form: PublicId,
    pub(crate) url: String,
    /// The signing secret; `None` generates one.
    pub(crate) secret: Option<SecretString>,
}

impl SandboxOptions {
    pub(super) fn schedule(&self) -> RetrySchedule {
        let usual = RetrySchedule::default();
        RetrySchedule {
            base: self.retry_base.unwrap_or(usual.base),
            factor: self.retry_factor.unwrap_or(usual.factor),
            ..usual
        }
    }
}

fn generated(text: &str) -> Result<(PublicId, u64), String> {
    let rule = "expected PUBLIC_ID=COUNT, such as big=100000";
    let (id, count) = text.split_once('=').ok_or(rule)?;
    let id = parse_id(id).map_err(|rule| format!("a public id {rule}"))?;
    Ok((id, count.parse().map_err(|_| rule)?))
}

fn webhook(text: &str) -> Result<RequestedWebhook, String> {
    let rule = "expected FORM=URL, such as contact=http://localhost:9000/";
    let (form, url) = text.split_once('=').filter(|(_, url)| !url.is_empty()).ok_or(rule)?;
    let form = parse_id(form).map_err(|rule| format!("a public id {rule}"))?;
    if !url.contains("://") {
        return Err(format!("the URL has no scheme; use `{form}={}`", target::parse(url)?));
    }
    Ok(RequestedWebhook { form, url: url.to_owned(), secret: None })
}

fn retry_base(text: &str) -> Result<Duration, String> {
    read_retry_base(text).map_err(|rule| format!("it {rule}"))
}

fn retry_factor(text: &str) -> Result<u32, String> {
    read_retry_factor(text).map_err(|rule| format!("it {rule}"))
}

/// Returns the help of `--fault`, with all faults.
fn fault_help() -> String {
    let mut help =
        "Inject a fault: NAME or NAME=VALUE (repeatable). Nothing is random: a fault with a \
        percentage affects the same requests in every run. docs/FAULTS.md shows how to set faults \
        while the sandbox runs\n"
            .to_owned();
    for (side, about) in [
        (FaultSide::Api, "Responses of the REST API below /api/v1, but not of the pages at /f/:"),
        (FaultSide::Delivery, "Deliveries to webhook endpoints:"),
    ] {
        help.extend(["\n", about, "\n"]);
        for row in FAULTS.iter().filter(|row| row.side == side) {
            let value = row.grammar.placeholder().map(|value| format!("[={value}]"));
            help.extend(["\n- ", row.name, &value.unwrap_or_default(), ": "]);
            help.push_str(&row.about.replace('`', ""));
            if !row.default.is_empty() {
                help.extend([" [default: ", row.default, "]"]);
            }
        }
        help.push('\n');
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_form_needs_a_name_and_a_count() {
        assert_eq!(generated("big=100000").unwrap().1, 100_000);
        for bad in ["", "big", "big=", "=5", "big=-1", "big=1.5", "a/b=5", "big=5=6"] {
            assert!(generated(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn webhook_flag_needs_a_form_and_a_url() {
        let found = webhook("contact=http://localhost:9000/?a=b").unwrap();
        assert_eq!((found.form.as_str(), &*found.url), ("contact", "http://localhost:9000/?a=b"));
        for bad in ["", "contact", "contact=", "=http://localhost/", "a/b=http://localhost/"] {
            assert!(webhook(bad).is_err(), "{bad:?}");
        }
        for (short, url) in [
            ("9001", "http://localhost:9001/"),
            ("localhost:9000", "http://localhost:9000/"),
            ("example.org/hook", "https://example.org/hook"),
        ] {
            let error = webhook(&format!("contact={short}")).unwrap_err();
            assert!(error.contains(&format!("`contact={url}`")), "{error}");
        }
    }
}
