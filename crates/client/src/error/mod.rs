//! The error type of this crate.

mod causes;
mod excerpt;
mod kind;
mod redirect;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::ErrorCode;
use formsvc_protocol::paths::REQUEST_ID;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

pub(crate) use causes::causes;
pub(crate) use excerpt::{
    EscapedText, KEPT, body_start, cut, keep, looks_like_json, readable, short,
};
pub use kind::ErrorKind;
pub(crate) use redirect::Redirect;
use redirect::RedirectKind;

use crate::response::ResponseMeta;

/// The failure of a call.
///
/// Display names the failure, and [`source`](StdError::source) its cause; neither repeats the other.
/// Neither contains the API key, a URL with its query, or control characters of foreign text.
///
/// ```
/// use formsvc_client::{Client, ErrorKind};
/// let error = Client::builder().base_url("http://example.org").build().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Config);
/// assert!(error.to_string().starts_with("client.build: "));
/// ```
pub struct Error(pub(crate) Box<Parts>);

/// Everything known about a failure.
pub(crate) struct Parts {
    pub(crate) kind: ErrorKind,
    pub(crate) operation: &'static str,
    /// The text, for kinds that do not derive it from the response.
    pub(crate) what: Cow<'static, str>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) message: Option<String>,
    /// Without the API key.
    pub(crate) headers: Option<HeaderMap>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) attempts: u32,
    pub(crate) body: Option<Bytes>,
    /// The beginning of the body that the text of the error shows, sanitized.
    pub(crate) body_start: Option<String>,
    pub(crate) redirect: Option<Redirect>,
    pub(crate) json_path: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn parts(
        kind: ErrorKind,
        operation: &'static str,
        what: impl Into<Cow<'static, str>>,
    ) -> Parts {
        Parts {
            kind,
            operation,
            what: what.into(),
            status: None,
            code: None,
            message: None,
            headers: None,
            retry_after: None,
            attempts: 0,
            body: None,
            body_start: None,
            redirect: None,
            json_path: None,
            retryable: false,
            source: None,
        }
    }

    /// The error of a setting or an argument that breaks a rule.
    pub(crate) fn config(operation: &'static str, what: impl Into<Cow<'static, str>>) -> Self {
        Self::parts(ErrorKind::Config, operation, what).into()
    }

    /// Returns the source if it is a `T`.
    pub(crate) fn source_as<T: StdError + 'static>(&self) -> Option<&T> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The service's error code (SPEC §7), if the response contains one.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// The HTTP status, if there was a response, even if its body could not be read.
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// The service's message for people, cut after 2,000 characters. Untrusted: it may contain
    /// control characters, which Display escapes.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The response's `X-Request-Id`, for reports to the operator of the service.
    pub fn request_id(&self) -> Option<&str> {
        self.0.headers.as_ref()?.get(REQUEST_ID)?.to_str().ok()
    }

    /// The wait that the service or the limiter asks for before another try, at most one hour.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The number of requests that the call sent; 0 if it failed before the first.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// The operation, such as `submissions.list`.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The headers, if there was a response, without the API key. Untrusted.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.0.headers.as_ref()
    }

    /// Up to 64 KiB of the body of an error (SPEC §7), or of a body that could not be used, without the
    /// API key. It may contain answers of submitters.
    pub fn body(&self) -> Option<&Bytes> {
        self.0.body.as_ref()
    }

    /// The response's `Content-Type`, cut after 500 characters. Untrusted text, which Display escapes.
    pub fn content_type(&self) -> Option<&str> {
        self.0.headers.as_ref()?.get(CONTENT_TYPE)?.to_str().ok().map(short)
    }

    /// The beginning of a body that is not JSON, such as `<!doctype html>…`, escaped for printing.
    /// `None` without a body, and for a body that may contain answers of submitters.
    pub fn body_start(&self) -> Option<&str> {
        self.0.body_start.as_deref()
    }

    /// The target of a redirect, for a message: absolute, cut after 200 characters, and without user name,
    /// password, query and fragment. `None` if the response is no redirect, or has no valid `Location`.
    pub fn redirect_target(&self) -> Option<&str> {
        self.0.redirect.as_ref()?.target.as_deref()
    }

    /// True for a redirect to another scheme, host or port, to which the API key must not be sent.
    pub fn is_redirect_elsewhere(&self) -> bool {
        self.0.redirect.as_ref().is_some_and(|redirect| redirect.kind == RedirectKind::OtherOrigin)
    }

    /// The position of a [`Decode`](ErrorKind::Decode) or [`InvalidItem`](ErrorKind::InvalidItem) error in
    /// the JSON of the response, such as `data[3].created_at`, cut after 1,000 characters. Untrusted: names
    /// in it may come from the service; Display escapes them.
    pub fn json_path(&self) -> Option<&str> {
        self.0.json_path.as_deref()
    }

    /// True if the same call may succeed later without any change by the caller.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// True for a failure that [is retryable](Self::is_retryable), which
    /// [`RetryPolicy::classify`](crate::RetryPolicy::classify) may decide, for a rate limit, and for a status 5xx. A
    /// [`Follow`](crate::list::Follow) then waits and retries. False for TLS failures and a 407 of the proxy, unless
    /// `classify` accepts them.
    pub fn is_outage(&self) -> bool {
        let is_server_error = self.0.status.is_some_and(|status| status.is_server_error());
        self.is_retryable() || self.is_rate_limited() || is_server_error
    }

    /// True if the service refused the key (401: missing, unknown or revoked).
    pub fn is_auth(&self) -> bool {
        self.0.status == Some(StatusCode::UNAUTHORIZED)
    }

    /// True if the status is 404. Without a [`code`](Self::code), the response may be a gateway's page.
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(StatusCode::NOT_FOUND)
    }

    /// True for a 429, and for a wait for the rate limit that would take too long.
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
    pub(crate) fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Adds the head of the response.
    pub(crate) fn with_answer(mut self, status: StatusCode, headers: &HeaderMap) -> Self {
        self.status = Some(status);
        self.headers = Some(headers.clone());
        self
    }

    /// Adds the head and the attempts of a successful call.
    pub(crate) fn with_meta(self, meta: &ResponseMeta) -> Self {
        Self { attempts: meta.attempts(), ..self.with_answer(meta.status(), meta.headers()) }
    }
}

impl Error {
    fn write_answer(&self, f: &mut fmt::Formatter<'_>, status: StatusCode) -> fmt::Result {
        if let (Some(code), Some(message)) = (&self.0.code, &self.0.message) {
            let (code, message) = (EscapedText(short(code.as_str())), EscapedText(short(message)));
            return write!(f, "{} {code}: {message}", status.as_u16());
        }
        write!(f, "{status}")?;
        match &self.0.redirect {
            Some(redirect) => write!(f, "{redirect}"),
            None => self.write_excerpt(f),
        }
    }

    /// Returns the member that the JSON does not have, if that is the reason.
    fn missing_member(&self) -> Option<String> {
        let why = self.0.source.as_ref()?.to_string();
        let (member, _) = why.strip_prefix("missing field `")?.split_once('`')?;
        Some(member.to_owned())
    }

    /// Writes the content type and the beginning of the body, so that a login page, a gateway's page or
    /// a compressed body is recognisable. JSON may contain answers of submitters and stays out of logs.
    fn write_excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.content_type(), &self.0.headers) {
            (Some(kind), _) => write!(f, ", content type `{}`", EscapedText(kind))?,
            (None, Some(_)) => f.write_str(", no content type")?,
            (None, None) => {}
        }
        match (&self.0.body_start, &self.0.body) {
            (Some(start), _) => write!(f, ", begins with `{start}`"),
            (None, Some(body)) if body.is_empty() => f.write_str(", empty body"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        write!(f, "{}: ", parts.operation)?;
        if let (ErrorKind::Api, Some(status)) = (parts.kind, parts.status) {
            self.write_answer(f, status)?;
        } else {
            f.write_str(&parts.what)?;
        }
        if let (ErrorKind::Decode | ErrorKind::TooLarge, Some(status)) = (parts.kind, parts.status)
        {
            write!(f, ": status {}", status.as_u16())?;
            self.write_excerpt(f)?;
        }
        let attempts = match parts.attempts {
            0 => return Ok(()),
            1 => "1 attempt".to_owned(),
            n => format!("{n} attempts"),
        };
        f.write_str(" (")?;
        if let Some(id) = self.request_id() {
            write!(f, "request id {}, ", EscapedText(short(id)))?;
        }
        write!(f, "{attempts})")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        let mut out = f.debug_struct("Error");
        out.field("kind", &parts.kind).field("text", &format_args!("{self}"));
        if !matches!(parts.kind, ErrorKind::Decode | ErrorKind::InvalidItem) {
            out.field("source", &parts.source);
        } else if let Some(member) = self.missing_member() {
            // The parser's other messages may quote an answer.
            out.field("missing", &member);
        }
        out.finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
