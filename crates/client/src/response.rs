//! A decoded response with its status, headers and attempts.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_protocol::Timestamp;
use formsvc_protocol::paths::REQUEST_ID;
use http::header::DATE;
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

    /// The response's `Date`: the clock of the service, in whole seconds.
    pub fn date(&self) -> Option<Timestamp> {
        let since_1970 = http_date(&self.headers)?.duration_since(UNIX_EPOCH).ok()?;
        Timestamp::from_unix_nanos(i128::from(since_1970.as_secs()) * 1_000_000_000)
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

/// Returns the time in the header `Date`.
pub(crate) fn http_date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?.trim()).ok()
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

impl<T: IntoIterator> IntoIterator for Response<T> {
    type Item = T::Item;
    type IntoIter = T::IntoIter;

    fn into_iter(self) -> T::IntoIter {
        self.value.into_iter()
    }
}

#[expect(clippy::into_iter_without_iter, reason = "the value has its own `iter`")]
impl<'a, T> IntoIterator for &'a Response<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.value.into_iter()
    }
}

impl<T> std::ops::Deref for Response<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_of_a_response_is_read_or_absent() {
        let meta = |date: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(date.map(|date| (DATE, http::HeaderValue::from_static(date))));
            let (status, elapsed) = (StatusCode::OK, Duration::ZERO);
            ResponseMeta { status, headers, attempts: 1, elapsed }
        };
        let date = meta(Some("Thu, 01 Jan 2026 00:00:30 GMT")).date().unwrap();
        assert_eq!(date.unix_micros(), 1_767_225_630_000_000);
        assert!(meta(Some("yesterday")).date().is_none() && meta(None).date().is_none());
    }
}
