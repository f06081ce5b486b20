//! A decoded response with its status, headers and attempts.

use std::time::Duration;

use formsvc_protocol::paths::REQUEST_ID;
use http::{HeaderMap, StatusCode};

/// Status, headers, attempts and duration of a successful call.
#[derive(Clone, Debug)]
pub struct ResponseMeta {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
}

impl ResponseMeta {
    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers. An API key that the service repeats is masked.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The response's `X-Request-Id`, for reports to the operator of the service.
    pub fn request_id(&self) -> Option<&str> {
        self.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok())
    }

    /// The number of requests, retries included; at least 1.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The duration of the call, waits included.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// A decoded value with its [`ResponseMeta`]; dereferences to the value.
#[derive(Clone, Debug)]
pub struct Response<T> {
    value: T,
    meta: ResponseMeta,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, meta: ResponseMeta) -> Self {
        Self { value, meta }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Status, headers, attempts and duration.
    pub fn meta(&self) -> &ResponseMeta {
        &self.meta
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.meta.status()
    }

    /// The response's `X-Request-Id`.
    pub fn request_id(&self) -> Option<&str> {
        self.meta.request_id()
    }

    /// The number of requests, retries included; at least 1.
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
