//! Whole requests, as the service sends them.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::Full;
use secrecy::SecretString;

use super::sign_with;
use crate::{Event, SIGNATURE_HEADER};

/// A delivery as the service sends it (SPEC §6): method, headers, signature and body. Where a test
/// needs another one, change the request it becomes.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use formsvc_receiver::test_util::{SignedRequest, submission_body};
///
/// let request = SignedRequest::new(&"whsec_of_my_tests".into(), UNIX_EPOCH, submission_body("sub_1"))
///     .uri("/hook".parse()?)
///     .build();
/// assert!(request.headers().contains_key("x-service-signature"));
/// # Ok::<(), http::uri::InvalidUri>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct SignedRequest {
    secrets: Vec<SecretString>,
    at: SystemTime,
    body: Bytes,
    uri: Uri,
}

impl SignedRequest {
    /// A delivery of the body to `/`, signed with the secret at that time.
    pub fn new(secret: &SecretString, at: SystemTime, body: impl Into<Bytes>) -> Self {
        let (secrets, body, uri) = (vec![secret.clone()], body.into(), Uri::from_static("/"));
        Self { secrets, at, body, uri }
    }

    /// Signs with one more secret, as during a rotation.
    pub fn also_with(mut self, secret: &SecretString) -> Self {
        self.secrets.push(secret.clone());
        self
    }

    /// Where the delivery goes.
    pub fn uri(mut self, uri: Uri) -> Self {
        self.uri = uri;
        self
    }

    /// The request. `X-Service-Event` is the kind of the event, and `submission.created` for a body
    /// that is none.
    pub fn build(self) -> Request<Full<Bytes>> {
        let signature = sign_with(&self.secrets, self.at, &self.body);
        let event = Event::from_json(self.body.clone());
        let kind = event.as_ref().map_or("submission.created", Event::kind);
        let value = |text| HeaderValue::from_str(text).expect("a test's event has a kind of ASCII");
        let length = self.body.len();
        let mut request = Request::post(self.uri)
            .body(Full::new(self.body.clone()))
            .expect("all of its parts are valid");
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_LENGTH, length.into());
        headers.insert(header::USER_AGENT, HeaderValue::from_static("service-webhooks/1.0"));
        headers.insert(HeaderName::from_static("x-service-event"), value(kind));
        headers.insert(HeaderName::from_static(SIGNATURE_HEADER), value(&signature));
        request
    }
}
