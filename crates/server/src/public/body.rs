//! The body of a submission: read within bounds, and decoded.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use formsvc_protocol::ErrorCode;
use formsvc_protocol::limits::FORM_BODY_MAX;
use futures_util::stream;
use http::HeaderMap;
use http_body_util::LengthLimitError;
use multer::Multipart;

use super::media_type::{MediaType, is_utf_8, unsupported};
use crate::api::{Problem, announced_length};
use crate::fields::{Input, InputError};
use crate::printable::Excerpt;
use crate::read_body::read_body;

/// The whole body: 413 when it is or says it is too long, 408 when it takes too long.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    timeout: Duration,
) -> Result<Bytes, Problem> {
    let max = u64::try_from(FORM_BODY_MAX).unwrap_or(u64::MAX);
    if announced_length(headers).is_some_and(|length| length > max) {
        return Err(too_long());
    }
    match tokio::time::timeout(timeout, read_body(body, FORM_BODY_MAX)).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_long()),
        Ok(Err(_)) => Err(Problem::bad_request("the body ends before it is complete")),
        Err(_) => {
            let message = format!("the body did not arrive within {} s", timeout.as_secs());
            Err(Problem::new(ErrorCode::RequestTimeout, message))
        }
    }
}

fn too_long() -> Problem {
    let message = format!("the body has more than the {FORM_BODY_MAX} bytes that are taken");
    Problem::new(ErrorCode::PayloadTooLarge, message)
}

/// What the body says.
pub(super) async fn decode(media_type: &MediaType, body: Bytes) -> Result<Input, Problem> {
    let input = match media_type {
        MediaType::UrlEncoded => Input::from_urlencoded(&body),
        MediaType::Json => Input::from_json(&body),
        MediaType::Multipart { boundary } => Input::from_pairs(parts(boundary, body).await?),
    };
    input.map_err(|error| {
        let cause = match &error {
            InputError::NotAnObject(cause) => std::error::Error::source(cause),
            _ => None,
        };
        let cause = cause.map(|cause| format!(": {}", Excerpt(&cause.to_string())));
        Problem::bad_request(format!("{error}{}", cause.unwrap_or_default()))
    })
}

/// Names and values of `multipart/form-data`.
async fn parts(boundary: &str, body: Bytes) -> Result<Vec<(String, String)>, Problem> {
    let body = stream::once(async move { Ok::<_, Infallible>(body) });
    let mut multipart = Multipart::new(body, boundary);
    let mut pairs = Vec::new();
    while let Some(part) = multipart.next_field().await.map_err(|error| malformed(&error))? {
        let Some(name) = part.name().map(unescaped) else {
            return Err(Problem::bad_request("a part of the body has no name"));
        };
        let charset = part.content_type().and_then(|kind| kind.get_param("charset"));
        if charset.is_some_and(|charset| !is_utf_8(charset.as_str())) {
            let message = format!("the charset of `{}` is not read: send UTF-8", Excerpt(&name));
            return Err(unsupported(message));
        }
        let file = part.file_name().map(str::to_owned);
        let value = part.bytes().await.map_err(|error| malformed(&error))?;
        match file {
            // What browsers send for a file field where nothing was chosen.
            Some(file) if file.is_empty() && value.is_empty() => continue,
            Some(_) => {
                let message = format!("`{}` is a file, and files are not taken", Excerpt(&name));
                return Err(unsupported(message));
            }
            None => {}
        }
        let value = String::from_utf8(value.into()).map_err(|_| {
            Problem::bad_request(format!("the value of `{}` is not UTF-8", Excerpt(&name)))
        })?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// A name as it was before a browser escaped it (HTML, "multipart form data"). Of `%` browsers escape
/// none, so that a name with such an escape of its own cannot be told apart.
fn unescaped(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

/// What the parser says may hold what was sent.
fn malformed(error: &multer::Error) -> Problem {
    let message = format!("the body is not multipart/form-data: {}", Excerpt(&error.to_string()));
    Problem::bad_request(message)
}
