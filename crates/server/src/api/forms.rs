//! `GET /api/v1/forms`: the caller's forms, newest first.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use formsvc_protocol::{FormList, UserId, paths};
use http::request::Parts;

use super::Api;
use super::admission::within_deadline;
use super::problem::Problem;
use super::trail::{Trail, json};
use crate::response_budget::ResponseBudget;

pub(super) const ROUTE: &str = paths::FORMS.template;

pub(super) async fn list(State(api): State<Arc<Api>>, request: Request) -> Response {
    let mut trail = Trail::of(ROUTE);
    let (parts, _) = request.into_parts();
    let answer = forms(&api, &parts, &mut trail).await;
    trail.close(answer)
}

async fn forms(api: &Api, parts: &Parts, trail: &mut Trail) -> Result<Body, Problem> {
    let user = api.admit(&parts.headers, trail).await?;
    let list = read(api, &user.id).await?;
    let budget = ResponseBudget::of(&parts.extensions);
    let admitted = budget.admit(trail.key.as_ref(), list, read(api, &user.id)).await?;
    Ok(admitted.into_body())
}

async fn read(api: &Api, user: &UserId) -> Result<Response, Problem> {
    let list = FormList { data: within_deadline(api.store().forms(user)).await? };
    Ok(Response::new(json(&list)?.into()))
}
