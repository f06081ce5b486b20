//! Deliveries in the lines of JSON that `webhook listen` writes.

use std::collections::BTreeMap;
use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;

use super::source::{Delivery, Headers};
use crate::error::CliError;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::listen::record::SCHEMA;
use crate::webhook::mask;

/// Any line.
#[derive(Deserialize)]
struct Line {
    schema: u32,
    r#type: String,
}

/// A line of type `delivery`, as far as it matters here.
#[derive(Deserialize)]
struct Record {
    capture: Option<CaptureNumber>,
    at: String,
    headers: BTreeMap<String, Vec<String>>,
    body_b64: String,
}

/// The deliveries among the lines; other lines are passed over.
pub(super) fn read(text: &[u8]) -> Result<Vec<Delivery>, CliError> {
    let mut all = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            all.extend(delivery(line, at + 1)?);
        }
    }
    if all.is_empty() {
        return Err(CliError::usage("there is no delivery in these lines")
            .hint("`formsvc webhook listen --output ndjson` writes one for each delivery"));
    }
    Ok(all)
}

fn delivery(line: &[u8], number: usize) -> Result<Option<Delivery>, CliError> {
    let wrong = |error: &dyn Error| {
        CliError::usage(format!("line {number} is no record of `webhook listen`"))
            .because(error)
            .hint("without `--ndjson` the file is the body alone")
    };
    let Line { schema, r#type } = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    if schema != SCHEMA {
        let what = format!("line {number} has version {schema}, and only {SCHEMA} is known here");
        return Err(CliError::usage(what));
    }
    if r#type != "delivery" {
        return Ok(None);
    }
    let record: Record = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    let body = STANDARD.decode(&record.body_b64).map_err(|error| wrong(&error))?;
    let pairs = record.headers.into_iter();
    let headers: Vec<_> = pairs
        .flat_map(|(name, values)| {
            values.into_iter().map(move |value| (name.clone(), value.into_bytes()))
        })
        .collect();
    let headers = Headers(headers);
    if headers.signatures().any(mask::is_masked) {
        return Err(CliError::usage(format!("the signature in line {number} is masked")).hint(
            "`webhook listen --reveal` writes it; or judge what was kept, with `--capture`",
        ));
    }
    let at: Timestamp = record.at.parse().map_err(|error: jiff::Error| wrong(&error))?;
    let came = u64::try_from(at.as_second()).ok();
    Ok(Some(Delivery { capture: record.capture, headers, body: body.into(), came }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"schema":1,"type":"delivery","capture":7,"at":"2026-01-01T00:00:00.5Z","headers":{"x-service-signature":["t=1,v1=ab"],"a":["1","2"]},"body_b64":"e30K","more":1}"#;

    #[test]
    fn deliveries_are_read_and_other_lines_passed_over() {
        let text = format!("{{\"schema\":1,\"type\":\"ready\"}}\n{LINE}\n\n");
        let read = read(text.as_bytes()).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].capture, read[0].came), (Some(7), Some(1_767_225_600)));
        assert_eq!(&read[0].body[..], b"{}\n");
        assert_eq!(read[0].headers.signatures().collect::<Vec<_>>(), [b"t=1,v1=ab"]);
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        for (text, tells) in [
            (String::new(), "no delivery"),
            ("{}".to_owned(), "line 1"),
            (format!("{LINE}\n{{"), "line 2"),
            (LINE.replace("\"schema\":1", "\"schema\":2"), "version 2"),
            (LINE.replace("v1=ab", "v1=ab12…"), "masked"),
            (LINE.replace("e30K", "e3"), "line 1"),
        ] {
            let error = read(text.as_bytes()).map(|_| ()).unwrap_err().told();
            assert!(error.contains(tells), "{error}");
        }
    }
}
