//! The floor of pages: the same rows of the same store behind the same checks, read into values and
//! printed again.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use formsvc_protocol::{FormId, FormInstant, Page, Pagination, User};
use formsvc_server::api::{Api, Problem, Trail};
use formsvc_server::store::PageRequest;
use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::serve::ROUTE;

#[derive(Deserialize)]
pub(super) struct Parameters {
    limit: Option<u32>,
    cursor: Option<String>,
}

/// A submission as a program that knows no better holds it.
#[derive(Serialize, Deserialize)]
struct Item {
    id: String,
    data: serde_json::Map<String, serde_json::Value>,
    created_at: String,
}

pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Path(form): Path<String>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
) -> Response {
    let mut trail = Trail::of(ROUTE);
    let asked = |user: User| {
        let form = FormId::new(&form).map_err(|_| Problem::form_not_found())?;
        let before = parameters.cursor.as_deref().map(FormInstant::parse_cursor).transpose();
        let before = before.map_err(|why| Problem::bad_request(why.to_string()))?;
        Ok(PageRequest { user: user.id, form, before, limit: parameters.limit.unwrap_or(25) })
    };
    let answer = api.page(&headers, &mut trail, asked).await.and_then(|page| {
        let failed = |why: serde_json::Error| Problem::bad_request(why.to_string());
        let items = [b"[".as_slice(), &page.items, b"]"].concat();
        let data: Vec<Item> = serde_json::from_slice(&items).map_err(failed)?;
        let next_cursor = page.last.map(FormInstant::to_cursor);
        let pagination = Pagination { next_cursor, has_more: page.has_more };
        serde_json::to_vec(&Page { data, pagination }).map(Bytes::from).map_err(failed)
    });
    trail.close(answer)
}
