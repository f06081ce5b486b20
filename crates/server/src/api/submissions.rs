//! `GET /api/v1/forms/{form_id}/submissions`: a page of a form, newest first.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use formsvc_protocol::paths;
use http::request::Parts;

use super::Api;
use super::admission::within_deadline;
use super::parameters::{PageParameters, form_of};
use super::problem::Problem;
use super::trail::Trail;
use crate::store::{PageRequest, StoredPage};

pub(super) const ROUTE: &str = paths::SUBMISSIONS.template;

pub(super) async fn list(State(api): State<Arc<Api>>, request: Request) -> Response {
    let mut trail = Trail::of(ROUTE);
    let (parts, _) = request.into_parts();
    let answer = page(&api, &parts, &mut trail).await;
    trail.close(answer)
}

async fn page(api: &Api, parts: &Parts, trail: &mut Trail) -> Result<Bytes, Problem> {
    let user = api.admit(&parts.headers, trail).await?;
    let PageParameters { limit, before } = PageParameters::parse(parts.uri.query())?;
    let form = form_of(parts.uri.path())?;
    let request = PageRequest { user: user.id, form, before, limit };
    let page = within_deadline(api.store().page(request)).await?;
    page.as_ref().map(render).ok_or_else(Problem::form_not_found)
}

/// The body of a page. The submissions go in as the text they are stored as: nothing is parsed or
/// printed again, so that numbers, key order and repeats stay as they were accepted.
fn render(page: &StoredPage) -> Bytes {
    let cursor = page.last.map(formsvc_protocol::FormInstant::to_cursor);
    let mut body = BytesMut::with_capacity(page.items.len() + 96);
    body.put_slice(br#"{"data":["#);
    body.put_slice(&page.items);
    body.put_slice(br#"],"pagination":{"next_cursor":"#);
    match cursor {
        // Digits and punctuation of a printed instant, nothing that JSON escapes.
        Some(cursor) => {
            body.put_u8(b'"');
            body.put_slice(cursor.as_str().as_bytes());
            body.put_u8(b'"');
        }
        None => body.put_slice(b"null"),
    }
    body.put_slice(br#","has_more":"#);
    body.put_slice(if page.has_more { b"true}}" } else { b"false}}" });
    body.freeze()
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::FormInstant;

    use super::*;

    #[test]
    fn items_are_spliced_as_they_are() {
        let page = StoredPage {
            items: Bytes::from_static(br#"{"id":"a","data":{"n":1.50}},{"id":"b","data":{}}"#),
            len: 2,
            last: Some(FormInstant::from_micros(1_767_225_600_120_001)),
            has_more: true,
        };
        assert_eq!(
            render(&page),
            r#"{"data":[{"id":"a","data":{"n":1.50}},{"id":"b","data":{}}],"pagination":{"next_cursor":"2026-01-01T00:00:00.120001Z","has_more":true}}"#
        );
    }

    #[test]
    fn an_empty_page_has_no_cursor() {
        let page = StoredPage { items: Bytes::new(), len: 0, last: None, has_more: false };
        assert_eq!(
            render(&page),
            r#"{"data":[],"pagination":{"next_cursor":null,"has_more":false}}"#
        );
    }
}
