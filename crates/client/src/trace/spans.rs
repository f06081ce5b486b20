//! Spans of the `tracing` crate.

use std::borrow::Cow;

use tracing::field::{Empty, display};
use tracing::instrument::Instrumented;
use tracing::{Instrument, Span, info_span};

use super::Ending;
use crate::ErrorKind;
use crate::base_url::BaseUrl;
use crate::operation::Operation;

/// One call, its waits and retries included.
pub(crate) struct CallSpan(Span);

/// One request and its answer.
pub(crate) struct AttemptSpan(Span);

impl CallSpan {
    pub(crate) fn new(operation: Operation, base: &BaseUrl) -> Self {
        Self(info_span!(
            "formsvc.call",
            otel.kind = "internal",
            otel.name = operation.name,
            otel.status_code = Empty,
            http.request.method = "GET",
            server.address = base.host(),
            server.port = base.port(),
            url.template = operation.template,
            http.response.status_code = Empty,
            http.request.resend_count = Empty,
            error.type = Empty,
        ))
    }

    pub(crate) fn around<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.0.clone())
    }

    /// The span of attempt number `n`, from 1.
    pub(crate) fn attempt(&self, operation: Operation, base: &BaseUrl, n: u32) -> AttemptSpan {
        let span = info_span!(
            parent: &self.0,
            "formsvc.attempt",
            otel.kind = "client",
            otel.name = format_args!("GET {}", operation.template),
            otel.status_code = Empty,
            http.request.method = "GET",
            server.address = base.host(),
            server.port = base.port(),
            url.template = operation.template,
            http.response.status_code = Empty,
            http.request.resend_count = Empty,
            error.type = Empty,
        );
        record_resends(&span, n);
        AttemptSpan(span)
    }

    pub(crate) fn end(&self, attempts: u32, ending: Ending) {
        record_resends(&self.0, attempts);
        record_ending(&self.0, ending);
    }
}

impl AttemptSpan {
    pub(crate) fn around<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.0.clone())
    }

    pub(crate) fn end(&self, ending: Ending) {
        record_ending(&self.0, ending);
    }
}

fn record_resends(span: &Span, attempts: u32) {
    if attempts > 1 {
        span.record("http.request.resend_count", attempts - 1);
    }
}

fn record_ending(span: &Span, ending: Ending) {
    if span.is_disabled() {
        return;
    }
    if let Some(status) = ending.status {
        span.record("http.response.status_code", status.as_u16());
    }
    if let Some(kind) = ending.failure {
        span.record("error.type", display(error_type(kind, ending)));
        span.record("otel.status_code", "ERROR");
    }
}

/// An error status is its own type, as the conventions ask; anything else is named by its kind.
fn error_type(kind: ErrorKind, ending: Ending) -> Cow<'static, str> {
    match (kind, ending.status) {
        (ErrorKind::Api, Some(status)) => status.as_str().to_owned().into(),
        _ => kind.as_str().into(),
    }
}
