//! `formsvc webhook verify`

mod result;

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::verify::{
    explain_request, is_masked, parse_dump, parse_signature_or_header,
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
/// Verifies the body byte for byte, by the rules of `webhook listen`. Exits with 0 if the signature is valid and at
/// most 5 minutes old and the body is an event, else with 11. `--explain` tries common causes of a mismatch, such
/// as a reformatted body.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  formsvc webhook verify --http-dump request.http --secret-file secret.txt
  formsvc webhook verify body.json -H \"$(cat body.sig)\" --secret-file secret.txt
  formsvc webhook verify --capture 17 --explain")]
pub(crate) struct Verify {
    /// File with the body [default: standard input]
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Verify a recorded delivery
    #[arg(long, value_name = "NUMBER", value_parser = capture_number, conflicts_with_all = ["payload", "http_dump"], help_heading = "Delivery")]
    capture: Option<CaptureNumber>,
    /// The file contains an HTTP request, headers and body
    #[arg(long, help_heading = "Delivery")]
    http_dump: bool,
    /// Value of X-Service-Signature, or a header as `Name: value`; repeatable
    #[arg(short = 'H', long, value_name = "VALUE", help_heading = "Delivery")]
    header: Vec<String>,
    /// Compute the age as of this time [default: the arrival of a recorded delivery, else now]
    #[arg(long, value_name = "TIME", value_parser = unix_secs, conflicts_with = "ignore_age", help_heading = "Age")]
    at: Option<i64>,
    /// Accept signatures of any age
    #[arg(long, help_heading = "Age")]
    ignore_age: bool,
    /// Explain a mismatch; `--json explanation` lists the causes that were tried, and those that were not
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

impl Verify {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let source = self.body_source()?;
        let is_demo = matches!(cx.settings.service, Service::Demo);
        // The demo's secret is that of its captures.
        let secrets = if is_demo && self.capture.is_none() {
            self.secrets.read(cx).await?
        } else {
            self.secrets.read_or_stored(cx).await?
        };
        let secrets = require(secrets, "verification")?;
        let mut request = match source {
            Some(source) => self.parse(source.read().await?)?,
            None => captured(cx, self.capture.unwrap_or_default()).await?,
        };
        self.replace_headers(&mut request)?;
        let at = self.at.and_then(|secs| Timestamp::from_second(secs).ok());
        let at = at.or(request.received_at).unwrap_or_else(Timestamp::now);
        let mut verified = Verified::new(&request, &secrets, at, self.ignore_age)?;
        if self.explain && verified.code().row().is_explainable {
            let Request { headers, body, .. } = &request;
            let api_key = api_key(cx);
            let tolerance = (!self.ignore_age).then_some(SIGNATURE_TOLERANCE);
            let explanation =
                explain_request(headers, body, &secrets, api_key.as_ref(), at, tolerance);
            verified.explanation = Some(explanation);
        }
        listing.push(&verified.record(&request));
        cx.output.item(&listing)?;
        if verified.is_valid() { Ok(()) } else { Err(verified.error()) }
    }

    /// Returns the location of the request, or of its body; `None` for a capture.
    fn body_source(&self) -> Result<Option<BodySource>, CliError> {
        if self.capture.is_some() {
            return Ok(None);
        }
        let flag = "`formsvc webhook verify PATH`";
        let source = BodySource::new(self.payload.as_deref(), self.secrets.uses_stdin(), flag)?;
        if !self.header.is_empty() || self.http_dump {
            return Ok(Some(source));
        }
        Err(CliError::coded(Code::MissingArgument, "no signature to verify").hint(
            "pass the value of X-Service-Signature with `--header`, or the whole request with \
             `--http-dump`",
        ))
    }

    fn parse(&self, text: Bytes) -> Result<Request, CliError> {
        let (headers, body) = if self.http_dump {
            parse_dump(&text).map_err(|error| {
                CliError::usage("the file is not an HTTP request")
                    .because(&error)
                    .hint("without `--http-dump`, the file is the body")
            })?
        } else {
            (HeaderMap::new(), text)
        };
        Ok(Request { capture: None, headers, body, received_at: None })
    }

    /// Replaces headers of the request by those of `--header`.
    fn replace_headers(&self, request: &mut Request) -> Result<(), CliError> {
        let mut given = HeaderMap::new();
        for text in &self.header {
            let (name, value) = parse_signature_or_header(text.trim_end().as_bytes())
                .map_err(|error| CliError::usage(error.to_string()))?;
            request.headers.remove(&name);
            given.append(name, value);
        }
        request.headers.extend(given);
        if is_masked(&request.headers) {
            return Err(CliError::usage("the signature is masked, so it cannot be verified")
                .hint("write it with `--reveal`, or verify the recorded delivery: `--capture`"));
        }
        Ok(())
    }
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
