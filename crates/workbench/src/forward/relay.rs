//! The response to the sender of a forwarded delivery.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::delivery::{Forward, ForwardErrorKind, TargetResponse};
use crate::http::end_to_end;

/// Headers that are wrong for the beginning of a body.
const WHOLE_BODY_HEADERS: [&str; 4] = ["content-encoding", "content-md5", "digest", "etag"];

/// Returns the index of the forward that decides the response: the first failed one, so that the sender
/// retries until all targets have accepted, else the first.
pub(super) fn deciding(forwards: &[Forward]) -> Option<usize> {
    let failed = forwards.iter().position(|forward| !forward.is_success());
    failed.or((!forwards.is_empty()).then_some(0))
}

/// Returns the response to the sender: the target's, or 502 or 504 with an error as in SPEC §7.
pub fn relay(forward: &Forward) -> Response<Bytes> {
    let (status, code, message) = match &forward.result {
        Ok(response) => match relayed(response) {
            Some(response) => return response,
            None => (
                StatusCode::BAD_GATEWAY,
                "target_status",
                "the status of the target's response is not between 200 and 599",
            ),
        },
        Err(error) => match error.kind {
            ForwardErrorKind::Timeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "target_timeout",
                "the target did not respond in time",
            ),
            ForwardErrorKind::NotHttp => {
                (StatusCode::BAD_GATEWAY, "target_no_http", "the target's response is not HTTP")
            }
            ForwardErrorKind::Unreachable => {
                (StatusCode::BAD_GATEWAY, "target_unreachable", "the target did not respond")
            }
        },
    };
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns the target's response with its end-to-end headers; `None` if its status is not final
/// (RFC 9110, section 15).
fn relayed(response: &TargetResponse) -> Option<Response<Bytes>> {
    let status = StatusCode::from_u16(response.status).ok();
    let status = status.filter(|status| (200..600).contains(&status.as_u16()))?;
    let mut relayed = Response::new(response.body.clone());
    *relayed.status_mut() = status;
    *relayed.headers_mut() = end_to_end(&response.headers);
    if response.is_truncated {
        for name in WHOLE_BODY_HEADERS {
            relayed.headers_mut().remove(name);
        }
    }
    Some(relayed)
}
