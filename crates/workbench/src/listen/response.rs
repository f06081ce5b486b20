//! The listener's own responses. Error responses have the JSON format of the service's errors (SPEC §7).
//! The texts are constants, so a response contains nothing from the request.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::http::{json, json_error};
use crate::verdict::VerdictCode;

/// The reasons to refuse a request, which then does not become a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    MethodNotAllowed,
    /// A page in a browser sent the request.
    CrossSite,
    TooLarge,
    TooSlow,
    Unreadable,
    /// The limit of deliveries in flight or of the memory for bodies is reached, or the channel of events
    /// stays full.
    Busy,
    /// The delivery is not valid, and the limit of rejected deliveries in flight is reached. Such a delivery is not
    /// stored.
    TooManyInvalid,
    Stopping,
    /// The handling of the request panicked.
    Internal,
}

/// A reason to refuse a request, and the response.
#[derive(Clone, Copy, Debug)]
pub struct RefusalRow {
    pub refusal: Refusal,
    pub status: u16,
    /// Name in JSON.
    pub code: &'static str,
    /// A clause: "the body exceeds the size limit".
    pub message: &'static str,
}

/// All reasons to refuse a request.
pub const REFUSALS: [RefusalRow; 10] = [
    row(Refusal::NotFound, 404, "not_found", "this listener accepts deliveries at another path"),
    row(Refusal::MethodNotAllowed, 405, "method_not_allowed", "a delivery is a POST request"),
    row(Refusal::CrossSite, 403, "cross_site", "pages in a browser cannot send deliveries"),
    row(Refusal::TooLarge, 413, "payload_too_large", "the body exceeds the size limit"),
    row(Refusal::TooSlow, 408, "body_timeout", "the body was not complete within the time limit"),
    row(Refusal::Unreadable, 400, "unreadable_body", "the body could not be read"),
    row(Refusal::Busy, 503, "busy", "too many deliveries are in flight"),
    row(
        Refusal::TooManyInvalid,
        401,
        "too_many_invalid",
        "the delivery is not valid, and too many such deliveries are in flight",
    ),
    row(Refusal::Stopping, 503, "stopping", "this listener is stopping"),
    row(Refusal::Internal, 500, "internal_error", "the listener failed"),
];

const fn row(
    refusal: Refusal,
    status: u16,
    code: &'static str,
    message: &'static str,
) -> RefusalRow {
    RefusalRow { refusal, status, code, message }
}

impl Refusal {
    pub fn row(self) -> &'static RefusalRow {
        REFUSALS.iter().find(|row| row.refusal == self).expect("every refusal has a row")
    }

    pub(super) fn response(self) -> Response<Bytes> {
        let RefusalRow { status, code, message, .. } = *self.row();
        let mut response = json_error(status, code, message);
        let (name, value) = match self {
            Self::MethodNotAllowed => (header::ALLOW, "POST"),
            Self::Busy | Self::Stopping => (header::RETRY_AFTER, "1"),
            // The connection cannot be reused, because the rest of the body was not read.
            Self::TooLarge | Self::TooSlow | Self::Unreadable => (header::CONNECTION, "close"),
            Self::NotFound | Self::CrossSite | Self::TooManyInvalid | Self::Internal => {
                return response;
            }
        };
        response.headers_mut().insert(name, HeaderValue::from_static(value));
        response
    }
}

/// Returns the response to an accepted delivery.
pub(super) fn accepted() -> Response<Bytes> {
    json(200, Bytes::from_static(br#"{"received":true}"#))
}

/// Returns the response to a delivery that would be accepted if it could be stored. The sender repeats it.
pub(super) fn not_stored() -> Response<Bytes> {
    let mut response = json_error(503, "not_stored", "the delivery could not be stored");
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Returns the response to a health check.
pub(super) fn healthy() -> Response<Bytes> {
    json(200, Bytes::from_static(br#"{"status":"ok"}"#))
}

/// Returns the response to a rejected delivery with this verdict.
pub(super) fn rejected(verdict: VerdictCode) -> Response<Bytes> {
    let row = verdict.row();
    json_error(row.status, row.name, row.meaning)
}

/// Returns the response of an injected fault.
pub(super) fn injected(status: StatusCode) -> Response<Bytes> {
    if status.is_success() {
        return json(status.as_u16(), Bytes::from_static(br#"{"received":true}"#));
    }
    json_error(status.as_u16(), "injected", "the listener was started with this response")
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;

    use super::*;
    use crate::verdict::VERDICTS;

    #[test]
    fn every_response_is_an_error_of_the_service_with_its_code() {
        let refusals = REFUSALS.map(|row| (row.refusal.response(), row.status, row.code));
        let verdicts = VERDICTS.iter().map(|row| (rejected(row.code), row.status, row.name));
        let others = [
            (injected(StatusCode::BAD_GATEWAY), 502, "injected"),
            (not_stored(), 503, "not_stored"),
        ];
        for (response, status, code) in refusals.into_iter().chain(verdicts).chain(others) {
            assert_eq!(response.status().as_u16(), status);
            let body: ErrorBody = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(body.error.code.as_str(), code);
            assert_eq!(response.headers().contains_key(header::RETRY_AFTER), status == 503);
        }
    }
}
