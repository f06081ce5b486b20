//! `/`: nothing for a program, and for a person the way to the dashboard.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use http::header::{ACCEPT, VARY};
use http::{HeaderMap, HeaderValue, Method};

use crate::api::Problem;

/// Sends browsers on; all else is answered as any path where there is nothing.
pub(super) fn router() -> Router {
    Router::new().route("/", any(async |request: Request| answer(&request)))
}

fn answer(request: &Request) -> Response {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = if looks && wants_a_page(request.headers()) {
        Redirect::to("/dashboard").into_response()
    } else {
        Problem::nothing_at("/").into_response()
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Browsers name the type first of all; programs take anything.
fn wants_a_page(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        let mut types = value.split(',').map(|part| part.split(';').next().unwrap_or_default());
        types.any(|name| name.trim().eq_ignore_ascii_case("text/html"))
    })
}
