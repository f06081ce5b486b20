//! `formsvc webhook trigger`

mod run;
mod source;

use std::path::PathBuf;

use clap::Args;
use formsvc_contract::send::ANSWER_MAX;
use formsvc_protocol::EventKind;
use http::HeaderValue;
use url::Url;

use self::run::Run;
use self::source::Bodies;
use crate::args::whole;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::webhook::changes::{self, Change};
use crate::webhook::secrets::SecretArgs;
use crate::webhook::sender::{SenderArgs, Timeout, answer_limit};
use crate::webhook::shape;
use crate::webhook::statuses::Statuses;
use crate::webhook::target;

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
/// The delivery is one as the service makes it: same headers, same order of fields, signed with the secret
/// now. Nothing but the receiver is asked, unless `--form` or `--from-submission` says so. What it
/// delivers is made up; `--set` and `--unset` change one place of it and no other byte. Ids and answers
/// that are made up differ with each delivery, and are the same again with the same `--seed`; deliveries
/// of `--file` and `--from-submission` keep theirs, so that a second one is a duplicate. `--timeout` is the
/// time for the answer [default: the service's 10s].
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook trigger 4242/hook --secret-file secret.txt\n  formsvc webhook trigger --dry-run --set data.Name=Ada --unset data.Phone\n  formsvc --demo webhook trigger --dry-run --from-submission penguins\n  formsvc webhook trigger 4242/hook --secret-file secret.txt --count 20\n  formsvc webhook trigger 4242/hook --secret-file secret.txt --simulate-sender"
)]
pub(crate) struct Trigger {
    /// The receiver: a URL, a port of this machine, or host:port/path
    #[arg(value_name = "URL", value_parser = receiver, required_unless_present = "dry_run")]
    to: Option<Url>,
    #[command(flatten)]
    payload: Payload,
    /// Send so many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(1..=u64::MAX), help_heading = "Sending")]
    count: u64,
    /// Begin so many a second at most
    #[arg(long, value_name = "N", value_parser = shape::rate, help_heading = "Sending")]
    rate: Option<f64>,
    /// Have so many under way at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>(1..=1024), help_heading = "Sending")]
    concurrency: usize,
    /// Try again as the service does: up to 3 times, after about 10, 60 and 360 seconds
    #[arg(long, help_heading = "Sending")]
    simulate_sender: bool,
    /// Make the pauses of `--simulate-sender` so many times shorter
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = shape::scale, requires = "simulate_sender", help_heading = "Sending")]
    time_scale: f64,
    /// The status that is right: 2xx, 401, … Another ends with exit code 11
    #[arg(long, value_name = "STATUS", default_value = "2xx", help_heading = "Sending")]
    expect: Statuses,
    /// Print what would be sent, and send nothing
    #[arg(long, conflicts_with_all = ["simulate_sender", "rate"], help_heading = "Sending")]
    dry_run: bool,
    /// Show what the receiver says as it came, even where it says a signature or a secret again
    #[arg(long, help_heading = "Output")]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// What is delivered.
#[derive(Debug, Args)]
pub(crate) struct Payload {
    /// The body is this file, to the byte; `-` is standard input
    #[arg(long, value_name = "PATH", conflicts_with_all = ["form", "from_submission"], help_heading = "Payload")]
    file: Option<PathBuf>,
    /// Make up answers to the questions of this form's newest submissions (asks the service)
    #[arg(long, value_name = "FORM", conflicts_with = "from_submission", help_heading = "Payload")]
    form: Option<String>,
    /// Deliver a submission that the service has: its id after the form, or the newest; can be repeated
    #[arg(long, value_name = "FORM[/ID]", help_heading = "Payload")]
    from_submission: Vec<String>,
    /// Change one place: data.Name=Ada, data.Guests=3. JSON, or else text; can be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = changes::set, help_heading = "Payload")]
    set: Vec<Change>,
    /// Take one place away; can be repeated
    #[arg(long, value_name = "PATH", value_parser = changes::unset, help_heading = "Payload")]
    unset: Vec<Change>,
    /// Change the body in $VISUAL or $EDITOR before it is sent
    #[arg(long, help_heading = "Payload")]
    edit: bool,
    /// The kind of event, in the header and in the body
    #[arg(long, value_name = "NAME", value_parser = shape::event, help_heading = "Payload")]
    event: Option<HeaderValue>,
    /// What is made up follows from this number: the same bodies each time
    #[arg(long, value_name = "N", help_heading = "Payload")]
    seed: Option<u64>,
}

impl Trigger {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let reads_stdin = self.payload.file.as_deref().is_some_and(|path| path.as_os_str() == "-");
        if reads_stdin && self.secrets.take_stdin() {
            let what = "`--file -` and `--secret-stdin` cannot be used together";
            return Err(
                CliError::usage(what).hint("standard input holds one of them; see `--secret-file`")
            );
        }
        let Some(to) = self.to.clone().filter(|_| !self.dry_run) else {
            return self.print(cx).await;
        };
        // Flags about output are right before anything is asked for or sent.
        cx.output.listing(FIELDS)?;
        cx.check_network(to.as_str())?;
        let limit = answer_limit(cx, Timeout::OfAnswers);
        let run = Run {
            cx,
            sender: self.requests.sender(cx, limit, ANSWER_MAX)?,
            secrets: self.secrets.read(cx).await?.required("signing")?.all_signing().collect(),
            expect: self.expect,
            reveal: self.reveal,
            simulate: self.simulate_sender.then_some(self.time_scale),
            rate: self.rate,
            concurrency: self.concurrency,
            count: self.count,
            to,
        };
        if run.to.scheme() == "http" && !target::is_here(&run.to) {
            cx.progress.remark("the service itself delivers by https alone, except to localhost");
        }
        let mut bodies = Bodies::of(cx, &self.payload).await?;
        run.send(&mut bodies).await
    }

    /// The bodies, and nothing else.
    async fn print(&self, cx: &Context) -> Result<(), CliError> {
        cx.output.refuse_flags("`--dry-run` prints the body as it is")?;
        let mut bodies = Bodies::of(cx, &self.payload).await?;
        for number in 0..self.count {
            let mut body = bodies.next(number)?.body.to_vec();
            // One alone is printed to the byte; of several each is on lines of its own.
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
    target::target(text)
}

/// What came is not what was expected.
fn unmet(what: String) -> CliError {
    CliError::coded(Code::Unmet, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_event_is_no_receiver() {
        for kind in EventKind::KNOWN {
            let told = receiver(kind.as_str()).unwrap_err();
            assert!(told.contains("`--event`") && told.contains("URL"), "{kind}: {told}");
            let url = format!("https://{kind}/");
            assert_eq!(receiver(&url).map(String::from), Ok(url));
        }
        assert_eq!(receiver("4242").map(String::from), Ok("http://localhost:4242/".to_owned()));
    }
}
