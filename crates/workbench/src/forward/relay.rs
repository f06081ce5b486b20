//! The response to the sender of a forwarded delivery.

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::delivery::{Forward, ForwardErrorKind, TargetResponse};
use crate::http::{end_to_end, json_error};

/// Headers that describe a complete body, so they are wrong for a truncated body.
const WHOLE_BODY_HEADERS: [&str; 4] = ["content-encoding", "content-md5", "digest", "etag"];

/// Returns the index of the forward that decides the response to the sender: the first failed forward, so that the
/// sender retries until all targets have accepted the delivery. If all forwards succeeded, returns 0.
pub(super) fn deciding(forwards: &[Forward]) -> Option<usize> {
    let failed = forwards.iter().position(|forward| !forward.is_success());
    failed.or((!forwards.is_empty()).then_some(0))
}

/// Returns the response to the sender: the target's response, or an error with status 502, 503 or 504 (SPEC §7).
pub fn relay(forward: &Forward) -> Response<Bytes> {
    let (status, code, message) = match &forward.result {
        Ok(response) => match relayed(response) {
            Some(response) => return response,
            None => (
                502,
                "target_status",
                "the status of the target's response is not between 200 and 599",
            ),
        },
        Err(error) => match error.kind {
            ForwardErrorKind::Timeout => {
                (504, "target_timeout", "the target did not respond in time")
            }
            ForwardErrorKind::NotHttp => {
                (502, "target_no_http", "the target's response is not HTTP")
            }
            ForwardErrorKind::Unreachable => {
                (502, "target_unreachable", "no complete response came from the target")
            }
            ForwardErrorKind::Overloaded => {
                (503, "target_overloaded", "too many deliveries wait for the target")
            }
        },
    };
    json_error(status, code, message)
}

/// Returns the target's response with its end-to-end headers, or `None` if its status is not a final status
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
