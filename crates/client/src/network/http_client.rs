//! An HTTP client for other servers than that of the API.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body::Body;

use super::{NetworkError, NetworkSettings};

/// The HTTP client of [`NetworkSettings::http_client`]. Cheap to clone; clones share connections.
///
/// Sends each request once, by HTTP/1.1 and with header names in title case. Follows no redirect, decodes no
/// body and stores no cookie.
#[derive(Clone, Debug)]
pub struct HttpClient(reqwest::Client);

/// A response whose body is not read yet.
#[derive(Debug)]
pub struct HttpResponse(reqwest::Response);

/// A failed request. [`NetworkSettings::connect_failure`] explains it.
#[derive(Debug)]
pub struct HttpError(reqwest::Error);

impl NetworkSettings {
    /// Creates an HTTP client that follows these settings, for requests to other servers than that of the API.
    /// A connection without a request is closed after `idle`.
    pub fn http_client(
        &self,
        connect_timeout: Duration,
        idle: Duration,
    ) -> Result<HttpClient, NetworkError> {
        let builder = self.http_client_builder()?.http1_only().http1_title_case_headers();
        let builder = builder.connect_timeout(connect_timeout).pool_idle_timeout(idle);
        let failed = "the HTTP client cannot be set up";
        builder.build().map(HttpClient).map_err(|error| NetworkError::new(failed).because(error))
    }
}

impl HttpClient {
    /// Sends a request and reads the head of the response. A user name and password in the URL become
    /// `Authorization`, unless that header is set.
    pub async fn send<B>(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: B,
    ) -> Result<HttpResponse, HttpError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Sync + 'static,
    {
        let request = self.0.request(method, url).headers(headers).body(reqwest::Body::wrap(body));
        request.send().await.map(HttpResponse).map_err(HttpError)
    }
}

impl HttpResponse {
    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns the next part of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.0.chunk().await.map_err(HttpError)
    }
}

impl HttpError {
    /// Returns true if the URL cannot be the target of a request. Nothing was sent.
    pub fn is_invalid_url(&self) -> bool {
        self.0.is_builder()
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the HTTP request failed")
    }
}

impl StdError for HttpError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}
