//! Builder of signed requests.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};

use super::sign;
use crate::{SIGNATURE_HEADER, WebhookEvent};

/// Builds a delivery request like the service's (SPEC §6), with all headers.
///
/// ```
/// use std::time::SystemTime;
/// use formsvc_receiver::test_util::{SignedRequest, submission_body};
///
/// let request = SignedRequest::new("whsec_of_my_tests", SystemTime::now(), submission_body("sub_1"))
///     .uri("/hook".parse()?)
///     .build();
/// assert!(request.headers().contains_key("x-service-signature"));
/// # Ok::<(), http::uri::InvalidUri>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct SignedRequest {
    secrets: Vec<String>,
    time: SystemTime,
    body: Bytes,
    uri: Uri,
}

impl SignedRequest {
    /// A delivery of the body to `/`, signed with the secret at that time.
    pub fn new(secret: impl Into<String>, time: SystemTime, body: impl Into<Bytes>) -> Self {
        let (secrets, body) = (vec![secret.into()], body.into());
        Self { secrets, time, body, uri: Uri::from_static("/") }
    }

    /// Signs with another secret as well, as during a rotation.
    pub fn also_signed_with(mut self, secret: impl Into<String>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// Sets the target of the request.
    pub fn uri(mut self, uri: Uri) -> Self {
        self.uri = uri;
        self
    }

    /// The request. `X-Service-Event` is the kind of the event, or `submission.created` for a body that
    /// is not an event. Panics if the kind is not a valid header value.
    pub fn build(self) -> Request<Bytes> {
        let signature = sign(self.secrets.iter().map(String::as_str), self.time, &self.body);
        let event = WebhookEvent::from_json(self.body.clone());
        let kind = event.as_ref().map_or("submission.created", WebhookEvent::kind);
        let to_value = |text| HeaderValue::from_str(text).expect("not a valid header value");
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CONTENT_LENGTH, self.body.len().into()),
            (header::USER_AGENT, HeaderValue::from_static("service-webhooks/1.0")),
            (HeaderName::from_static("x-service-event"), to_value(kind)),
            (HeaderName::from_static(SIGNATURE_HEADER), to_value(&signature)),
        ];
        let mut request = Request::post(self.uri).body(self.body).expect("the URI is valid");
        request.headers_mut().extend(headers);
        request
    }
}
