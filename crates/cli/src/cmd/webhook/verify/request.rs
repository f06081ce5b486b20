//! The requests to verify.

use std::path::Path;

use bytes::Bytes;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::verify::{is_masked, parse_dump, parse_recorded, parse_signature_or_header};
use http::HeaderMap;
use jiff::Timestamp;

use super::super::args::BodySource;
use super::super::captures;
use crate::context::Context;
use crate::error::CliError;

/// A request to verify.
pub(super) struct Request {
    pub(super) capture: Option<CaptureNumber>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// None if it is unknown.
    pub(super) received_at: Option<Timestamp>,
}

/// The location of requests.
pub(super) enum RequestSource {
    /// Only a body; the headers are flags.
    Body(BodySource),
    /// An HTTP request as text.
    Dump(BodySource),
    /// Lines of `webhook listen`.
    Records(BodySource),
    Capture(CaptureNumber),
}

/// Parses the headers of `--header` and `--signature-file`.
pub(super) async fn headers(texts: &[String], file: Option<&Path>) -> Result<HeaderMap, CliError> {
    let mut headers = HeaderMap::new();
    let mut add = |text: &[u8]| {
        let (name, value) =
            parse_signature_or_header(text).map_err(|error| CliError::usage(error.to_string()))?;
        headers.append(name, value);
        Ok::<_, CliError>(())
    };
    for text in texts {
        add(text.as_bytes())?;
    }
    if let Some(path) = file {
        add(BodySource::File(path.to_owned()).read().await?.trim_ascii_end())?;
    }
    Ok(headers)
}

impl RequestSource {
    /// Reads at least one request. The given headers replace those of the request.
    pub(super) async fn read(
        &self,
        cx: &Context,
        given: &HeaderMap,
    ) -> Result<Vec<Request>, CliError> {
        let unrecorded =
            |headers, body| Request { capture: None, headers, body, received_at: None };
        let mut requests = match self {
            Self::Body(source) => vec![unrecorded(HeaderMap::new(), source.read().await?)],
            Self::Dump(source) => {
                let (headers, body) = parse_dump(&source.read().await?).map_err(|error| {
                    CliError::usage("the file is not an HTTP request")
                        .because(&error)
                        .hint("without `--http-dump`, the file is the body")
                })?;
                vec![unrecorded(headers, body)]
            }
            Self::Records(source) => recorded(&source.read().await?)?,
            Self::Capture(number) => vec![captured(cx, *number).await?],
        };
        for request in &mut requests {
            for name in given.keys() {
                request.headers.remove(name);
            }
            for (name, value) in given {
                request.headers.append(name, value.clone());
            }
            if is_masked(&request.headers) {
                return Err(CliError::usage("the signature is masked, so it cannot be verified")
                    .hint(
                        "write it with `--reveal`, or verify the recorded delivery: `--capture`",
                    ));
            }
        }
        Ok(requests)
    }
}

fn recorded(text: &[u8]) -> Result<Vec<Request>, CliError> {
    let hint = "`--ndjson` reads the output of `formsvc webhook listen --output ndjson --reveal`";
    let requests =
        parse_recorded(text).map_err(|error| CliError::usage(error.to_string()).hint(hint))?;
    if requests.is_empty() {
        return Err(CliError::usage("the file contains no delivery").hint(hint));
    }
    let requests = requests.into_iter().map(|recorded| Request {
        capture: recorded.number,
        headers: recorded.headers,
        body: recorded.body,
        received_at: Some(recorded.received_at),
    });
    Ok(requests.collect())
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
