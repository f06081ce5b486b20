//! `formsvc webhook verify`

mod dump;
mod explained;
mod judged;
mod original;
mod record;
mod source;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_receiver::MAX_TOLERANCE;
use secrecy::SecretString;

use self::judged::{Clock, Judged};
use self::source::{Headers, Source};
use crate::args::duration;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::key;
use crate::output::Field;
use crate::settings::Service;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::kept::number;
use crate::webhook::moment::Moment;
use crate::webhook::payload::Place;
use crate::webhook::secrets::SecretArgs;
use crate::when;

pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("capture").json_only(),
    Field::new("valid"),
    Field::status("verdict"),
    Field::new("why"),
    Field::new("meaning"),
    Field::new("secret"),
    Field::new("previous").json_only(),
    Field::time("signed_at"),
    Field::new("age_s"),
    Field::time("judged_at"),
    Field::new("event"),
    Field::id("submission_id"),
    Field::new("body_size"),
    Field::object("explanation"),
];

/// Verify the signature of a delivery and explain a mismatch
///
/// The body is judged to the byte, as it stands in the file or comes by standard input, and by the rules of
/// `webhook listen`. Exit 0 when the signature is right and of now, and the body an event; 11 when not.
/// `--explain` also looks for the delivery among those that listeners here received, to compare it with.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch as typed")]
#[command(after_help = "\
Examples:
  formsvc webhook verify --http-dump request.http --secret-file secret.txt
  formsvc webhook verify body.json -H \"$(cat body.sig)\" --secret-file secret.txt
  formsvc webhook verify --explain --ndjson came.ndjson --secret-file secret.txt")]
pub(crate) struct Verify {
    /// File of the body; `-`, or none, is standard input
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Judge a delivery that `webhook listen` received, by its number
    #[arg(long, value_name = "NUMBER", value_parser = number, conflicts_with_all = ["payload", "http_dump", "ndjson"], help_heading = "Delivery")]
    capture: Option<CaptureNumber>,
    /// The file holds a whole HTTP request, head and body, as it went over the wire
    #[arg(long, help_heading = "Delivery")]
    http_dump: bool,
    /// The file holds lines of `webhook listen --output ndjson --reveal`: each delivery in it is judged
    #[arg(long, conflicts_with_all = ["http_dump", "header", "signature_file"], help_heading = "Delivery")]
    ndjson: bool,
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
    /// Say what is wrong, by trying what may have happened; `--json explanation` lists what was tried
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// The API key, if it is at hand: people give it where the signing secret belongs.
fn api_key(cx: &Context) -> Option<SecretString> {
    let base_url = match &cx.settings.service {
        Service::At { base_url, .. } => base_url.as_deref().unwrap_or_default(),
        Service::Demo => "",
    };
    key::at_hand(&cx.settings, base_url)
}

fn tolerance(text: &str) -> Result<Duration, String> {
    let read = duration(text)?;
    if read > MAX_TOLERANCE {
        return Err("expected a duration of an hour at most; `--ignore-age` takes any".to_owned());
    }
    Ok(read)
}

impl Verify {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let headers = Headers::read(&self.header, self.signature_file.as_deref()).await?;
        let source = self.source(!headers.is_empty())?;
        let secrets = self.secrets.read(cx).await?.required("verification")?;
        let api_key = self.explain.then(|| api_key(cx)).flatten();
        let deliveries = source.read(cx, headers).await?;
        // An explanation takes its time, and waits for nothing where a signal could end it.
        let _computing = self.explain.then(|| cx.abort.computing());
        let (mut errors, count) = (Vec::new(), deliveries.len());
        for delivery in &deliveries {
            let mut judged = Judged::of(delivery, &secrets, self.clock(delivery.came)?);
            if self.explain {
                judged = judged.explained(cx, delivery, &secrets, api_key.as_ref()).await;
            }
            // What a person is told by the error is not told twice.
            let is_told = count == 1 && !judged.is_valid() && cx.output.is_for_reading();
            listing.push(&judged.item(delivery, !is_told));
            if !judged.is_valid() {
                errors.push(judged.error());
            }
        }
        if count == 1 {
            cx.output.item(&listing)?;
        } else {
            cx.output.list(listing)?;
        }
        match errors.pop() {
            None => Ok(()),
            Some(error) if count == 1 => Err(error),
            Some(_) => {
                let wrong = errors.len() + 1;
                let what = format!("{wrong} of {count} deliveries are not valid");
                Err(CliError::coded(Code::VerificationFailed, what)
                    .hint("`--explain --json capture,why` names what fits for each"))
            }
        }
    }

    /// Where the delivery is.
    fn source(&self, has_headers: bool) -> Result<Source, CliError> {
        if let Some(number) = self.capture {
            return Ok(Source::Capture(number));
        }
        let stdin_is_taken = self.secrets.take_stdin();
        let path = self.payload.as_deref();
        let place = Place::of(path, stdin_is_taken, "`formsvc webhook verify PATH`")?;
        match (self.http_dump, self.ndjson) {
            (true, _) => Ok(Source::Dump(place)),
            (_, true) => Ok(Source::Records(place)),
            _ => Source::body(place, has_headers),
        }
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
