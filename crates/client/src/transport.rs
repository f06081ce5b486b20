//! The interface between the client and an HTTP implementation.

mod reqwest_transport;

use std::error::Error as StdError;
use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};

pub(crate) use reqwest_transport::ReqwestTransport;

use crate::ErrorKind;

/// A boxed future that can be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A request that a [`Transport`] sends, and its response.
pub type Sending<'a> = BoxFuture<'a, Result<Response<Bytes>, TransportError>>;

/// Sends one request and reads the whole response. Implement it for another HTTP library, or for a
/// fake in tests; the client adds retries, limits and decoding.
///
/// The client drops the future when the time of the attempt is over.
///
/// ```
/// use formsvc_client::bytes::Bytes;
/// use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
/// use formsvc_client::{Client, http};
///
/// /// Sends the same response to every request.
/// struct FixedAnswer(&'static str);
///
/// impl Transport for FixedAnswer {
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
///     .api_key("fsk_example")
///     .transport(FixedAnswer(r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#))
///     .build()?;
/// assert_eq!(client.me().await?.name, "Ada");
/// # Ok::<(), formsvc_client::Error>(())
/// # }).unwrap();
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` and returns the response with its whole body, whatever its status.
    ///
    /// A compressed body must be decoded. Must not follow redirects: the API has none, and the request contains the API key. A body
    /// longer than [`AttemptContext::max_body`] should end early as
    /// [`TransportErrorKind::TooLarge`]. If the status is not 200, the first
    /// [`AttemptContext::max_error_body`] bytes of the body are enough.
    fn send<'a>(&'a self, request: Request<Bytes>, context: &'a AttemptContext) -> Sending<'a>;
}

/// For an `Arc` or a `Box` of a transport.
impl<P: Deref<Target: Transport> + Send + Sync + 'static> Transport for P {
    fn send<'a>(&'a self, request: Request<Bytes>, context: &'a AttemptContext) -> Sending<'a> {
        (**self).send(request, context)
    }
}

/// The attempt that a request belongs to, and its limits.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptContext {
    /// The operation, such as `submissions.list`.
    pub operation: &'static str,
    /// The number of the attempt in its call, from 1.
    pub attempt: u32,
    /// The time this attempt has. The client enforces it; a transport need not.
    pub timeout: Duration,
    /// The largest body to read, in bytes.
    pub max_body: usize,
    /// The number of bytes to read of the body if the status is not 200, about 64 KiB. The client
    /// ignores the rest.
    pub max_error_body: usize,
}

impl AttemptContext {
    /// Creates the context of a first attempt with the default limits, to test a [`Transport`].
    #[cfg(feature = "test-util")]
    pub fn for_test() -> Self {
        Self {
            operation: "me",
            attempt: 1,
            timeout: Duration::from_secs(30),
            max_body: 32 << 20,
            max_error_body: 64 << 10,
        }
    }
}

/// How an attempt failed without a complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No connection: name resolution, TCP or proxy. Retried.
    Connect,
    /// TLS failed: the certificate is not trusted, or there is no common version. Not retried.
    Tls,
    /// The proxy requires a user name and a password (407), or rejects them. Not retried.
    ProxyAuth,
    /// The time limit was exceeded. Retried.
    Timeout,
    /// The connection broke before the response was complete. Retried.
    Interrupted,
    /// The compressed body is truncated or damaged. Retried.
    BadEncoding,
    /// The body is larger than allowed. Not retried.
    TooLarge,
    /// Any other failure. Not retried.
    Other,
}

/// An attempt without a complete response.
#[derive(Debug)]
pub struct TransportError {
    pub(crate) kind: TransportErrorKind,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
    pub(crate) head: Option<Box<(StatusCode, HeaderMap)>>,
}

impl TransportError {
    /// Creates an error with its cause. The text of the cause must not contain the headers of the
    /// request.
    pub fn new(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, source: Some(source.into()), head: None }
    }

    /// Creates an error without a cause.
    pub fn from_kind(kind: TransportErrorKind) -> Self {
        Self { kind, source: None, head: None }
    }

    /// Adds the status and the headers that were received before the failure.
    #[must_use]
    pub fn with_head(self, status: StatusCode, headers: HeaderMap) -> Self {
        Self { head: Some(Box::new((status, headers))), ..self }
    }

    /// The kind of failure.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl TransportErrorKind {
    /// Returns the kind of the call's error, its text, and whether a retry can help.
    pub(crate) fn row(self) -> (ErrorKind, &'static str, bool) {
        match self {
            Self::Connect => (ErrorKind::Connect, "could not connect", true),
            Self::ProxyAuth => (ErrorKind::Connect, "could not connect", false),
            Self::Tls => (ErrorKind::Connect, "could not agree on a secure connection", false),
            Self::Timeout => (ErrorKind::Timeout, "the response took too long", true),
            Self::Interrupted => {
                let text = "the connection broke before the response was complete";
                (ErrorKind::Transport, text, true)
            }
            Self::BadEncoding => {
                let text = "the gzip body of the response is truncated or damaged";
                (ErrorKind::Decode, text, true)
            }
            Self::TooLarge => (ErrorKind::TooLarge, "the response is too large", false),
            Self::Other => (ErrorKind::Transport, "the request could not be sent", false),
        }
    }

    pub(crate) fn message(self) -> &'static str {
        self.row().1
    }
}
