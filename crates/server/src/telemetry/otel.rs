//! Traces for OpenTelemetry, behind the feature `otel`: OTLP over plain HTTP, to a collector.
//!
//! Requests, commits and attempts to deliver are each one span, told when they are over: nothing is
//! entered or carried along meanwhile. A request's id is its trace's id, and a submission has its
//! request's digits, so that a request and the attempts it led to are one trace, whichever process made
//! them and however long after. What a client says of a trace of its own, `traceparent`, is ignored, and
//! nothing is told to receivers: both are strangers.
//!
//! Spans have methods, templates of paths, statuses, codes and ids: no answer, key, address or URL.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Span, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, SdkTracerProvider};

use super::otel_client::CollectorClient;
use crate::request_id::RequestId;

/// Where spans go, once they go anywhere.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();
/// How long the last spans may take to reach the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Traces cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be exported")]
pub(crate) enum TracesError {
    /// The exporter was set up in a way it cannot work.
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// No thread, or no socket, could be had.
    Io(#[from] std::io::Error),
}

/// Sends what is still gathered when it is dropped.
#[derive(Debug)]
#[must_use = "spans that are still gathered are sent when this is dropped"]
pub(crate) struct Traces(SdkTracerProvider);

impl Drop for Traces {
    fn drop(&mut self) {
        // A collector that does not answer must not keep the service from ending.
        let _ = self.0.shutdown_with_timeout(FLUSH_TIMEOUT);
    }
}

/// Begins to export spans to where `OTEL_EXPORTER_OTLP_ENDPOINT` says, with the other variables of the
/// OpenTelemetry specification for services, headers and batches; `None` when it says nothing.
pub(crate) fn init() -> Result<Option<Traces>, TracesError> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
        .into_iter()
        .any(is_set)
    {
        return Ok(None);
    }
    let client = CollectorClient::new()?;
    let exporter = SpanExporter::builder().with_http().with_http_client(client).build()?;
    let mut resource = Resource::builder();
    if !is_set("OTEL_SERVICE_NAME") {
        resource = resource.with_service_name("formsvc-server");
    }
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_id_generator(Ids::default())
        .with_resource(resource.with_attribute(version).build())
        .build();
    // The first of a process counts.
    let _ = TRACER.set(provider.tracer("formsvc-server"));
    Ok(Some(Traces(provider)))
}

/// A request that was answered, or whose client went away: then there is no status.
pub(crate) fn request(
    id: RequestId,
    method: &'static str,
    route: &'static str,
    status: Option<u16>,
    took: Duration,
) {
    let Some(tracer) = TRACER.get() else { return };
    let mut attributes =
        vec![KeyValue::new("http.request.method", method), KeyValue::new("url.scheme", "http")];
    let name = match route {
        // A path that there is not: it is text of a stranger.
        "-" => method.to_owned(),
        route => {
            attributes.push(KeyValue::new("http.route", route));
            format!("{method} {route}")
        }
    };
    match status {
        Some(status) => {
            attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
            if status >= 500 {
                attributes.push(KeyValue::new("error.type", status.to_string()));
            }
        }
        None => attributes.push(KeyValue::new("error.type", "abandoned")),
    }
    let failed = status.is_none_or(|status| status >= 500);
    let span = Finished { name, kind: SpanKind::Server, attributes, failed, took };
    IDS_OF_REQUEST.set(Some(id));
    span.tell(tracer, &Context::new());
    IDS_OF_REQUEST.set(None);
}

/// One attempt to deliver.
pub(crate) struct AttemptSpan {
    /// The request that made the submission, if one did.
    pub(crate) request: Option<RequestId>,
    pub(crate) delivery: String,
    pub(crate) submission: String,
    pub(crate) status: Option<u16>,
    /// Why it failed; none when it did not.
    pub(crate) code: Option<&'static str>,
    pub(crate) took: Duration,
}

/// An attempt that is over: a child of the request that made the submission.
pub(crate) fn attempt(attempt: AttemptSpan) {
    let Some(tracer) = TRACER.get() else { return };
    let mut attributes = vec![
        KeyValue::new("http.request.method", "POST"),
        KeyValue::new("formsvc.delivery.id", attempt.delivery),
        KeyValue::new("formsvc.submission.id", attempt.submission),
    ];
    if let Some(status) = attempt.status {
        attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
    }
    if let Some(code) = attempt.code {
        attributes.push(KeyValue::new("error.type", code));
    }
    let parent = attempt.request.map_or_else(Context::new, |request| {
        let (trace, span) = ids_of(request);
        let request =
            SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
        Context::new().with_remote_span_context(request)
    });
    let (name, failed) = ("POST".to_owned(), attempt.code.is_some());
    let span = Finished { name, kind: SpanKind::Client, attributes, failed, took: attempt.took };
    span.tell(tracer, &parent);
}

/// A commit that was tried, of so many writes.
pub(crate) fn commit(writes: u32, succeeded: bool, took: Duration) {
    let Some(tracer) = TRACER.get() else { return };
    let attributes = vec![
        KeyValue::new("db.operation.name", "COMMIT"),
        KeyValue::new("db.operation.batch.size", i64::from(writes)),
    ];
    let (name, failed) = ("COMMIT".to_owned(), !succeeded);
    let span = Finished { name, kind: SpanKind::Client, attributes, failed, took };
    span.tell(tracer, &Context::new());
}

/// A span that is over.
struct Finished {
    name: String,
    kind: SpanKind,
    attributes: Vec<KeyValue>,
    failed: bool,
    took: Duration,
}

impl Finished {
    fn tell(self, tracer: &SdkTracer, parent: &Context) {
        let Self { name, kind, attributes, failed, took } = self;
        let end = SystemTime::now();
        let began = end.checked_sub(took).unwrap_or(end);
        let builder = SpanBuilder::from_name(name).with_kind(kind).with_start_time(began);
        let builder = builder.with_attributes(attributes);
        let mut span = tracer.build_with_context(builder, parent);
        if failed {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(end);
    }
}

thread_local! {
    /// The request whose span is about to begin on this thread.
    static IDS_OF_REQUEST: Cell<Option<RequestId>> = const { Cell::new(None) };
}

/// The ids that a request's trace and its span have.
fn ids_of(request: RequestId) -> (TraceId, SpanId) {
    let bits = request.bits();
    let [_, _, _, _, _, _, _, _, span @ ..] = bits;
    // Never all zero, which would be none.
    (TraceId::from_bytes(bits), SpanId::from(u64::from_be_bytes(span) | 1 << 63))
}

/// Ids of requests where there is one, and drawn ones elsewhere.
#[derive(Debug, Default)]
struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        IDS_OF_REQUEST.get().map_or_else(|| self.0.new_trace_id(), |request| ids_of(request).0)
    }

    fn new_span_id(&self) -> SpanId {
        IDS_OF_REQUEST.get().map_or_else(|| self.0.new_span_id(), |request| ids_of(request).1)
    }
}
