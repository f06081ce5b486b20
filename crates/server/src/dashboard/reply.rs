//! What goes back: a page, or the way to one.

use askama::Template;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use super::chrome::Chrome;
use super::refusal::Refusal;

/// What a handler gives.
pub(super) type Outcome = Result<Response, Refusal>;

/// A page.
pub(super) fn page(page: &impl Template) -> Outcome {
    page_with(StatusCode::OK, page)
}

/// A page with a status.
pub(super) fn page_with(status: StatusCode, page: &impl Template) -> Outcome {
    let mut response = Response::new(Body::from(page.render()?));
    *response.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    Ok(response)
}

/// 303: a form was sent, and there is a page to look at.
pub(super) fn redirect(to: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let home = || HeaderValue::from_static(super::next::HOME);
    let to = HeaderValue::try_from(to).unwrap_or_else(|_| home());
    response.headers_mut().insert(header::LOCATION, to);
    response
}

#[derive(Template)]
#[template(path = "dashboard/notice.html")]
struct NoticePage<'a> {
    chrome: &'a Chrome,
    heading: &'a str,
    text: &'a str,
}

/// A page that says one thing.
pub(super) fn notice(status: StatusCode, chrome: &Chrome, heading: &str, text: &str) -> Response {
    match page_with(status, &NoticePage { chrome, heading, text }) {
        Ok(response) => response,
        // The template writes to memory; there is nothing left to say.
        Err(_) => status.into_response(),
    }
}
