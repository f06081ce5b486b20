//! A failed attempt, and the error that the call reports if it is the last one.

use std::borrow::Cow;
use std::time::Duration;

use formsvc_protocol::{ErrorBody, ErrorCode, RETRY_AFTER_MAX};
use http::response::Parts as Head;
use http::{HeaderMap, StatusCode, Uri};

use super::{Call, seconds};
use crate::RetryPolicy;
use crate::decode::{Broken, read};
use crate::error::{
    Error, ErrorKind, EscapedText, Parts, Redirect, body_start, cut, keep, readable, short,
};
use crate::retry::{Limits, RetryReason, retry_after};
use crate::transport::{TransportError, TransportErrorKind};

/// Characters of a service's code, and of its message, that an error keeps.
const CODE_KEPT: usize = 100;
const MESSAGE_KEPT: usize = 2_000;
/// Characters of a JSON path that an error keeps. Names in the path may be foreign text.
const PATH_KEPT: usize = 1_000;

/// A failed attempt. Contains the API key nowhere, also if the service echoed it.
pub(super) struct Failure {
    pub(super) error: Error,
    /// `None` if a retry cannot help.
    pub(super) retry: Option<RetryReason>,
}

impl Failure {
    fn new(mut parts: Parts, retry: Option<RetryReason>) -> Self {
        parts.retryable = retry.is_some();
        Self { error: parts.into(), retry }
    }

    /// Completes the error with the number of attempts, and lets the caller's policy decide whether a
    /// retry can help.
    pub(super) fn classify(&mut self, policy: &RetryPolicy, attempts: u32) {
        self.error.0.attempts = attempts;
        let Some(classify) = &policy.classify else { return };
        let retryable = (classify.0)(&self.error);
        self.error.0.retryable = retryable;
        self.retry = retryable.then(|| self.retry.unwrap_or(RetryReason::Policy));
    }

    /// The error of a failure that requires a longer wait than the limits allow. A 429 becomes
    /// [`ErrorKind::RateLimitWait`]; any other failure keeps its kind.
    pub(super) fn too_long_a_wait(mut self, limits: Limits) -> Error {
        let parts = &mut self.error.0;
        if self.retry.is_some_and(RetryReason::is_rate_limit) {
            parts.kind = ErrorKind::RateLimitWait;
            let code = parts.code.as_ref().map(ErrorCode::as_str).map(short);
            let code = code.map_or_else(String::new, |code| format!(" {}", EscapedText(code)));
            parts.what = format!("429{code}: {}", why_too_long(parts.retry_after, limits)).into();
        }
        self.error
    }
}

impl<D> Call<'_, D> {
    /// No complete response. If its head was received and has an error status, the status counts:
    /// the body of a 404 is not worth a retry.
    pub(super) fn no_answer(&self, uri: &Uri, error: TransportError) -> Failure {
        let TransportError { kind, source, head } = error;
        let (error_kind, message, _) = kind.row();
        let base = self.shared.base.as_str();
        let what = match kind {
            TransportErrorKind::Connect | TransportErrorKind::ProxyAuth => {
                format!("{message} to {base}").into()
            }
            TransportErrorKind::Tls => format!("{message} with {base}").into(),
            _ => Cow::Borrowed(message),
        };
        let mut parts = Error::parts(error_kind, self.operation, what);
        let mut retry = RetryReason::of_transport(kind);
        if let Some((status, headers)) = head.map(|head| *head) {
            if status != StatusCode::OK {
                parts.kind = ErrorKind::Api;
                retry = RetryReason::of_status(status);
                parts.redirect = Redirect::read(status, &headers, &uri.to_string());
                parts.retry_after = self.retry_after(&headers);
            }
            parts = parts.with_answer(status, &headers);
        }
        parts.source = source;
        Failure::new(parts, retry)
    }

    /// A response with another status than 200.
    pub(super) fn refused(&self, uri: &Uri, head: &Head, body: &[u8]) -> Failure {
        let Head { status, headers, .. } = head;
        let key = &self.shared.key;
        let parts = Error::parts(ErrorKind::Api, self.operation, "");
        let mut parts = parts.with_answer(*status, headers);
        parts.retry_after = self.retry_after(headers);
        parts.redirect = Redirect::read(*status, headers, &uri.to_string());
        let kept = keep(body, key);
        let text = std::str::from_utf8(readable(body, key)).ok();
        if let Some(Ok(ErrorBody { error })) = text.map(read) {
            let code = key.redact(error.code.as_str().to_owned());
            parts.code = Some(cut(&code, CODE_KEPT).into());
            parts.message = Some(cut(&key.redact(error.message), MESSAGE_KEPT).to_owned());
        } else {
            parts.body_start = body_start(headers, &kept);
        }
        parts.body = Some(kept);
        Failure::new(parts, RetryReason::of_status(*status))
    }

    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        retry_after(headers, (self.shared.settings.clock)())
    }

    /// A 200 with an unusable body.
    pub(super) fn broken(&self, head: &Head, body: &[u8], broken: Broken) -> Failure {
        let key = &self.shared.key;
        // Redacted before the cut, which could leave half of a key.
        let path = broken.json_path.map(|path| cut(&key.redact(path), PATH_KEPT).to_owned());
        let what = match &path {
            Some(path) => format!("{} at `{}`", broken.what, EscapedText(short(path))).into(),
            None => broken.what,
        };
        let parts = Error::parts(ErrorKind::Decode, self.operation, what);
        let mut parts = parts.with_answer(head.status, &head.headers);
        parts.json_path = path;
        let kept = keep(body, key);
        parts.body_start = body_start(&head.headers, &kept);
        parts.body = Some(kept);
        if !broken.why.is_empty() {
            let why = key.redact(broken.why);
            parts.source = Some(EscapedText(short(&why)).to_string().into());
        }
        Failure::new(parts, broken.truncated.then_some(RetryReason::Truncated))
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
        Some(wait) => {
            // The exact value of a longer wait is not known here.
            let more = if wait == RETRY_AFTER_MAX { " or more" } else { "" };
            format!("the service asks for a wait of {}{more}, and {allowed}", seconds(wait))
        }
        None => format!("the rate limit is exceeded, and {allowed}, too little for a wait"),
    }
}
