//! `formsvc webhook trigger`

mod bodies;
mod send;

use std::path::PathBuf;

use clap::Args;
use formsvc_contract::send::ANSWER_MAX;
use formsvc_protocol::{EventKind, RetrySchedule};
use formsvc_workbench::expectation::StatusSet;
use formsvc_workbench::simulate::{Retries, Simulation};
use formsvc_workbench::target;
use http::HeaderValue;
use url::Url;

use super::args::{ChangeArgs, SecretArgs, SenderArgs};
use crate::base::when::When;
use crate::cmd::help_flags::refuse_data;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::args::whole;

/// The fields of an attempt.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("index"),
    Field::new("attempt"),
    Field::id("submission_id").last(),
    Field::status("status"),
    Field::new("took_ms"),
    Field::new("error"),
    Field::new("body"),
    Field::new("truncated").json_only(),
];

/// Send a signed test delivery to a receiver
///
/// The delivery has the headers, the body and the signature of a delivery of the service. `data` and ids are generated,
/// new ones for each delivery. Deliveries of `--file` and `--from-submission` keep their ids, so a second one is a
/// duplicate. `--set` and `--unset` change only the member that they name. In a pipe, each attempt is one line of JSON.
/// Only `--from-submission` sends requests to the service. A response may take 10 seconds, unless `--timeout` is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook trigger 4242/hook --secret-file secret.txt\n  formsvc webhook trigger --dry-run --set data.Name=Ada --unset data.Phone\n  formsvc --demo webhook trigger --dry-run --from-submission penguins\n  formsvc webhook trigger 4242/hook --secret-file secret.txt --count 20\n  formsvc webhook trigger 4242/hook --secret-file secret.txt --simulate-sender"
)]
pub(crate) struct Trigger {
    /// Receiver: a URL, host:port/path, or port/path on this machine, such as 4242/hook
    #[arg(value_name = "URL", value_parser = receiver, required_unless_present = "dry_run")]
    to: Option<Url>,
    /// Send this file as the body, byte for byte; `-` is standard input
    #[arg(long, value_name = "PATH", conflicts_with = "from_submission", help_heading = "Payload")]
    file: Option<PathBuf>,
    /// Send a real submission of this form: the newest, or the one with this id; repeatable
    #[arg(long, value_name = "FORM[/ID]", help_heading = "Payload")]
    from_submission: Vec<String>,
    /// Search the id of `--from-submission` from this time back, instead of from the newest submission
    #[arg(long, value_name = "WHEN", requires = "from_submission", help_heading = "Payload")]
    around: Option<When>,
    /// Name of the event, in the header and in the body
    #[arg(long, value_name = "NAME", value_parser = event, help_heading = "Payload")]
    event: Option<HeaderValue>,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Send N deliveries
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(1..=u64::MAX), help_heading = "Sending")]
    count: u64,
    /// Send up to N deliveries at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>(1..=1024), help_heading = "Sending")]
    concurrency: usize,
    /// Retry like the service: up to 3 times, after about 10, 60 and 360 seconds
    #[arg(long, conflicts_with = "expect", help_heading = "Sending")]
    simulate_sender: bool,
    /// Divide the pauses of `--simulate-sender` by N
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = factor, requires = "simulate_sender", help_heading = "Sending")]
    time_scale: f64,
    /// Expected status of the responses, such as 2xx or 401. Exits with 11 if another arrives
    #[arg(long, value_name = "STATUS", default_value = "2xx", help_heading = "Sending")]
    expect: StatusSet,
    /// Print the bodies, and send nothing
    #[arg(long, conflicts_with = "simulate_sender", help_heading = "Sending")]
    dry_run: bool,
    /// Do not mask signatures and secrets in responses
    #[arg(long, help_heading = "Output")]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl Trigger {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let Some(to) = self.to.clone().filter(|_| !self.dry_run) else {
            return self.print_bodies(cx).await;
        };
        // Errors of output flags come before the first request.
        cx.output.listing(FIELDS)?;
        cx.check_network(to.as_str())?;
        let retries = Retries { schedule: RetrySchedule::default(), time_scale: self.time_scale };
        let simulation = Simulation {
            sender: self.requests.sender(cx, ANSWER_MAX)?,
            secrets: self.secrets.read_for_signing(cx, "signing").await?,
            count: self.count,
            concurrency: self.concurrency,
            retries: self.simulate_sender.then_some(retries),
            to,
        };
        let bodies = bodies::open(cx, &self).await?;
        self.send(cx, simulation, bodies).await
    }

    /// Prints the bodies: a single one byte for byte, several on lines of their own.
    async fn print_bodies(&self, cx: &Context) -> Result<(), CliError> {
        refuse_data(&cx.settings.given, "`--dry-run` prints the body as it is")?;
        let bodies = bodies::open(cx, self).await?;
        for index in 0..self.count {
            let mut body = bodies.get(index)?.body.to_vec();
            if self.count > 1 || cx.settings.terminal.stdout {
                body.push(b'\n');
            }
            cx.output.exactly(&body)?;
        }
        Ok(())
    }
}

/// Parses the URL of the receiver. Refuses the name of an event, which would be a valid host name.
fn receiver(text: &str) -> Result<Url, String> {
    if EventKind::KNOWN.iter().any(|kind| kind.as_str() == text.trim()) {
        return Err("this is an event, for `--event`; expected the URL of the receiver".to_owned());
    }
    target::parse(text)
}

/// Parses the name of an event, which is part of a header and of JSON.
fn event(text: &str) -> Result<HeaderValue, &'static str> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::from_str(text).ok().filter(|_| is_plain);
    value.ok_or("expected a name without spaces, such as submission.created")
}

fn factor(text: &str) -> Result<f64, &'static str> {
    let factor = text.parse().ok().filter(|factor| (0.001..=1e6).contains(factor));
    factor.ok_or("expected a number from 0.001 to 1000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_name_is_not_a_receiver() {
        for kind in EventKind::KNOWN {
            let error = receiver(kind.as_str()).unwrap_err();
            assert!(error.contains("`--event`") && error.contains("URL"), "{kind}: {error}");
            let url = format!("https://{kind}/");
            assert_eq!(receiver(&url).map(String::from), Ok(url));
        }
        assert_eq!(receiver("4242").map(String::from), Ok("http://localhost:4242/".to_owned()));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(factor("50"), Ok(50.0));
        for bad in ["", "0", "-1", "nan", "inf", "1e9"] {
            assert!(factor(bad).is_err(), "{bad}");
        }
        assert!(event("form.closed").is_ok());
        for bad in ["", "a b", "a\n", "é"] {
            assert!(event(bad).is_err(), "{bad:?}");
        }
    }
}
