//! What a listener says itself, to senders: constant texts in the service's error shape (SPEC §7).
//! Nothing of the request, no secret and no signature is ever in them.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

use crate::webhook::capture::Unanswered;
use crate::webhook::verdict::VerdictCode;

/// An answer.
pub(super) type Answer = Response<Full<Bytes>>;

/// A request that is no delivery, or goes no further. The name never changes: NDJSON has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotFound,
    MethodNotAllowed,
    CrossSite,
    TooLarge,
    TooSlow,
    Scattered,
    Unreadable,
    Busy,
    Stopping,
}

/// Every refusal there is.
pub(super) const REFUSALS: [Refusal; 9] = [
    Refusal::NotFound,
    Refusal::MethodNotAllowed,
    Refusal::CrossSite,
    Refusal::TooLarge,
    Refusal::TooSlow,
    Refusal::Scattered,
    Refusal::Unreadable,
    Refusal::Busy,
    Refusal::Stopping,
];

impl Refusal {
    /// Its status, its code and what it says.
    fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::NotFound => {
                (StatusCode::NOT_FOUND, "not_found", "deliveries are taken at another path")
            }
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "a delivery is a POST")
            }
            Self::CrossSite => {
                (StatusCode::FORBIDDEN, "cross_site", "a page in a browser delivers nothing")
            }
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "the body is too large")
            }
            Self::TooSlow => {
                (StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body took too long")
            }
            Self::Scattered => {
                (StatusCode::BAD_REQUEST, "body_in_pieces", "the body came in too small pieces")
            }
            Self::Unreadable => {
                (StatusCode::BAD_REQUEST, "unreadable_body", "the body could not be read")
            }
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "as many deliveries as there may be are being handled",
            ),
            Self::Stopping => {
                (StatusCode::SERVICE_UNAVAILABLE, "stopping", "this listener is stopping")
            }
        }
    }

    /// Its code.
    pub(crate) fn code(self) -> &'static str {
        self.row().1
    }

    /// What it says.
    pub(crate) fn message(self) -> &'static str {
        self.row().2
    }

    /// Its status.
    pub(crate) fn status(self) -> u16 {
        self.row().0.as_u16()
    }

    /// The answer.
    pub(super) fn answer(self) -> Answer {
        let (status, code, message) = self.row();
        let mut answer = error(status, code, message);
        let headers = answer.headers_mut();
        match self {
            Self::MethodNotAllowed => {
                headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            Self::Busy | Self::Stopping => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            // The rest of the request is not wanted.
            Self::TooLarge | Self::TooSlow | Self::Scattered | Self::Unreadable => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::NotFound | Self::CrossSite => {}
        }
        answer
    }
}

/// An answer in the service's error shape. Both texts are constants, which JSON takes as they are.
fn error(status: StatusCode, code: &'static str, message: &'static str) -> Answer {
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    json(status, Bytes::from(body))
}

fn json(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

/// What a delivery is answered that a listener takes.
pub(super) fn accepted() -> Answer {
    json(StatusCode::OK, Bytes::from_static(br#"{"received":true}"#))
}

/// What whoever asks for its health is answered.
pub(super) fn healthy() -> Answer {
    json(StatusCode::OK, Bytes::from_static(br#"{"status":"ok"}"#))
}

/// What a delivery is answered that is not what it should be, in the codes of the receiver's library.
pub(super) fn rejected(verdict: VerdictCode) -> Answer {
    let row = verdict.row();
    let status = StatusCode::from_u16(row.status).unwrap_or(StatusCode::UNAUTHORIZED);
    error(status, row.name, row.meaning)
}

/// A status that was asked for, with a body that says so.
pub(super) fn as_told(status: StatusCode) -> Answer {
    if status.is_success() {
        return json(status, Bytes::from_static(br#"{"received":true}"#));
    }
    error(status, "as_told", "this listener was told to answer so")
}

/// Nothing that a delivery was forwarded to has answered, in time and in HTTP.
pub(super) fn gateway(unanswered: &Unanswered) -> Answer {
    if unanswered.timed_out {
        error(StatusCode::GATEWAY_TIMEOUT, "target_timeout", "the target did not answer in time")
    } else if unanswered.garbled {
        let message = "what the target answered is not HTTP";
        error(StatusCode::BAD_GATEWAY, "target_no_http", message)
    } else {
        error(StatusCode::BAD_GATEWAY, "target_unreachable", "the target did not answer")
    }
}

/// What a delivery was forwarded to has answered with what nobody can be answered with.
pub(super) fn no_final_status() -> Answer {
    let message = "the target answered with a status that no answer ends with";
    error(StatusCode::BAD_GATEWAY, "target_status", message)
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;
    use http_body_util::BodyExt;

    use super::*;
    use crate::webhook::verdict::VERDICTS;

    #[test]
    fn every_refusal_is_the_services_error_and_names_its_code() {
        let answers = REFUSALS.map(|refusal| (refusal.answer(), refusal.code()));
        let verdicts = VERDICTS.iter().map(|row| (rejected(row.code), row.name));
        for (answer, code) in answers.into_iter().chain(verdicts) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let body = runtime.block_on(answer.into_body().collect()).unwrap().to_bytes();
            let body: ErrorBody = serde_json::from_slice(&body).unwrap();
            assert_eq!(body.error.code.as_str(), code);
        }
    }
}
