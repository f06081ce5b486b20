//! `formsvc webhook sign`

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_contract::send::Outgoing;
use formsvc_contract::variant::{Signatures, VARIANTS, Variant};
use formsvc_protocol::EventKind;
use formsvc_protocol::signature::HEADER;
use formsvc_workbench::{export, target};
use http::HeaderValue;
use http::header::CONNECTION;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::args::{BodySource, SecretArgs, require, skew, unix_secs};
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::Json;

pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("signature"),
    Field::new("signatures").json_only(),
    Field::new("header"),
    Field::new("timestamp"),
    Field::time("signed_at"),
    Field::new("variant"),
    Field::new("expect"),
    Field::new("secrets").json_only(),
    Field::new("body_size"),
    Field::new("body_sha256").json_only(),
];

/// The JSON of a signature.
#[derive(Serialize)]
struct SignatureRecord<'a> {
    signature: Option<&'a str>,
    signatures: &'a [&'a str],
    header: &'a str,
    /// None if the header has no time.
    timestamp: Option<i64>,
    signed_at: Option<String>,
    variant: &'a str,
    expect: &'a str,
    secrets: Vec<&'a str>,
    body_size: usize,
    body_sha256: String,
}

/// Print the signature header for a body
///
/// The body is signed byte for byte, with a final line feed if it has one. With several secrets, there is one
/// signature for each, as during a rotation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  formsvc webhook sign body.json --secret-file secret.txt
  formsvc webhook sign --secret-file secret.txt --variant stale < body.json
  formsvc webhook sign body.json --secret-file secret.txt --output json")]
pub(crate) struct Sign {
    /// File with the body [default: standard input]
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Time of the signature, in Unix seconds or as a time [default: now]
    #[arg(long, value_name = "TIME", value_parser = unix_secs)]
    timestamp: Option<i64>,
    /// Add this to the time: -10m is ten minutes before it, 10m is after it
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = skew)]
    skew: Option<i64>,
    /// Make an unusual or invalid signature
    #[arg(long, value_name = "NAME", default_value = "fresh", value_parser = variant())]
    variant: Variant,
    /// Print a curl command that sends the delivery to this URL
    #[arg(long, value_name = "URL", value_parser = target::parse, conflicts_with = "http")]
    curl: Option<Url>,
    /// Print the HTTP request that sends the delivery to this URL
    #[arg(long, value_name = "URL", value_parser = target::parse)]
    http: Option<Url>,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn variant() -> impl TypedValueParser<Value = Variant> {
    let values = VARIANTS.iter().map(|row| PossibleValue::new(row.name).help(row.makes));
    PossibleValuesParser::new(values)
        .map(|name| Variant::of_name(&name).expect("the values are the names of variants"))
}

impl Sign {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let Json { fields, jq, template, format } = &cx.settings.output.json;
        // Only flags change the output: scripts get the value, whatever the configuration file contains.
        let is_plain = fields.is_none() && jq.is_none() && template.is_none() && format.is_none();
        let url = self.curl.as_ref().or(self.http.as_ref());
        if url.is_some() {
            cx.output.refuse_flags("`--curl` and `--http` have their own format")?;
        }
        let mut listing = cx.output.listing(FIELDS)?;
        let time = self.time()?;
        let path = self.payload.as_deref();
        let flag = "`formsvc webhook sign PATH`";
        let source = BodySource::new(path, self.secrets.uses_stdin(), flag)?;
        let secrets = require(self.secrets.read(cx).await?, "signing")?;
        let body = source.read().await?;
        let signatures = self.variant.sign(&secrets.texts(), time, &body);
        if let Some(url) = url {
            return cx.output.exactly(&self.request(url, &source, &signatures, body)?);
        }
        let texts: Vec<&str> =
            signatures.values().iter().filter_map(|value| value.to_str().ok()).collect();
        if is_plain {
            let lines = texts.iter().flat_map(|text| [text, "\n"]);
            return cx.output.exactly(lines.collect::<String>().as_bytes());
        }
        let (row, timestamp) = (self.variant.row(), texts.first().and_then(|text| time_of(text)));
        listing.push(&SignatureRecord {
            signature: texts.first().copied(),
            signatures: &texts,
            header: HEADER,
            timestamp,
            signed_at: timestamp
                .and_then(|secs| Timestamp::from_second(secs).ok())
                .map(|at| at.to_string()),
            variant: row.name,
            expect: row.expect.name(),
            secrets: secrets.names().collect(),
            body_size: body.len(),
            body_sha256: hex::encode(Sha256::digest(&body)),
        });
        cx.output.item(&listing)
    }

    /// Returns the time of the signature in Unix seconds.
    fn time(&self) -> Result<u64, CliError> {
        let base = self.timestamp.unwrap_or_else(|| Timestamp::now().as_second());
        let time = base.checked_add(self.skew.unwrap_or_default());
        time.and_then(|time| time.try_into().ok()).ok_or_else(|| {
            CliError::usage("the time of the signature is before 1970, the start of Unix seconds")
        })
    }

    /// Returns the text of `--curl` or `--http`. It contains the signatures without masks.
    fn request(
        &self,
        url: &Url,
        source: &BodySource,
        signatures: &Signatures,
        body: Bytes,
    ) -> Result<Vec<u8>, CliError> {
        let mut outgoing = delivery(url.clone(), signatures, body);
        Ok(match (&self.curl, source) {
            (None, _) => {
                // A program that sends this text reads the response until the connection is closed.
                outgoing.headers.insert(CONNECTION, HeaderValue::from_static("close"));
                export::message(&outgoing, true)
            }
            (Some(_), BodySource::Stdin) => export::curl(&outgoing, true).on_lines().into_bytes(),
            (Some(_), BodySource::File(path)) => match path.to_str() {
                Some(path) => export::curl_with_file(&outgoing, path, true).on_lines().into_bytes(),
                None => return Err(CliError::usage("the name of the file is not UTF-8 text")),
            },
        })
    }
}

/// Returns the time of a signature header; `None` if it has no number.
fn time_of(header: &str) -> Option<i64> {
    header.split(',').find_map(|part| part.trim().strip_prefix("t="))?.parse().ok()
}

/// Returns the delivery that the service would send, with these signatures.
fn delivery(url: Url, signatures: &Signatures, body: Bytes) -> Outgoing {
    let event = HeaderValue::from_str(EventKind::SubmissionCreated.as_str())
        .expect("names of events are visible ASCII");
    let mut outgoing = Outgoing::delivery(url, event, HeaderValue::from_static(""), body);
    signatures.put(&mut outgoing.headers);
    outgoing
}
