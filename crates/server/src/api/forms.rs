//! `GET /api/v1/forms`: the caller's forms, newest first.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use formsvc_protocol::{FormList, paths};
use http::HeaderMap;

use super::Api;
use super::admission::within_deadline;
use super::problem::Problem;
use super::trail::{Trail, json};

pub(super) const ROUTE: &str = paths::FORMS.template;

pub(super) async fn list(State(api): State<Arc<Api>>, request: Request) -> Response {
    let mut trail = Trail::of(ROUTE);
    let (parts, _) = request.into_parts();
    let answer = forms(&api, &parts.headers, &mut trail).await;
    trail.close(answer)
}

async fn forms(api: &Api, headers: &HeaderMap, trail: &mut Trail) -> Result<Bytes, Problem> {
    let user = api.admit(headers, trail).await?;
    json(&FormList { data: within_deadline(api.store().forms(&user.id)).await? })
}
