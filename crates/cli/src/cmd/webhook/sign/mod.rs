//! `formsvc webhook sign`

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use formsvc_contract::send::Outgoing;
use formsvc_contract::variant::{Signatures, Variant};
use formsvc_protocol::EventKind;
use formsvc_protocol::signature::HEADER;
use http::HeaderValue;
use http::header::CONNECTION;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::Json;
use crate::webhook::message;
use crate::webhook::moment::{self, Moment, skew};
use crate::webhook::payload::Place;
use crate::webhook::secrets::SecretArgs;
use crate::webhook::target::target;
use crate::webhook::variants;
use crate::when;

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

/// What is shown, its fields in the order of [`FIELDS`].
#[derive(Serialize)]
struct Item<'a> {
    signature: Option<&'a str>,
    signatures: &'a [&'a str],
    header: &'a str,
    /// That of the signature, where it has one that is a time.
    timestamp: Option<u64>,
    signed_at: Option<String>,
    variant: &'a str,
    expect: &'a str,
    secrets: Vec<&'a str>,
    body_size: usize,
    body_sha256: String,
}

/// Print the signature header for a body
///
/// The body is signed to the byte, as it stands in the file or comes by standard input: its line feed at
/// the end counts. With several secrets there is a signature by each, as while a secret is rotated.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  formsvc webhook sign body.json --secret-file secret.txt
  formsvc webhook sign --secret-file secret.txt --variant stale < body.json
  formsvc webhook sign body.json --secret-file secret.txt --output json")]
pub(crate) struct Sign {
    /// File of the body; `-`, or none, is standard input
    #[arg(value_name = "PATH")]
    payload: Option<PathBuf>,
    /// Time of the signature, in Unix seconds or as a time; now, unless told otherwise
    #[arg(long, value_name = "TIME")]
    timestamp: Option<Moment>,
    /// Added to the time: -10m is ten minutes old, 10m lies as far ahead
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = skew)]
    skew: Option<i64>,
    /// A signature that is unusual, or wrong on purpose
    #[arg(long, value_name = "NAME", default_value = "fresh", value_parser = variants::parser())]
    variant: Variant,
    /// Print a command of curl that sends the delivery to this address
    #[arg(long, value_name = "URL", value_parser = target, conflicts_with = "http")]
    curl: Option<Url>,
    /// Print the delivery to this address as it goes over the wire
    #[arg(long, value_name = "URL", value_parser = target)]
    http: Option<Url>,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl Sign {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let Json { fields, jq, template, format } = &cx.settings.json;
        // A script that asks for the value gets it, whatever format is set somewhere else.
        let is_plain = fields.is_none() && jq.is_none() && template.is_none() && format.is_none();
        let url = self.curl.as_ref().or(self.http.as_ref());
        if url.is_some() {
            cx.output.refuse_flags("`--curl` and `--http` print text of their own")?;
        }
        let mut listing = cx.output.listing(FIELDS)?;
        let time = self.time()?;
        let path = self.payload.as_deref();
        let place = Place::of(path, self.secrets.take_stdin(), "`formsvc webhook sign PATH`")?;
        let secrets = self.secrets.read(cx).await?.required("signing")?;
        let body = place.read().await?;
        let signatures = self.variant.sign(&secrets.texts(), time, &body);
        if let Some(url) = url {
            let mut outgoing = delivery(url.clone(), &signatures, body);
            // The signatures are what was asked for.
            let reveal = true;
            let text = match (&self.curl, &place) {
                (None, _) => {
                    // What is sent as it stands reads until its connection ends.
                    outgoing.headers.insert(CONNECTION, HeaderValue::from_static("close"));
                    message::http(&outgoing, reveal)
                }
                (Some(_), Place::Stdin) => message::curl(&outgoing, reveal).in_lines(),
                (Some(_), Place::File(path)) => match path.to_str() {
                    Some(path) => message::curl_with_file(&outgoing, path, reveal).in_lines(),
                    None => return Err(CliError::usage("the name of the file is not UTF-8 text")),
                },
            };
            return cx.output.exactly(&text);
        }
        let texts: Vec<&str> =
            signatures.values().iter().filter_map(|value| value.to_str().ok()).collect();
        if is_plain {
            let lines = texts.iter().flat_map(|text| [text, "\n"]);
            return cx.output.exactly(lines.collect::<String>().as_bytes());
        }
        let (row, signed) = (self.variant.row(), texts.first().and_then(|text| time_of(text)));
        listing.push(&Item {
            signature: texts.first().copied(),
            signatures: &texts,
            header: HEADER,
            timestamp: signed,
            signed_at: signed.and_then(moment::shown),
            variant: row.name,
            expect: row.expect.name(),
            secrets: secrets.0.iter().map(|(name, _)| &**name).collect(),
            body_size: body.len(),
            body_sha256: hex::encode(Sha256::digest(&body)),
        });
        cx.output.item(&listing)
    }

    /// The time of the signature, in Unix seconds.
    fn time(&self) -> Result<u64, CliError> {
        let now = when::now();
        let base = match &self.timestamp {
            Some(moment) => moment
                .seconds(&now)
                .map_err(|why| CliError::usage(format!("the time of `--timestamp` {why}")))?,
            None => u64::try_from(now.timestamp().as_second()).unwrap_or_default(),
        };
        let skewed = base.checked_add_signed(self.skew.unwrap_or_default());
        skewed.ok_or_else(|| {
            CliError::usage("the time of the signature lies before 1970, where Unix seconds begin")
        })
    }
}

/// The time of a signature header; none where it has none that is a number.
fn time_of(header: &str) -> Option<u64> {
    header.split(',').find_map(|part| part.trim().strip_prefix("t="))?.parse().ok()
}

/// The delivery as the service would send it, with these signatures.
fn delivery(url: Url, signatures: &Signatures, body: Bytes) -> Outgoing {
    let event = HeaderValue::from_str(EventKind::SubmissionCreated.as_str())
        .expect("names of events are words");
    let mut outgoing = Outgoing::delivery(url, event, HeaderValue::from_static(""), body);
    signatures.put(&mut outgoing.headers);
    outgoing
}
