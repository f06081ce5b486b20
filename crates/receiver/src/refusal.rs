//! Error responses in the service's format (SPEC §7).

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

/// Status, code and message of an error response. Code and message are constants of this crate, so a
/// response never contains text of the request or a secret, and needs no JSON escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

impl Refusal {
    pub(crate) const fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message }
    }

    /// The response `{"error":{"code":…,"message":…}}`.
    pub(crate) fn to_response(self) -> Response<Bytes> {
        let Self { status, code, message } = self;
        let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}
