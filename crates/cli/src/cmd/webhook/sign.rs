//! `formsvc webhook sign`

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_contract::variant::{VARIANTS, Variant};
use formsvc_protocol::signature::HEADER;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::args::{BodySource, SecretArgs, unix_secs};
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

/// Print the value of X-Service-Signature for a body
///
/// The value contains the time, as `t=` and Unix seconds, and a signature for each secret, as `v1=` and an HMAC-SHA256
/// of the time and the body. Pass it to curl with `-H "X-Service-Signature: $(formsvc webhook sign body.json)"`. The
/// body is signed byte for byte, with a final line feed if it has one.
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
    /// Time of the signature: Unix seconds, date or age [default: now]
    #[arg(long, value_name = "TIME", value_parser = unix_secs)]
    timestamp: Option<i64>,
    /// Make another signature: an invalid or an unusual one
    #[arg(long, value_name = "NAME", default_value = "fresh", value_parser = variant())]
    variant: Variant,
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
        let mut listing = cx.output.listing(FIELDS)?;
        let time = self.timestamp.unwrap_or_else(|| Timestamp::now().as_second()).unsigned_abs();
        let path = self.payload.as_deref();
        let flag = "`formsvc webhook sign PATH`";
        let source = BodySource::new(path, self.secrets.uses_stdin(), flag)?;
        let secrets = self.secrets.read_for_signing(cx, "signing").await?;
        let body = source.read().await?;
        let signatures = self.variant.sign(&secrets.texts(), time, &body);
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
}

/// Returns the time of a signature header; `None` if it has no number.
fn time_of(header: &str) -> Option<i64> {
    header.split(',').find_map(|part| part.trim().strip_prefix("t="))?.parse().ok()
}
