//! `formsvc webhook verify`

mod result;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_receiver::MAX_TOLERANCE;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verify::{
    explain_request, is_masked, parse_dump, parse_recorded, parse_signature_or_header,
};
use http::HeaderMap;
use jiff::Timestamp;
use secrecy::SecretString;

use self::result::Verified;
use super::args::{BodySource, SecretArgs, capture_number, require, unix_secs};
use super::captures;
use crate::account::key;
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
    #[arg(long, value_name = "TIME", value_parser = unix_secs, conflicts_with = "ignore_age", help_heading = "Age")]
    at: Option<i64>,
    /// Accept signatures of any age
    #[arg(long, help_heading = "Age")]
    ignore_age: bool,
    /// Explain a mismatch; `--json explanation` lists all causes that were tried
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// A request to verify.
struct Request {
    capture: Option<CaptureNumber>,
    headers: HeaderMap,
    body: Bytes,
    /// None if it is unknown.
    received_at: Option<Timestamp>,
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
        let headers = headers(&self.header, self.signature_file.as_deref()).await?;
        let source = self.body_source(!headers.is_empty())?;
        let is_demo = matches!(cx.settings.service, Service::Demo);
        // The demo's secret is that of its captures.
        let secrets = if is_demo && self.capture.is_none() {
            self.secrets.read(cx).await?
        } else {
            self.secrets.read_or_stored(cx).await?
        };
        let secrets = require(secrets, "verification")?;
        let api_key = self.explain.then(|| api_key(cx)).flatten();
        let mut requests = match (source, self.capture) {
            (Some(source), _) => self.parse(source.read().await?)?,
            (None, number) => vec![captured(cx, number.unwrap_or_default()).await?],
        };
        requests.iter_mut().try_for_each(|request| request.replace_headers(&headers))?;
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

    /// Returns the location of the request, or of its body; `None` for a capture.
    fn body_source(&self, has_headers: bool) -> Result<Option<BodySource>, CliError> {
        if self.capture.is_some() {
            return Ok(None);
        }
        let flag = "`formsvc webhook verify PATH`";
        let source = BodySource::new(self.payload.as_deref(), self.secrets.uses_stdin(), flag)?;
        if has_headers || self.http_dump || self.ndjson {
            return Ok(Some(source));
        }
        Err(CliError::coded(Code::MissingArgument, "no signature to verify").hint(
            "pass the value of X-Service-Signature with `--header` or `--signature-file`, or the \
             whole request with `--http-dump`",
        ))
    }

    /// Returns the requests in a file, at least one.
    fn parse(&self, text: Bytes) -> Result<Vec<Request>, CliError> {
        if self.ndjson {
            let hint =
                "`--ndjson` reads the output of `formsvc webhook listen --output ndjson --reveal`";
            let parsed = parse_recorded(&text)
                .map_err(|error| CliError::usage(error.to_string()).hint(hint))?;
            if parsed.is_empty() {
                return Err(CliError::usage("the file contains no delivery").hint(hint));
            }
            let requests = parsed.into_iter().map(|recorded| Request {
                capture: recorded.number,
                headers: recorded.headers,
                body: recorded.body,
                received_at: Some(recorded.received_at),
            });
            return Ok(requests.collect());
        }
        let (headers, body) = if self.http_dump {
            parse_dump(&text).map_err(|error| {
                CliError::usage("the file is not an HTTP request")
                    .because(&error)
                    .hint("without `--http-dump`, the file is the body")
            })?
        } else {
            (HeaderMap::new(), text)
        };
        Ok(vec![Request { capture: None, headers, body, received_at: None }])
    }

    fn verify(
        &self,
        request: &Request,
        secrets: &SigningSecrets,
        api_key: Option<&SecretString>,
    ) -> Result<Verified, CliError> {
        let at = self.at.and_then(|secs| Timestamp::from_second(secs).ok());
        let at = at.or(request.received_at).unwrap_or_else(Timestamp::now);
        let tolerance = (!self.ignore_age).then(|| self.tolerance.unwrap_or(SIGNATURE_TOLERANCE));
        let mut verified = Verified::new(request, secrets, at, tolerance)?;
        if self.explain && verified.code().row().is_explainable {
            let Request { headers, body, .. } = request;
            verified.explanation =
                Some(explain_request(headers, body, secrets, api_key, at, tolerance));
        }
        Ok(verified)
    }
}

impl Request {
    /// Replaces headers by those of flags.
    fn replace_headers(&mut self, given: &HeaderMap) -> Result<(), CliError> {
        for name in given.keys() {
            self.headers.remove(name);
        }
        self.headers.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        if is_masked(&self.headers) {
            return Err(CliError::usage("the signature is masked, so it cannot be verified")
                .hint("write it with `--reveal`, or verify the recorded delivery: `--capture`"));
        }
        Ok(())
    }
}

/// Parses the headers of `--header` and `--signature-file`.
async fn headers(texts: &[String], file: Option<&Path>) -> Result<HeaderMap, CliError> {
    let mut values: Vec<Bytes> = texts.iter().map(|text| text.clone().into()).collect();
    if let Some(path) = file {
        values.push(BodySource::File(path.to_owned()).read().await?);
    }
    let parse = |value: &Bytes| {
        parse_signature_or_header(value.trim_ascii_end())
            .map_err(|error| CliError::usage(error.to_string()))
    };
    let mut headers = HeaderMap::new();
    for value in &values {
        let (name, value) = parse(value)?;
        headers.append(name, value);
    }
    Ok(headers)
}

async fn captured(cx: &Context, number: CaptureNumber) -> Result<Request, CliError> {
    let store = captures::open(cx).await?.ok_or_else(|| captures::missing(number))?;
    let delivery = captures::get(&store, number).await?;
    Ok(Request {
        capture: Some(number),
        received_at: Some(delivery.summary.received_at),
        headers: delivery.headers,
        body: delivery.body,
    })
}

/// Returns the API key if it can be read without a prompt: users confuse it with the signing secret.
fn api_key(cx: &Context) -> Option<SecretString> {
    key::without_prompt(&cx.settings)
}
