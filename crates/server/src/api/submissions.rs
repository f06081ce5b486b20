//! `GET /api/v1/forms/{form_id}/submissions`: a page of a form, newest first.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use formsvc_protocol::{User, paths};
use http::request::Parts;

use super::Api;
use super::admission::within_deadline;
use super::parameters::{PageParameters, form_of};
use super::pieces::Pieces;
use super::problem::Problem;
use super::trail::Trail;
use crate::response_budget::ResponseBudget;
use crate::store::{PageRequest, StoredPage};

pub(super) const ROUTE: &str = paths::SUBMISSIONS.template;

pub(super) async fn list(State(api): State<Arc<Api>>, request: Request) -> Response {
    let mut trail = Trail::of(ROUTE);
    let (parts, _) = request.into_parts();
    let answer = page(&api, &parts, &mut trail).await;
    trail.close(answer)
}

async fn page(api: &Api, parts: &Parts, trail: &mut Trail) -> Result<Body, Problem> {
    let mut wanted = None;
    let asked = |user: User| {
        let PageParameters { limit, before } = PageParameters::parse(parts.uri.query())?;
        let form = form_of(parts.uri.path())?;
        Ok(wanted.insert(PageRequest { user: user.id, form, before, limit }).clone())
    };
    let page = api.page(&parts.headers, trail, asked).await?;
    let again = async {
        // A page without its request was refused above.
        let request = wanted.ok_or_else(Problem::form_not_found)?;
        let page = within_deadline(api.store().page(request)).await?;
        page.map(respond).ok_or_else(Problem::form_not_found)
    };
    let budget = ResponseBudget::of(&parts.extensions);
    budget.admit(trail.key.as_ref(), respond(page), again).await.map(Response::into_body)
}

fn respond(page: StoredPage) -> Response {
    Response::new(render(page))
}

/// The body of a page. The submissions go in as the text they are stored as: nothing is parsed or
/// printed again, so that numbers, key order and repeats stay as they were accepted. They are not even
/// copied: a page is three pieces.
fn render(page: StoredPage) -> Body {
    let cursor = page.last.map(formsvc_protocol::FormInstant::to_cursor);
    let mut end = BytesMut::with_capacity(96);
    end.put_slice(br#"],"pagination":{"next_cursor":"#);
    match cursor {
        // Digits and punctuation of a printed instant, nothing that JSON escapes.
        Some(cursor) => {
            end.put_u8(b'"');
            end.put_slice(cursor.as_str().as_bytes());
            end.put_u8(b'"');
        }
        None => end.put_slice(b"null"),
    }
    end.put_slice(br#","has_more":"#);
    end.put_slice(if page.has_more { b"true}}" } else { b"false}}" });
    let begin = Bytes::from_static(br#"{"data":["#);
    Body::new(Pieces::new([begin, page.items, end.freeze()]))
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::FormInstant;

    use super::*;

    async fn text(body: Body) -> Bytes {
        axum::body::to_bytes(body, usize::MAX).await.unwrap()
    }

    #[tokio::test]
    async fn items_are_spliced_as_they_are() {
        let page = StoredPage {
            items: Bytes::from_static(br#"{"id":"a","data":{"n":1.50}},{"id":"b","data":{}}"#),
            len: 2,
            last: Some(FormInstant::from_micros(1_767_225_600_120_001)),
            has_more: true,
        };
        assert_eq!(
            text(render(page)).await,
            r#"{"data":[{"id":"a","data":{"n":1.50}},{"id":"b","data":{}}],"pagination":{"next_cursor":"2026-01-01T00:00:00.120001Z","has_more":true}}"#
        );
    }

    #[tokio::test]
    async fn an_empty_page_has_no_cursor() {
        let page = StoredPage { items: Bytes::new(), len: 0, last: None, has_more: false };
        assert_eq!(
            text(render(page)).await,
            r#"{"data":[],"pagination":{"next_cursor":null,"has_more":false}}"#
        );
    }
}
