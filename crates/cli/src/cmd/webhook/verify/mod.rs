//! `formsvc webhook verify`

mod result;

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::verdict::{VerdictCode, verify};
use formsvc_workbench::verify::{
    explain_request, is_masked, parse_dump, parse_signature_or_header,
};
use http::HeaderMap;
use jiff::Timestamp;

use self::result::{VerifyRecord, signed_at};
use super::args::{BODY_MAX, BodySource, SecretArgs, capture_number, require};
use super::{captures, is_demo};
use crate::account::key;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;

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
/// Verifies the body byte for byte, as `webhook listen` does. Exits with 0 if the signature is valid and at
/// most 5 minutes old (with `--capture`, at its arrival) and the body is an event, else with 11. `--explain` tries
/// common causes of a mismatch, such as a reformatted body.
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
    /// Accept signatures of any age
    #[arg(long)]
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
    /// The time of the arrival of a recorded delivery; else now.
    received_at: Timestamp,
}

impl Verify {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let source = self.body_source()?;
        // The demo's secret signs only its captures.
        let secrets = if is_demo(cx) && self.capture.is_none() {
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
        let Request { headers, body, received_at, .. } = &request;
        // Without a verifier, only the age is computed.
        let age_secs = verify(None, headers, body, *received_at).age_secs;
        let as_of = signed_at(*received_at, age_secs).filter(|_| self.ignore_age);
        let max_body = usize::try_from(BODY_MAX).unwrap_or(usize::MAX);
        let verifier = secrets.builder().max_body(max_body).build().map_err(|error| {
            CliError::usage("these signing secrets cannot be used").because(&error)
        })?;
        let mut verdict = verify(Some(&verifier), headers, body, as_of.unwrap_or(*received_at));
        verdict.age_secs = age_secs;
        let is_previous = |name: &str| secrets.is_previous(name);
        let mut record = VerifyRecord::new(&request, &verdict, is_previous, self.ignore_age);
        if self.explain && verdict.code.row().is_explainable {
            // Users confuse the API key with the signing secret.
            let api_key = key::without_prompt(&cx.settings);
            let tolerance = (!self.ignore_age).then_some(SIGNATURE_TOLERANCE);
            let (key, at) = (api_key.as_ref(), *received_at);
            record.explain(explain_request(headers, body, &secrets, key, at, tolerance));
        }
        listing.push(&record);
        cx.output.item(&listing)?;
        if verdict.code == VerdictCode::Valid { Ok(()) } else { Err(record.error(verdict.code)) }
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
        Ok(Request { capture: None, headers, body, received_at: Timestamp::now() })
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
        received_at: delivery.summary.received_at,
        headers: delivery.headers,
        body: delivery.body,
    })
}
