//! `formsvc webhook verify`

mod dump;
mod judged;
mod source;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_receiver::TOLERANCE_MAX;

use self::judged::{Clock, Judged};
use self::source::{Headers, Source};
use crate::args::duration;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::moment::Moment;
use crate::webhook::secrets::SecretArgs;
use crate::when;

pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("valid"),
    Field::new("verdict"),
    Field::new("meaning"),
    Field::new("secret"),
    Field::new("previous").json_only(),
    Field::time("signed_at"),
    Field::new("age"),
    Field::time("judged_at"),
    Field::new("event"),
    Field::id("submission_id"),
    Field::new("body_bytes"),
];

/// Say whether a delivery is signed rightly, and if not, why
///
/// The body is judged to the byte, as it stands in the file or comes by standard input. Exit 0 when the
/// signature is right and of now, 11 when it is not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  formsvc webhook verify delivery.json --signature-file delivery.sig --secret-file secret.txt
  formsvc webhook verify --http-dump request.http --secret-file secret.txt --ignore-age
  formsvc webhook verify delivery.json --header \"$(cat delivery.sig)\" --secret-file secret.txt --json verdict,age")]
pub(crate) struct Verify {
    /// File of the body; `-`, or none, is standard input
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Judge a delivery that `webhook listen` received, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["payload", "http_dump"], help_heading = "Delivery")]
    capture: Option<CaptureNumber>,
    /// The file holds a whole HTTP request, head and body, as it went over the wire
    #[arg(long, help_heading = "Delivery")]
    http_dump: bool,
    /// Value of X-Service-Signature, or any header as `Name: value`; can be repeated
    #[arg(short = 'H', long, value_name = "VALUE", help_heading = "Delivery")]
    header: Vec<String>,
    /// File that holds the value of X-Service-Signature
    #[arg(long, value_name = "PATH", conflicts_with = "header", help_heading = "Delivery")]
    signature_file: Option<PathBuf>,
    /// Largest difference between the signature's time and now: 300s, unless told otherwise
    #[arg(long, value_name = "DURATION", value_parser = tolerance, conflicts_with = "ignore_age", help_heading = "Age")]
    tolerance: Option<Duration>,
    /// Judge the age as of this time; a capture's is that of its arrival, anything else's is now
    #[arg(long, value_name = "TIME", conflicts_with = "ignore_age", help_heading = "Age")]
    at: Option<Moment>,
    /// Take a signature of any time
    #[arg(long, help_heading = "Age")]
    ignore_age: bool,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn tolerance(text: &str) -> Result<Duration, String> {
    let read = duration(text)?;
    if read > TOLERANCE_MAX {
        return Err("expected a duration of an hour at most; `--ignore-age` takes any".to_owned());
    }
    Ok(read)
}

impl Verify {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let headers = Headers::read(&self.header, self.signature_file.as_deref()).await?;
        let source = match self.capture {
            Some(number) => Source::Capture(number),
            None => Source::payload(
                self.payload.as_deref(),
                self.http_dump,
                self.secrets.take_stdin(),
                !headers.is_empty(),
            )?,
        };
        let secrets = self.secrets.read(cx).await?.required("verification")?;
        let delivery = source.read(cx, headers).await?;
        let judged = Judged::of(&delivery, &secrets, self.clock(delivery.came)?);
        listing.push(&judged.item(&delivery));
        cx.output.item(&listing)?;
        if judged.is_valid() {
            return Ok(());
        }
        let what = format!("not valid: {}", judged.verdict.row().meaning);
        let error = CliError::coded(Code::VerificationFailed, what);
        Err(match judged.advice() {
            Some(advice) => error.hint(advice),
            None => error,
        })
    }

    /// By what clock the age is judged.
    fn clock(&self, came: Option<u64>) -> Result<Clock, CliError> {
        let now = when::now();
        let at = match (&self.at, came) {
            (Some(moment), _) => moment
                .seconds(&now)
                .map_err(|why| CliError::usage(format!("the time of `--at` {why}")))?,
            (None, Some(came)) => came,
            (None, None) => u64::try_from(now.timestamp().as_second()).unwrap_or_default(),
        };
        let tolerance = self.tolerance;
        Ok(Clock { at, tolerance, ignores_age: self.ignore_age })
    }
}
