//! `formsvc webhook verify`

mod request;
mod result;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_receiver::MAX_TOLERANCE;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verify::explain_request;
use jiff::Timestamp;
use secrecy::SecretString;

use self::request::{Request, RequestSource};
use self::result::Verified;
use super::args::{BodySource, SecretArgs, SigningTime, capture_number, require};
use crate::account::key;
use crate::base::when;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::settings::Service;
use crate::settings::args::duration;

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
/// Verifies the body byte for byte, by the rules of `webhook listen`. Exits with 0 if the signature is valid and
/// recent and the body is an event, else with 11. `--explain` tries common causes of a mismatch, such as a
/// reformatted body.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = "\
Examples:
  formsvc webhook verify --http-dump request.http --secret-file secret.txt
  formsvc webhook verify body.json -H \"$(cat body.sig)\" --secret-file secret.txt
  formsvc webhook verify --explain --ndjson came.ndjson --secret-file secret.txt")]
pub(crate) struct Verify {
    /// File with the body [default: standard input]
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Verify a recorded delivery
    #[arg(long, value_name = "NUMBER", value_parser = capture_number, conflicts_with_all = ["payload", "http_dump", "ndjson"], help_heading = "Delivery")]
    capture: Option<CaptureNumber>,
    /// The file contains an HTTP request, headers and body
    #[arg(long, help_heading = "Delivery")]
    http_dump: bool,
    /// The file contains lines of `webhook listen --output ndjson --reveal`. All their deliveries are verified
    #[arg(long, conflicts_with_all = ["http_dump", "header", "signature_file"], help_heading = "Delivery")]
    ndjson: bool,
    /// Value of X-Service-Signature, or a header as `Name: value`; repeatable
    #[arg(short = 'H', long, value_name = "VALUE", help_heading = "Delivery")]
    header: Vec<String>,
    /// File with the value of X-Service-Signature
    #[arg(long, value_name = "PATH", conflicts_with = "header", help_heading = "Delivery")]
    signature_file: Option<PathBuf>,
    /// Largest difference between the time of the signature and now [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = tolerance, conflicts_with = "ignore_age", help_heading = "Age")]
    tolerance: Option<Duration>,
    /// Compute the age as of this time [default: the arrival of a recorded delivery, else now]
    #[arg(long, value_name = "TIME", conflicts_with = "ignore_age", help_heading = "Age")]
    at: Option<SigningTime>,
    /// Accept signatures of any age
    #[arg(long, help_heading = "Age")]
    ignore_age: bool,
    /// Explain a mismatch; `--json explanation` lists all causes that were tried
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn tolerance(text: &str) -> Result<Duration, String> {
    let tolerance = duration(text)?;
    if tolerance > MAX_TOLERANCE {
        return Err("expected at most 1h; `--ignore-age` accepts any age".to_owned());
    }
    Ok(tolerance)
}

impl Verify {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let headers = request::headers(&self.header, self.signature_file.as_deref()).await?;
        let source = self.source(!headers.is_empty())?;
        let is_demo = matches!(cx.settings.service, Service::Demo);
        // The demo's secret is that of its captures.
        let secrets = if is_demo && self.capture.is_none() {
            self.secrets.read(cx).await?
        } else {
            self.secrets.read_or_stored(cx).await?
        };
        let secrets = require(secrets, "verification")?;
        let api_key = self.explain.then(|| api_key(cx)).flatten();
        let requests = source.read(cx, &headers).await?;
        let count = requests.len();
        let mut errors = Vec::new();
        for request in &requests {
            let verified = self.verify(request, &secrets, api_key.as_ref())?;
            // The meaning is also part of the error.
            let has_meaning = count > 1 || verified.is_valid() || !cx.output.is_for_reading();
            listing.push(&verified.record(request, has_meaning));
            if !verified.is_valid() {
                errors.push(verified.error());
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
                let what = format!("{} of {count} deliveries are not valid", errors.len() + 1);
                Err(CliError::coded(Code::VerificationFailed, what)
                    .hint("`--explain --json capture,why` lists the cause for each"))
            }
        }
    }

    fn source(&self, has_headers: bool) -> Result<RequestSource, CliError> {
        if let Some(number) = self.capture {
            return Ok(RequestSource::Capture(number));
        }
        let path = self.payload.as_deref();
        let flag = "`formsvc webhook verify PATH`";
        let body = BodySource::new(path, self.secrets.uses_stdin(), flag)?;
        match (self.http_dump, self.ndjson) {
            (true, _) => Ok(RequestSource::Dump(body)),
            (_, true) => Ok(RequestSource::Records(body)),
            _ if has_headers => Ok(RequestSource::Body(body)),
            _ => Err(CliError::coded(Code::MissingArgument, "no signature to verify").hint(
                "pass the value of X-Service-Signature with `--header` or `--signature-file`, or the \
                 whole request with `--http-dump`",
            )),
        }
    }

    fn verify(
        &self,
        request: &Request,
        secrets: &SigningSecrets,
        api_key: Option<&SecretString>,
    ) -> Result<Verified, CliError> {
        let at = self.time(request)?;
        let tolerance = (!self.ignore_age).then(|| self.tolerance.unwrap_or(SIGNATURE_TOLERANCE));
        let mut verified = Verified::new(request, secrets, at, tolerance)?;
        if self.explain && verified.code().row().is_explainable {
            let Request { headers, body, .. } = request;
            verified.explanation =
                Some(explain_request(headers, body, secrets, api_key, at, tolerance));
        }
        Ok(verified)
    }

    /// Returns the time as of which the age is computed.
    fn time(&self, request: &Request) -> Result<Timestamp, CliError> {
        let now = when::now();
        let Some(at) = &self.at else {
            return Ok(request.received_at.unwrap_or(now.timestamp()));
        };
        let secs = at
            .unix_secs(&now)
            .map_err(|rule| CliError::usage(format!("the time of `--at` {rule}")))?;
        let at = i64::try_from(secs).ok().and_then(|secs| Timestamp::from_second(secs).ok());
        at.ok_or_else(|| CliError::usage("the time of `--at` is after the year 9999"))
    }
}

/// Returns the API key if it can be read without a prompt: users confuse it with the signing secret.
fn api_key(cx: &Context) -> Option<SecretString> {
    let base_url = match &cx.settings.service {
        Service::At { base_url, .. } => base_url.as_deref().unwrap_or_default(),
        Service::Demo => "",
    };
    key::at_hand(&cx.settings, base_url)
}
