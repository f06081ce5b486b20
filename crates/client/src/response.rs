//! What came with an answer.

use std::time::Duration;

use formsvc_protocol::paths::REQUEST_ID;
use http::{HeaderMap, StatusCode};

/// An answer without its body.
#[derive(Clone, Debug)]
pub struct ResponseMeta {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
}

impl ResponseMeta {
    /// The HTTP status, a success.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers, without the API key should the service have echoed it.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The answer's `X-Request-Id`: quote it to the operator of the service.
    pub fn request_id(&self) -> Option<&str> {
        self.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok())
    }

    /// Requests it took, retries included; at least 1.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Time the call took, waits included.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// A value and what came with it; reads as the value.
#[derive(Clone, Debug)]
pub struct Response<T> {
    value: T,
    meta: ResponseMeta,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, meta: ResponseMeta) -> Self {
        Self { value, meta }
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// What came with it.
    pub fn meta(&self) -> &ResponseMeta {
        &self.meta
    }

    /// The HTTP status, a success.
    pub fn status(&self) -> StatusCode {
        self.meta.status()
    }

    /// The answer's `X-Request-Id`.
    pub fn request_id(&self) -> Option<&str> {
        self.meta.request_id()
    }

    /// Requests it took, retries included; at least 1.
    pub fn attempts(&self) -> u32 {
        self.meta.attempts()
    }
}

impl<T> std::ops::Deref for Response<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
