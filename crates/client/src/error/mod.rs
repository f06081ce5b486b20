//! The one error type of this crate.

mod excerpt;
mod kind;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::ErrorCode;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

pub(crate) use excerpt::{KEPT, Safe, body_start, cut, head, keep, looks_like_json, short};
pub use kind::ErrorKind;

use crate::api_key::ApiKey;
use crate::network::ConnectFailure;
use crate::operation::Operation;

/// Why a call failed.
///
/// Display says what failed, [`source`](StdError::source) says why, and neither repeats the other.
/// Neither shows the API key, an address with its query, or control characters sent by a stranger.
///
/// ```
/// use formsvc_client::{Client, ErrorKind};
/// let error = Client::builder().base_url("http://example.org").build().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Config);
/// assert!(error.to_string().starts_with("client.build: "));
/// ```
pub struct Error(Box<Parts>);

/// Everything known about a failure.
pub(crate) struct Parts {
    pub(crate) kind: ErrorKind,
    pub(crate) operation: Operation,
    /// What failed, for kinds whose text does not follow from the answer.
    pub(crate) what: Cow<'static, str>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) message: Option<String>,
    pub(crate) request_id: Option<String>,
    /// Without the API key.
    pub(crate) headers: Option<HeaderMap>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) body: Option<Bytes>,
    /// The beginning of the body that the text of the error shows, sanitized.
    pub(crate) body_start: Option<String>,
    pub(crate) json_path: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn parts(
        kind: ErrorKind,
        operation: Operation,
        what: impl Into<Cow<'static, str>>,
    ) -> Parts {
        Parts {
            kind,
            operation,
            what: what.into(),
            status: None,
            code: None,
            message: None,
            request_id: None,
            headers: None,
            retry_after: None,
            attempts: 0,
            elapsed: Duration::ZERO,
            body: None,
            body_start: None,
            json_path: None,
            retryable: false,
            source: None,
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The service's code (SPEC §7), when it answered with an error of its shape.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// The HTTP status, whenever there was an answer; also when its body could not be read.
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// The service's sentence for a person, cut after 2,000 characters. Untrusted: it may hold
    /// control characters, which Display escapes.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The answer's `X-Request-Id`: quote it to the operator of the service.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long to wait before another try is worth it, when the service or the limiter said so.
    /// Of the service's `Retry-After` at most one hour counts.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Requests sent by this call; 0 when it failed before the first.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Time from the start of the call to this error, waits included.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// The operation, such as `submissions.list`.
    pub fn operation(&self) -> &'static str {
        self.0.operation.name
    }

    /// The template of the path, such as `/api/v1/forms/{form_id}/submissions`; empty when the
    /// client could not be built, and for a path of the caller's own.
    pub fn url_template(&self) -> &'static str {
        self.0.operation.template
    }

    /// The headers, whenever there was an answer; without the API key should the service have echoed
    /// it. Untrusted.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.0.headers.as_ref()
    }

    /// Up to 64 KiB of the body of an error (SPEC §7), or of a body that could not be used, without the
    /// API key. It may hold answers of submitters.
    pub fn body(&self) -> Option<&Bytes> {
        self.0.body.as_ref()
    }

    /// The answer's `Content-Type`, cut after 500 characters. Untrusted text, which Display escapes.
    pub fn content_type(&self) -> Option<&str> {
        self.0.content_type()
    }

    /// The beginning of a body that is no JSON, such as `<!doctype html>…`, escaped so that it can be
    /// printed. `None` when there is no body, or one that may contain answers of submitters.
    pub fn body_start(&self) -> Option<&str> {
        self.0.body_start.as_deref()
    }

    /// Where in the JSON a [`Decode`](ErrorKind::Decode) error lies, such as
    /// `data[3].created_at`, cut after 1,000 characters. Names in it may be the service's:
    /// untrusted text, which Display escapes.
    pub fn json_path(&self) -> Option<&str> {
        self.0.json_path.as_deref()
    }

    /// Why no connection was made, if this is an error of the built-in HTTP client's connection.
    pub fn connect_failure(&self) -> Option<&ConnectFailure> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// Whether the same call may succeed later with nothing changed on this side.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the service refused the key (401: missing, unknown or revoked).
    pub fn is_auth(&self) -> bool {
        self.0.status == Some(StatusCode::UNAUTHORIZED)
    }

    /// Whether the answer was a 404. One without a [`code`](Self::code) may be a gateway's page, which
    /// says nothing about what the service has.
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(StatusCode::NOT_FOUND)
    }

    /// Whether the rate limit is in the way: a 429, or a wait that would take too long.
    pub fn is_rate_limited(&self) -> bool {
        self.0.kind == ErrorKind::RateLimitWait
            || self.0.status == Some(StatusCode::TOO_MANY_REQUESTS)
    }
}

impl From<Parts> for Error {
    fn from(parts: Parts) -> Self {
        Self(Box::new(parts))
    }
}

impl Parts {
    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same without the API key, in whichever text the service echoed it. The request id, the
    /// body and the source are clean before they come here.
    pub(crate) fn redact(mut self, key: &ApiKey) -> Self {
        let clean = |text: Option<String>| text.map(|text| key.redact(text));
        self.what = match self.what {
            Cow::Owned(what) => key.redact(what).into(),
            ours @ Cow::Borrowed(_) => ours,
        };
        self.code = self.code.map(|code| key.redact(code.as_str().to_owned()).as_str().into());
        self.message = clean(self.message);
        self.json_path = clean(self.json_path);
        self
    }

    fn write_answer(&self, f: &mut fmt::Formatter<'_>, status: StatusCode) -> fmt::Result {
        if let (Some(code), Some(message)) = (&self.code, &self.message) {
            return write!(
                f,
                "{} {}: {}",
                status.as_u16(),
                Safe(short(code.as_str())),
                Safe(short(message))
            );
        }
        write!(f, "{status}")?;
        self.write_excerpt(f)
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.as_ref()?.get(CONTENT_TYPE)?.to_str().ok().map(short)
    }

    /// Writes the content type and the beginning of the body, so that a login page, a gateway's page or
    /// a compressed body is recognisable. JSON may contain answers of submitters and stays out of logs.
    fn write_excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.content_type(), &self.headers) {
            (Some(kind), _) => write!(f, ", content type `{}`", Safe(kind))?,
            (None, Some(_)) => f.write_str(", no content type")?,
            (None, None) => {}
        }
        match (&self.body_start, &self.body) {
            (Some(start), _) => write!(f, ", begins with `{start}`"),
            (None, Some(body)) if body.is_empty() => f.write_str(", empty body"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        write!(f, "{}: ", parts.operation.name)?;
        if let (ErrorKind::Api, Some(status)) = (parts.kind, parts.status) {
            parts.write_answer(f, status)?;
        } else {
            f.write_str(&parts.what)?;
        }
        if let (ErrorKind::Decode | ErrorKind::TooLarge, Some(status)) = (parts.kind, parts.status)
        {
            write!(f, ": status {}", status.as_u16())?;
            parts.write_excerpt(f)?;
        }
        let attempts = match parts.attempts {
            0 => return Ok(()),
            1 => "1 attempt".to_owned(),
            n => format!("{n} attempts"),
        };
        f.write_str(" (")?;
        if let Some(id) = &parts.request_id {
            write!(f, "request id {}, ", Safe(short(id)))?;
        }
        write!(f, "{attempts})")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        let mut out = f.debug_struct("Error");
        out.field("kind", &parts.kind).field("text", &format_args!("{self}"));
        if let Some(status) = parts.status {
            out.field("status", &status.as_u16());
        }
        if let Some(path) = &parts.json_path {
            out.field("json_path", &format_args!("`{}`", Safe(short(path))));
        }
        if let Some(wait) = parts.retry_after {
            out.field("retry_after", &wait);
        }
        // The parser's sentence may quote an answer.
        if let (Some(source), true) = (&parts.source, parts.kind != ErrorKind::Decode) {
            out.field("source", source);
        }
        out.finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
