//! What a page of the dashboard may do in a browser: show itself, and send its forms here.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::{Digest, Sha256};

/// The style of every page.
const STYLE: &str = include_str!("../../templates/dashboard/style.css");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// No scripts, no frames, nothing from elsewhere.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'",
);

/// The route of the style.
pub(super) const STYLE_ROUTE: &str = "/dashboard/assets/{name}";

/// The name of the style, which changes with what is in it, so that browsers may keep it for good.
pub(super) static STYLE_NAME: LazyLock<String> = LazyLock::new(|| {
    let digest = hex::encode(Sha256::digest(STYLE.as_bytes()));
    format!("{}.css", &digest[..16])
});

/// The style.
pub(super) fn style() -> Response {
    let mut response = Response::new(Body::from(STYLE));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    response
}

/// What every response of the dashboard has.
pub(super) fn apply(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    // Not `no-referrer`: browsers then say of forms that they come from nowhere (Fetch, "append a request
    // `Origin` header"). Nobody else hears of an address either way.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE, HeaderValue::from_static("same-origin"));
    let no_store = || HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert_with(no_store);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::assert_stands_out;

    #[test]
    fn text_and_borders_stand_out_in_either_scheme() {
        let pairs = [
            ("text", "sheet", 7.0),
            ("text", "page", 7.0),
            ("text", "soft", 7.0),
            ("quiet", "sheet", 4.5),
            ("quiet", "page", 4.5),
            ("quiet", "soft", 4.5),
            ("link", "sheet", 4.5),
            ("link", "page", 4.5),
            ("link", "soft", 4.5),
            ("wrong", "sheet", 4.5),
            ("wrong", "wrong-sheet", 4.5),
            ("text", "wrong-sheet", 4.5),
            ("good", "good-sheet", 4.5),
            ("text", "good-sheet", 4.5),
            ("warn", "warn-sheet", 4.5),
            ("text", "warn-sheet", 4.5),
            ("on-accent", "accent", 4.5),
            ("on-danger", "danger", 4.5),
            ("accent", "sheet", 3.0),
            ("accent", "page", 3.0),
            ("line", "sheet", 3.0),
            ("line", "page", 3.0),
        ];
        assert_stands_out(STYLE, &pairs);
    }

    #[test]
    fn the_style_fetches_nothing() {
        for never in ["url(", "@import", "http:", "https:", "<"] {
            assert!(!STYLE.contains(never), "{never}");
        }
    }
}
