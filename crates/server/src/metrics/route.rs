//! `GET /metrics`, outside authorization and the rate limit, as the health probes are.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderValue, header};

use super::Metrics;
use crate::api::Trail;

const ROUTE: &str = "/metrics";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The route `/metrics`.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route(ROUTE, get(read)).with_state(metrics)
}

async fn read(State(metrics): State<Arc<Metrics>>) -> Response {
    let mut response = Response::new(Body::from(metrics.render()));
    let kind = HeaderValue::from_static(OPEN_METRICS);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.extensions_mut().insert(Trail { routine: true, ..Trail::of(ROUTE) });
    response
}
