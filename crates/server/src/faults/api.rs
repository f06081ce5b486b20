//! What faults do to the REST API: a layer around its routes.

use std::io;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, Method, StatusCode, header};

use super::control;
use super::handle::Faults;
use super::page::{Asked, Wrong};
use super::table::Fault;
use crate::api::{Problem, Trail, text_cause};

/// Below this path requests are affected; health, metrics and the control of faults are not.
const API: &str = "/api/v1/";
const PORTAL: &str = "<!doctype html>\n<html><head><title>Sign in to the network</title></head>\n\
    <body><h1>Welcome</h1><p>Accept the terms to go on.</p></body></html>\n";

impl Faults {
    /// Puts the faults around the REST API of a router, and adds the endpoint that controls them.
    ///
    /// What has a rate limit, and who may ask, is judged inside: a request that a fault answers spends
    /// no quota.
    pub fn around(&self, router: Router) -> Router {
        let layer = middleware::from_fn_with_state(self.clone(), affect);
        router.layer(layer).merge(control::router(self.clone()))
    }
}

async fn affect(State(faults): State<Faults>, request: Request, next: Next) -> Response {
    if !faults.any() || !request.uri().path().starts_with(API) {
        return next.run(request).await;
    }
    if let Some(latency) = faults.duration(Fault::Latency) {
        tokio::time::sleep(latency).await;
    }
    if let Some(answer) = instead(&faults) {
        return answer;
    }
    let whole = request.method() == Method::GET;
    let answer = page(&faults, request, next).await;
    if whole && faults.meets(Fault::Truncated) { cut_short(answer).await } else { answer }
}

/// The answer of a fault that lets no request through.
fn instead(faults: &Faults) -> Option<Response> {
    let trail = Trail::of("-");
    if faults.meets(Fault::Errors) {
        let cause = text_cause("the fault `errors` is set".to_owned());
        return Some(trail.refuse(Problem::internal(cause)));
    }
    if let Some(seconds) = faults.seconds(Fault::RateLimited) {
        return Some(trail.refuse(Problem::rate_limited(seconds.into())));
    }
    faults.meets(Fault::Html).then(|| {
        let mut answer = Response::new(Body::from(PORTAL));
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, html);
        answer.extensions_mut().insert(trail);
        answer
    })
}

/// Passes a request on; a page comes back as the faults have it.
async fn page(faults: &Faults, mut request: Request, next: Next) -> Response {
    let Some(asked) = Asked::of(request.uri()) else { return next.run(request).await };
    if faults.is_set(Fault::DuplicateRows)
        && let Some(uri) = asked.with_the_last_row_again(request.uri())
    {
        *request.uri_mut() = uri;
    }
    let answer = next.run(request).await;
    let wrong = Wrong {
        empty: faults.is_set(Fault::EmptyPage),
        stuck: faults.is_set(Fault::StuckCursor),
        millis: faults.is_set(Fault::CursorMillis),
    };
    if wrong == Wrong::default() || answer.status() != StatusCode::OK {
        return answer;
    }
    let (parts, body) = whole(answer).await;
    let body = asked.spoil(&body, wrong).unwrap_or(body);
    Response::from_parts(parts, Body::from(body))
}

/// Promises the whole body and sends half of it.
async fn cut_short(answer: Response) -> Response {
    let (mut parts, body) = whole(answer).await;
    if body.is_empty() {
        return Response::from_parts(parts, Body::empty());
    }
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let half = body.slice(..body.len() / 2);
    let the_end = async {
        // What fails at once is not even begun to be sent.
        tokio::task::yield_now().await;
        Err(io::Error::from(io::ErrorKind::UnexpectedEof))
    };
    // A stream, since a body that knows its length would be held to the header.
    let half = stream::iter([Ok(half)]).chain(stream::once(the_end));
    Response::from_parts(parts, Body::from_stream(half))
}

async fn whole(answer: Response) -> (http::response::Parts, Bytes) {
    let (parts, body) = answer.into_parts();
    // Answers of the API are in memory already.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    (parts, body)
}
