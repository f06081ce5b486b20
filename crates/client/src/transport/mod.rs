//! The seam between the SDK and whatever speaks HTTP.

mod causes;
mod over_reqwest;
#[cfg(feature = "tower")]
mod over_tower;

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

pub(crate) use causes::causes;
pub(crate) use over_reqwest::OverReqwest;
#[cfg(feature = "tower")]
pub use over_tower::TowerTransport;

/// A boxed future that can be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request and reads the whole answer. Implement it to test against a fake, or to use
/// another HTTP library; retries, limits and decoding stay with the client.
///
/// The client drops the future when the attempt's time is over.
///
/// ```
/// use bytes::Bytes;
/// use formsvc_client::{AttemptContext, BoxFuture, Client, Transport, TransportError};
///
/// /// Answers every request the same.
/// struct Canned(&'static str);
///
/// impl Transport for Canned {
///     fn send<'a>(
///         &'a self,
///         _request: http::Request<Bytes>,
///         _context: &'a AttemptContext,
///     ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>> {
///         Box::pin(async { Ok(http::Response::new(Bytes::from_static(self.0.as_bytes()))) })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let client = Client::builder()
///     .base_url("https://forms.example")
///     .api_key("fsk_example".into())
///     .transport(Canned(r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#))
///     .build()?;
/// assert_eq!(client.me().await?.name, "Ada");
/// # Ok::<(), formsvc_client::Error>(())
/// # }).unwrap();
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` and returns the answer with its whole body, whatever its status.
    ///
    /// Redirects must not be followed: the API has none, and the request carries the key. A body
    /// over [`AttemptContext::max_body`] should be given up early as
    /// [`TransportErrorKind::TooLarge`]; where the status is not 200, as success,
    /// [`AttemptContext::max_error_body`] bytes of it are enough.
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>>;
}

/// What a transport may want to know about the attempt it makes.
#[derive(Clone, Copy, Debug)]
pub struct AttemptContext {
    pub(crate) operation: &'static str,
    pub(crate) attempt: u32,
    pub(crate) timeout: Duration,
    pub(crate) max_body: usize,
    pub(crate) max_error_body: usize,
}

impl AttemptContext {
    /// The operation, such as `submissions.list`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Which attempt of the call, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Time this attempt has; the client keeps it, a transport need not.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Largest body to read, in bytes.
    pub fn max_body(&self) -> usize {
        self.max_body
    }

    /// How much to read of the body of an answer whose status is not 200, in bytes: about 64 KiB.
    /// Nobody looks at the rest.
    pub fn max_error_body(&self) -> usize {
        self.max_error_body
    }
}

/// How an attempt failed without a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No connection: name resolution, TCP, proxy. Retried.
    Connect,
    /// TLS failed: the certificate is not trusted, or there is no common version. Not retried.
    Tls,
    /// The proxy demands a user name and a password (407), or rejects them. Not retried.
    ProxyAuth,
    /// Too slow. Retried.
    Timeout,
    /// The connection broke before the answer was whole. Retried.
    Interrupted,
    /// The body is over the cap. Not retried.
    TooLarge,
    /// Anything else. Not retried.
    Other,
}

/// An attempt that brought no whole answer.
#[derive(Debug)]
pub struct TransportError {
    kind: TransportErrorKind,
    source: Option<Box<dyn StdError + Send + Sync>>,
    head: Option<Box<(StatusCode, HeaderMap)>>,
}

impl TransportError {
    /// A failure and its cause. The cause must not show the request's headers.
    pub fn new(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, source: Some(source.into()), head: None }
    }

    /// A failure with nothing more to say.
    pub fn from_kind(kind: TransportErrorKind) -> Self {
        Self { kind, source: None, head: None }
    }

    /// Adds what did arrive, so that the error can tell status and request id.
    #[must_use]
    pub fn with_head(mut self, status: StatusCode, headers: HeaderMap) -> Self {
        self.head = Some(Box::new((status, headers)));
        self
    }

    /// How it failed.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    pub(crate) fn headers_mut(&mut self) -> Option<&mut HeaderMap> {
        self.head.as_mut().map(|head| &mut head.1)
    }

    pub(crate) fn into_parts(self) -> TransportParts {
        (self.kind, self.source, self.head.map(|head| *head))
    }
}

pub(crate) type TransportParts =
    (TransportErrorKind, Option<Box<dyn StdError + Send + Sync>>, Option<(StatusCode, HeaderMap)>);

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.what())
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl TransportErrorKind {
    /// What failed, for a person.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Connect | Self::ProxyAuth => "could not connect",
            Self::Tls => "could not agree on a secure connection",
            Self::Timeout => "the answer took too long",
            Self::Interrupted => "the connection broke before the answer was whole",
            Self::TooLarge => "the answer is too large",
            Self::Other => "the request could not be sent",
        }
    }
}
