//! `GET /api/v1/me`: the owner of the key.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use formsvc_protocol::paths;

use super::Api;
use super::trail::{Trail, json};

pub(super) const ROUTE: &str = paths::ME.template;

pub(super) async fn get(State(api): State<Arc<Api>>, request: Request) -> Response {
    let mut trail = Trail::of(ROUTE);
    let (parts, _) = request.into_parts();
    let answer = api.admit(&parts.headers, &mut trail).await.and_then(|user| json(&user));
    trail.close(answer)
}
