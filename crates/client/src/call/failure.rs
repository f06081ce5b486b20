//! A failed attempt, and the error that the call reports if it is the last one.

use std::borrow::Cow;
use std::time::Duration;

use formsvc_protocol::paths::REQUEST_ID;
use formsvc_protocol::{ErrorBody, ErrorCode};
use http::{HeaderMap, StatusCode};

use super::seconds;
use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::decode::{Broken, read};
use crate::error::{Error, ErrorKind, EscapedText, Parts, body_start, cut, head, keep, short};
use crate::operation::{BUILD, Operation};
use crate::retry::{FailureCause, Limits, RETRY_AFTER_MAX};
use crate::transport::{TransportError, TransportErrorKind};

/// Characters of a service's code, and of its message, that an error keeps.
const CODE_KEPT: usize = 100;
const MESSAGE_KEPT: usize = 2_000;
/// Characters of a JSON path that an error keeps. Names in the path may be foreign text.
const PATH_KEPT: usize = 1_000;

/// A failed attempt. Its headers do not contain the API key; [`Parts::redact`] removes it from the
/// texts.
pub(super) struct Failure {
    pub(super) cause: FailureCause,
    pub(super) retry_after: Option<Duration>,
    parts: Box<Parts>,
}

impl Failure {
    /// No complete answer. If its head was received and has an error status, the status counts:
    /// the body of a 404 is not worth a retry.
    pub(super) fn no_answer(
        error: TransportError,
        base: &BaseUrl,
        retry_after: impl FnOnce(&HeaderMap) -> Option<Duration>,
    ) -> Self {
        let TransportError { kind, source, head } = error;
        let what = match kind {
            TransportErrorKind::Connect | TransportErrorKind::ProxyAuth => {
                format!("{} to {}", kind.message(), base.as_str()).into()
            }
            TransportErrorKind::Tls => format!("{} with {}", kind.message(), base.as_str()).into(),
            _ => Cow::Borrowed(kind.message()),
        };
        let mut parts = Error::parts(error_kind(kind), BUILD, what);
        parts.source = source;
        let mut cause = FailureCause::Transport(kind);
        let mut wait = None;
        if let Some((status, headers)) = head.map(|head| *head) {
            parts.status = Some(status);
            parts.request_id = request_id(&headers);
            parts.headers = Some(headers.clone());
            if status != StatusCode::OK {
                cause = FailureCause::Status(status);
                parts.kind = ErrorKind::Api;
                wait = retry_after(&headers);
            }
        }
        Self { cause, retry_after: wait, parts: Box::new(parts) }
    }

    /// An answer with another status than 200.
    pub(super) fn refused(
        status: StatusCode,
        headers: &HeaderMap,
        retry_after: Option<Duration>,
        body: &[u8],
        key: &ApiKey,
    ) -> Self {
        let mut parts = parts_of_answer(ErrorKind::Api, "".into(), status, headers);
        let kept = keep(body, key);
        let text = std::str::from_utf8(head(body, key)).ok();
        if let Some(Ok(ErrorBody { error })) = text.map(read) {
            let code = key.redact(error.code.as_str().to_owned());
            parts.code = Some(cut(&code, CODE_KEPT).into());
            parts.message = Some(cut(&key.redact(error.message), MESSAGE_KEPT).to_owned());
        } else {
            parts.body_start = body_start(headers, &kept);
        }
        parts.body = Some(kept);
        Self { cause: FailureCause::Status(status), retry_after, parts: Box::new(parts) }
    }

    /// A 200 with an unusable body.
    pub(super) fn broken(
        status: StatusCode,
        headers: &HeaderMap,
        broken: Broken,
        key: &ApiKey,
    ) -> Self {
        // Redacted before the cut, which could leave half of a key.
        let path = broken.json_path.map(|path| cut(&key.redact(path), PATH_KEPT).to_owned());
        let what = match &path {
            Some(path) => format!("{} at `{}`", broken.what, EscapedText(short(path))).into(),
            None => broken.what,
        };
        let mut parts = parts_of_answer(ErrorKind::Decode, what, status, headers);
        parts.json_path = path;
        let kept = keep(&broken.body, key);
        parts.body_start = body_start(headers, &kept);
        parts.body = Some(kept);
        if !broken.why.is_empty() {
            let why = key.redact(broken.why);
            parts.source = Some(EscapedText(short(&why)).to_string().into());
        }
        let cause = if broken.truncated { FailureCause::Truncated } else { FailureCause::Broken };
        Self { cause, retry_after: None, parts: Box::new(parts) }
    }

    pub(super) fn status(&self) -> Option<StatusCode> {
        self.parts.status
    }

    pub(super) fn kind(&self) -> ErrorKind {
        self.parts.kind
    }

    /// The error of a final failure.
    pub(super) fn into_parts(self, operation: Operation) -> Parts {
        let retryable = self.cause.retry_reason().is_some();
        Parts { operation, retryable, retry_after: self.retry_after, ..*self.parts }
    }

    /// The error of a failure that requires a longer wait than the limits allow. A 429 becomes
    /// [`ErrorKind::RateLimitWait`]; any other failure keeps its kind.
    pub(super) fn too_long_a_wait(self, operation: Operation, limits: Limits) -> Parts {
        let throttled = self.cause == FailureCause::Status(StatusCode::TOO_MANY_REQUESTS);
        let mut parts = self.into_parts(operation);
        if throttled {
            parts.kind = ErrorKind::RateLimitWait;
            let code = parts.code.as_ref().map(ErrorCode::as_str).map(short);
            let code = code.map_or_else(String::new, |code| format!(" {}", EscapedText(code)));
            parts.what = format!("429{code}: {}", why_too_long(parts.retry_after, limits)).into();
        }
        parts
    }
}

/// Names the limit that does not allow the wait that a 429 requires.
fn why_too_long(asked: Option<Duration>, limits: Limits) -> String {
    let allowed = match limits.time_left {
        Some(left) if asked.is_none_or(|wait| wait <= limits.max_wait) => {
            format!("the call has {} left", seconds(left))
        }
        _ => format!("at most {} are allowed", seconds(limits.max_wait)),
    };
    match asked {
        // The exact value of a longer wait is not known here.
        Some(RETRY_AFTER_MAX) => {
            format!("the service asks for a wait of an hour or more, and {allowed}")
        }
        Some(wait) => format!("the service asks for a wait of {}, and {allowed}", seconds(wait)),
        None => format!("the rate limit is exceeded, and {allowed}, too little for a wait"),
    }
}

fn error_kind(kind: TransportErrorKind) -> ErrorKind {
    match kind {
        TransportErrorKind::Connect | TransportErrorKind::Tls | TransportErrorKind::ProxyAuth => {
            ErrorKind::Connect
        }
        TransportErrorKind::Timeout => ErrorKind::Timeout,
        TransportErrorKind::TooLarge => ErrorKind::TooLarge,
        TransportErrorKind::Interrupted | TransportErrorKind::Other => ErrorKind::Transport,
    }
}

fn parts_of_answer(
    kind: ErrorKind,
    what: Cow<'static, str>,
    status: StatusCode,
    headers: &HeaderMap,
) -> Parts {
    let mut parts = Error::parts(kind, BUILD, what);
    parts.status = Some(status);
    parts.request_id = request_id(headers);
    parts.headers = Some(headers.clone());
    parts
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    headers.get(REQUEST_ID)?.to_str().ok().map(str::to_owned)
}
