//! What every response has, whatever made it: a request id, the error shape, safe headers and one
//! log line. A handler that panics is answered like any other failure.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use formsvc_protocol::{ErrorCode, SubmissionId, paths};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Version, header};
use tower::Service;

use super::problem::{Problem, text_cause};
use super::trail::Trail;
use crate::causes::on_one_line;
use crate::dashboard;
use crate::metrics::Metrics;
use crate::public;
use crate::request_id::{RequestId, RequestIds};
use crate::response_budget::ResponseBudget;
#[cfg(feature = "otel")]
use crate::telemetry::otel;

/// Longest request target (path and query) that is looked at, in bytes.
const TARGET_MAX: usize = 8 * 1024;
/// Longest request line and header fields together, in bytes. A connection buffers about as much, and
/// gives up on a head of which it has not seen the end by then.
pub(crate) const HEAD_MAX: usize = 32 * 1024;
/// Largest request body that may be announced to a path that reads none, in bytes.
const BODY_MAX: u64 = 64 * 1024;
/// Below these paths bodies are read; the handlers there judge how long one may be.
const READING: &[&str] = &[public::PREFIX, dashboard::PREFIX];

const REQUEST_ID: HeaderName = HeaderName::from_static(paths::REQUEST_ID);

/// A router with the whole middleware stack around it. Cheap to clone.
///
/// One function instead of a layer for each duty: a request passes through one future and no boxes
/// of its own.
#[derive(Clone, Debug)]
pub struct Edge {
    router: Router,
    ids: Arc<RequestIds>,
    metrics: Arc<Metrics>,
    budget: ResponseBudget,
}

impl Edge {
    /// The stack around any router.
    pub fn new(router: Router) -> Self {
        let budget = ResponseBudget::default();
        Self { router, ids: Arc::new(RequestIds::new()), metrics: Metrics::new(), budget }
    }

    /// Has requests counted there, and not where nobody looks.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Gives large responses room in this budget instead of one of its own.
    #[must_use]
    pub fn with_budget(self, budget: ResponseBudget) -> Self {
        Self { budget, ..self }
    }

    /// Answers a request. Never panics and never fails.
    pub async fn answer<B>(&self, mut request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let made = self.ids.next();
        // For handlers whose work can be asked about later.
        request.extensions_mut().insert::<RequestId>(made);
        request.extensions_mut().insert(self.budget.clone());
        let id = made.header();
        let line = LogLine::begin(request.method(), made, &id, &self.metrics);
        let mut response = match refusal(&request) {
            Ok(()) => self.route(request).await,
            Err(problem) => problem.into_response(),
        };
        let trail = response.extensions_mut().remove::<Trail>();
        line.finish(response.status(), trail.as_ref());
        let headers = response.headers_mut();
        headers.insert(REQUEST_ID, id);
        // Answers are one caller's own: no cache may keep them.
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert_with(|| HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }

    async fn route<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut router = self.router.clone();
        let method = request.method().clone();
        let answer = async move { router.call(request.map(Body::new)).await };
        match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(Ok(response)) => in_error_shape(response, &method),
            Ok(Err(never)) => match never {},
            Err(panic) => {
                let cause = text_cause(format!("a handler panicked: {}", said(&*panic)));
                Trail::of("-").refuse(Problem::internal(cause))
            }
        }
    }
}

/// Refuses requests that are not even routed.
fn refusal<B>(request: &Request<B>) -> Result<(), Problem> {
    let headers = request.headers();
    let hosts = headers.get_all(header::HOST).iter().count();
    if request.version() == Version::HTTP_11 && hosts != 1 {
        return Err(Problem::bad_request("the request must have exactly one `Host` header"));
    }
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_MAX {
        return Err(Problem::bad_request(format!(
            "the path and query have {target} bytes, and at most {TARGET_MAX} are accepted"
        )));
    }
    let head = head_length(request);
    if head > HEAD_MAX {
        return Err(Problem::bad_request(format!(
            "the head of the request has {head} bytes, and at most {HEAD_MAX} are accepted"
        )));
    }
    let reads = READING.iter().any(|prefix| request.uri().path().starts_with(prefix));
    match announced_length(headers) {
        Some(length) if length > BODY_MAX && !reads => Err(Problem::new(
            ErrorCode::PayloadTooLarge,
            format!("the body has {length} bytes, and at most {BODY_MAX} are accepted"),
        )),
        _ => Ok(()),
    }
}

/// Bytes of the request line and the header fields, as they are usually written.
fn head_length<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + "  HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}

/// How long a body is said to be, in bytes.
pub(crate) fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Gives an error that something other than our handlers made the shape of SPEC §7. A response with a
/// trail is a handler's, which knows what its errors look like: some are pages.
fn in_error_shape(response: Response, method: &Method) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let json = response.headers().get(header::CONTENT_TYPE);
    let is_ours = response.extensions().get::<Trail>().is_some();
    if !is_error || is_ours || json.is_some_and(|json| json == "application/json") {
        return response;
    }
    let (parts, _) = response.into_parts();
    let problem = match parts.headers.get(header::ALLOW) {
        allow @ Some(_) if status == StatusCode::METHOD_NOT_ALLOWED => {
            Problem::method_not_allowed(method, allow)
        }
        _ => Problem::of_status(status),
    };
    let cause = problem.cause().cloned();
    let mut shaped = problem.into_response();
    *shaped.status_mut() = status;
    for name in [header::ALLOW, header::RETRY_AFTER] {
        if let Some(value) = parts.headers.get(&name) {
            shaped.headers_mut().insert(name, value.clone());
        }
    }
    shaped.extensions_mut().insert(Trail { cause, ..Trail::of("-") });
    shaped
}

/// What a panic said, if it can be told: a message that was formatted may hold answers.
fn said(panic: &(dyn std::any::Any + Send)) -> &'static str {
    panic.downcast_ref::<&'static str>().copied().unwrap_or("its message is withheld")
}

/// The log line of a request; a request whose client went away before the answer has one too.
struct LogLine<'a> {
    began: Instant,
    method: &'static str,
    #[cfg(feature = "otel")]
    made: RequestId,
    id: &'a HeaderValue,
    metrics: &'a Metrics,
    finished: bool,
}

impl<'a> LogLine<'a> {
    #[cfg_attr(not(feature = "otel"), expect(unused_variables, reason = "spans alone go by it"))]
    fn begin(method: &Method, made: RequestId, id: &'a HeaderValue, metrics: &'a Metrics) -> Self {
        Self {
            began: Instant::now(),
            method: name_of(method),
            #[cfg(feature = "otel")]
            made,
            id,
            metrics,
            finished: false,
        }
    }

    fn finish(mut self, status: StatusCode, trail: Option<&Trail>) {
        self.finished = true;
        let Self { method, .. } = self;
        let (route, key) =
            trail.map_or(("-", "-"), |t| (t.route, t.key.as_ref().map_or("-", |key| key.as_str())));
        self.metrics.request(route, Some(status));
        let status = status.as_u16();
        #[cfg(feature = "otel")]
        otel::request(self.made, method, route, Some(status), self.began.elapsed());
        let micros = self.micros();
        let id = self.id.to_str().unwrap_or_default();
        // Not in the line of a request that made none.
        let submission = trail.and_then(|trail| trail.submission.as_ref());
        let submission = submission.map(SubmissionId::as_str);
        if let Some(cause) = trail.and_then(|trail| trail.cause.as_ref()) {
            let cause = on_one_line(&**cause);
            tracing::error!(request_id = id, method, route, status, micros, key, cause, "request");
        } else if trail.is_some_and(|trail| trail.routine) {
            tracing::debug!(request_id = id, method, route, status, micros, key, "request");
        } else {
            tracing::info!(
                request_id = id,
                method,
                route,
                status,
                micros,
                key,
                submission,
                "request"
            );
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for LogLine<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.metrics.request("-", None);
            #[cfg(feature = "otel")]
            otel::request(self.made, self.method, "-", None, self.began.elapsed());
            let (id, micros) = (self.id.to_str().unwrap_or_default(), self.micros());
            tracing::info!(request_id = id, method = self.method, micros, "request abandoned");
        }
    }
}

/// The method, unless it is one nobody should use, which could be any text.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
