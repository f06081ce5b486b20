//! `formsvc sandbox`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_client::types::PublicId;
use formsvc_server::admin::parse_id;
use formsvc_server::delivery::{DeliveryOptions, read_retry_base, read_retry_factor};
use formsvc_server::egress::{AllowEntry, EgressPolicy};
use formsvc_server::faults::{FAULTS, FaultError, FaultSetting, FaultSide};
use formsvc_server::ready_file;
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{self, Facts, Key, SandboxOptions, Wanted, Webhook};
use crate::settings::args::{Rate, duration, rate, whole};

/// Run a service with sample data on this machine, for tests and first steps
///
/// It listens on loopback only and runs until it is interrupted. Its forms: the RAND health
/// insurance experiment (randhie), election interviews (anes96), penguins, text that breaks
/// software (naughty), and a form without submissions (contact, at /f/contact). The submissions are
/// spread over the 180 days before today (UTC).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc sandbox --port 0 --ready-file sandbox.json\n  formsvc sandbox --generate big=100000 --rate-limit off\n  formsvc sandbox --fault errors=20% --fault latency=300ms\n  formsvc sandbox --webhook contact=http://localhost:9000/ --submit-every 2s"
)]
pub(crate) struct Sandbox {
    /// Port to listen on; 0 finds a free one
    #[arg(long, value_name = "PORT", default_value_t = 8787, value_parser = whole::<u16>(0..=65_535))]
    port: u16,
    /// Write a JSON object to this file once the service answers: base_url, api_key, forms, webhooks;
    /// a key or secret of an earlier start is null
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    /// Requests a key may make in any minute, or `off` [default: 300]; `off` lifts the limits of
    /// public forms as well
    #[arg(long, value_name = "N|off", value_parser = rate)]
    rate_limit: Option<Rate>,
    /// Add a form with so many generated submissions; can be repeated
    #[arg(long, value_name = "PUBLIC_ID=COUNT", value_parser = generated)]
    generate: Vec<(PublicId, u64)>,
    /// Keep the sandbox in this SQLite file, its API key and endpoints included; otherwise it is gone
    /// when it stops
    #[arg(long, value_name = "PATH")]
    database: Option<PathBuf>,
    /// Make another API key, although the database has one; those that it has still work
    #[arg(long, requires = "database")]
    new_key: bool,
    /// Deliver the submissions of a form to an endpoint, whose signing secret is printed when it is
    /// added; can be repeated
    #[arg(long, value_name = "FORM=URL", value_parser = sandbox::wanted)]
    webhook: Vec<Wanted>,
    /// Pause before the first retry of a delivery, up to a fifth longer [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = retry_base)]
    retry_base: Option<Duration>,
    /// What each further pause is multiplied by [default: 6]
    #[arg(long, value_name = "N", value_parser = retry_factor)]
    retry_factor: Option<u32>,
    /// Let deliveries reach an address range (10.1.0.0/16), an address, or a host and port
    /// (hooks.internal:8443) that is neither public nor this machine; can be repeated, or have commas
    #[arg(long, value_name = "ENTRY", value_delimiter = ',', value_parser = allow_entry)]
    egress_allow: Vec<AllowEntry>,
    /// Inject a fault: NAME or NAME=VALUE (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = fault, long_help = fault_help())]
    fault: Vec<FaultSetting>,
    /// Add a submission every DURATION, in turn to the forms given with --webhook [default: contact]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    submit_every: Option<Duration>,
}

/// The content of the ready file.
#[derive(Serialize)]
struct Ready<'a> {
    base_url: &'a str,
    /// `None` if it was printed at an earlier start.
    api_key: Option<&'a str>,
    forms: &'a [formsvc_client::Form],
    webhooks: Vec<ReadyWebhook<'a>>,
}

/// An endpoint in the ready file.
#[derive(Serialize)]
struct ReadyWebhook<'a> {
    form: &'a str,
    url: &'a str,
    /// `None` if it was printed at an earlier start.
    secret: Option<&'a str>,
}

impl<'a> From<&'a Facts> for Ready<'a> {
    fn from(facts: &'a Facts) -> Self {
        let webhook = |Webhook { form, url, secret, .. }: &'a Webhook| ReadyWebhook {
            form: form.as_str(),
            url,
            secret: secret.as_ref().map(ExposeSecret::expose_secret),
        };
        let api_key = match &facts.key {
            Key::New(key) => Some(key.expose_secret()),
            Key::Kept(_) => None,
        };
        let webhooks = facts.webhooks.iter().map(webhook).collect();
        Self { base_url: &facts.base_url, api_key, forms: &facts.forms, webhooks }
    }
}

impl Sandbox {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        self.check_names()?;
        let (ready_file, keeps) = (self.ready_file.clone(), self.database.is_some());
        let mut sandbox = sandbox::Sandbox::start(self.options()).await?;
        let ready = Ready::from(&sandbox.facts);
        let written = ready_file.as_ref().map_or(Ok(()), |path| {
            // Only a ready file is replaced, never something else of that name.
            ready_file::clear(path)?;
            ready_file::write(path, &ready)
        });
        if let Err(error) = written {
            if keeps {
                // What a database keeps from now on is shown this once, also when it comes to nothing.
                announce(cx, &sandbox.facts);
            }
            return Err(unwritable(&error));
        }
        // Gone when this future is, and when the process ends without dropping it.
        let _gone_at_the_end = ready_file.map(|path| {
            cx.shutdown.remove_file_at_exit(path.clone());
            RemoveOnDrop(path)
        });
        announce(cx, &sandbox.facts);
        cx.shutdown.run_until_stopped();
        // Until a signal drops this future, and with it the sandbox.
        while let Some(line) = sandbox.attempts.recv().await {
            cx.progress.remark(&line);
        }
        std::future::pending().await
    }

    fn options(self) -> SandboxOptions {
        let mut delivery = DeliveryOptions::default();
        let schedule = &mut delivery.schedule;
        schedule.base = self.retry_base.unwrap_or(schedule.base);
        schedule.factor = self.retry_factor.unwrap_or(schedule.factor);
        SandboxOptions {
            database: self.database,
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)),
            rate_limit: self.rate_limit,
            webhooks: self.webhook,
            delivery,
            // Deliveries to this machine are what a sandbox is for.
            egress: self.egress_allow.into_iter().fold(EgressPolicy::dev(), EgressPolicy::allow),
            new_key: self.new_key,
            generate: self.generate,
            faults: self.fault,
            submit_every: self.submit_every,
            submit_to: Vec::new(),
            submit_on_request: false,
        }
    }
}

impl Sandbox {
    /// Each form of a sandbox has a public id of its own.
    fn check_names(&self) -> Result<(), CliError> {
        let mut taken: Vec<&str> = sandbox::FORM_NAMES.to_vec();
        for (public_id, _) in &self.generate {
            if taken.contains(&public_id.as_str()) {
                let what = format!("--generate: the public id `{public_id}` is taken");
                return Err(CliError::usage(what).hint("each form needs a public id of its own"));
            }
            taken.push(public_id.as_str());
        }
        Ok(())
    }
}

/// A ready file, whose presence says that the sandbox answers.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // Nothing can be done about one that does not go; the sandbox ends all the same.
        let _ = ready_file::clear(&self.0);
    }
}

fn announce(cx: &Context, facts: &Facts) {
    for line in sandbox::banner(facts).iter().flat_map(|lines| lines.split('\n')) {
        cx.progress.remark(line);
    }
}

fn unwritable(error: &ready_file::ReadyFileError) -> CliError {
    CliError::new(Exit::LocalIo, error.to_string()).because_of(error)
}

/// Reads `PUBLIC_ID=COUNT`.
fn generated(text: &str) -> Result<(PublicId, u64), String> {
    let rule = "expected PUBLIC_ID=COUNT, such as big=100000";
    let (id, count) = text.split_once('=').ok_or(rule)?;
    let id = parse_id(id).map_err(|rule| format!("a public id {rule}"))?;
    Ok((id, count.parse().map_err(|_| rule)?))
}

fn retry_base(text: &str) -> Result<Duration, String> {
    read_retry_base(text).map_err(|rule| format!("it {rule}"))
}

fn retry_factor(text: &str) -> Result<u32, String> {
    read_retry_factor(text).map_err(|rule| format!("it {rule}"))
}

fn allow_entry(text: &str) -> Result<AllowEntry, String> {
    text.parse().map_err(|error: formsvc_server::egress::AllowEntryError| error.to_string())
}

/// Reads `NAME` or `NAME=VALUE`.
fn fault(text: &str) -> Result<FaultSetting, String> {
    text.parse().map_err(|error: FaultError| error.to_string())
}

/// The table of faults, as help.
fn fault_help() -> String {
    let mut help =
        "Inject a fault: NAME or NAME=VALUE (repeatable). Nothing is random: a fault with a \
        percentage affects the same requests in every run. docs/FAULTS.md shows how to set faults \
        while the sandbox runs\n"
            .to_owned();
    for (side, about) in [
        (FaultSide::Api, "Answers of the REST API below /api/v1; the pages at /f/ are spared:"),
        (FaultSide::Delivery, "Deliveries to webhook endpoints:"),
    ] {
        help.extend(["\n", about, "\n"]);
        for row in FAULTS.iter().filter(|row| row.side == side) {
            let value =
                row.grammar.placeholder().map_or(String::new(), |what| format!("[={what}]"));
            let default = match row.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let about = row.about.replace('`', "");
            help.extend(["\n- ", row.name, &value, ": ", &about, &default]);
        }
        help.push('\n');
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_form_has_a_name_and_a_count() {
        assert_eq!(generated("big=100000").unwrap().1, 100_000);
        for bad in ["", "big", "big=", "=5", "big=-1", "big=1.5", "a/b=5", "big=5=6"] {
            assert!(generated(bad).is_err(), "{bad:?}");
        }
    }
}
