//! Answers in the service's error shape (SPEC §7), and those that an inbox makes necessary.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

use crate::Outcome;
use crate::inbox::{InboxError, InboxErrorKind};

/// `{"error":{"code":…,"message":…}}`. Both are fixed texts of this crate, which JSON takes as they are.
pub(crate) fn refusal(
    status: StatusCode,
    code: &'static str,
    message: &'static str,
) -> Response<Full<Bytes>> {
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).expect("the tables have statuses of HTTP")
}

impl<T, E> Outcome<T, E> {
    /// The answer to the sender, by [`status`](Self::status) and [`retry_after`](Self::retry_after):
    /// nothing but the status for a success, the service's error shape otherwise (SPEC §7). What the
    /// handler gave or failed with is not told. With the feature `axum` it is an `IntoResponse`.
    ///
    /// | Outcome | Code |
    /// |---|---|
    /// | `InFlight` | `in_flight` |
    /// | `Failed`, `Panicked` | `internal_error` |
    /// | `Lost`, `NotCompleted`, `NotClaimed` | `unavailable`, or that of the [`InboxError`] |
    pub fn to_response(&self) -> Response<Full<Bytes>> {
        let (code, message) = match self {
            Self::Done(_) | Self::Duplicate => return Response::new(Full::default()),
            Self::InFlight { .. } => ("in_flight", "the submission is being handled"),
            Self::Failed(_) | Self::Panicked(_) => ("internal_error", "the receiver failed"),
            Self::Lost(_) | Self::NotCompleted { .. } => UNAVAILABLE,
            Self::NotClaimed(error) => return error.to_response(),
        };
        let mut response = refusal(status(self.status()), code, message);
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

const UNAVAILABLE: (&str, &str) = ("unavailable", "the receiver cannot keep deliveries now");

impl InboxError {
    /// The answer to a sender whose delivery was not kept, by [`status`](Self::status): never a
    /// success. The codes are `bad_event`, `payload_too_large` and `unavailable`. With the feature
    /// `axum` the error is an `IntoResponse`.
    pub fn to_response(&self) -> Response<Full<Bytes>> {
        let (code, message) = match self.kind() {
            InboxErrorKind::Key => ("bad_event", "the id of the submission cannot be kept"),
            InboxErrorKind::Payload => ("payload_too_large", "the body is too large"),
            _ => UNAVAILABLE,
        };
        refusal(status(self.status()), code, message)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use formsvc_protocol::ErrorBody;

    use super::*;

    type Any = Outcome<&'static str, &'static str>;

    /// Status, `Retry-After` and code of an answer.
    fn told(response: Response<Full<Bytes>>) -> (u16, Option<String>, String) {
        let status = response.status().as_u16();
        let later = response.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        let body = crate::tower::read_now(response.into_body());
        let code = |body: ErrorBody| body.error.code.as_str().to_owned();
        (status, later, serde_json::from_slice(&body).map_or(String::new(), code))
    }

    #[test]
    fn every_outcome_has_its_answer() {
        let error = |kind| InboxError::new(kind);
        for (outcome, status, later, code) in [
            (Any::Done("hunter2"), 200, None, ""),
            (Any::Duplicate, 200, None, ""),
            (
                Any::InFlight { retry_after: Duration::from_millis(1500) },
                503,
                Some("2"),
                "in_flight",
            ),
            (Any::Failed("hunter2"), 500, None, "internal_error"),
            (Any::Lost("hunter2"), 503, None, "unavailable"),
            (Any::NotClaimed(error(InboxErrorKind::Full)), 503, None, "unavailable"),
            (Any::NotClaimed(error(InboxErrorKind::Key)), 400, None, "bad_event"),
            (Any::NotClaimed(error(InboxErrorKind::Payload)), 413, None, "payload_too_large"),
        ] {
            let expected = (status, later.map(str::to_owned), code.to_owned());
            assert_eq!(told(outcome.to_response()), expected, "{outcome:?}");
        }
    }

    #[test]
    fn no_failure_of_a_store_is_answered_with_success() {
        use InboxErrorKind::*;
        for kind in [Key, Payload, Lease, Setup, ClaimLost, InFlight, Full, Unavailable, Internal] {
            let (status, _, code) = told(InboxError::new(kind).to_response());
            assert!(status >= 400 && !code.is_empty(), "{kind:?}: {status} {code}");
        }
    }
}
