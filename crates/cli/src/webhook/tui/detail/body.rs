//! Headers and bodies, as they may be shown.

use http::HeaderMap;

use crate::output::Look;
use crate::pretty::pretty;
use crate::webhook::kept::body_text;
use crate::webhook::mask;
use crate::webhook::tui::doc::Doc;

/// Longest body that is laid out, in bytes.
const LAID_OUT_MAX: usize = 4 << 20;

/// The headers, without what somebody could replay or get in with.
pub(super) fn headers(doc: &mut Doc, headers: &HeaderMap, reveal: bool) {
    for (name, value) in &mask::headers(headers, reveal) {
        doc.pair(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
}

/// A body: laid out where it is JSON, unless it is wanted as it came.
pub(super) fn body(doc: &mut Doc, body: &[u8], raw: bool) {
    if body.is_empty() {
        doc.line(&[(Look::Past, "(empty)")]);
        return;
    }
    let laid_out = if raw || body.len() > LAID_OUT_MAX { None } else { pretty(body) };
    match (laid_out, body_text(body)) {
        (Some(text), _) => doc.text(&text),
        (None, Some(text)) => doc.text(text),
        (None, None) => {
            let text = format!("({} bytes that are not text)", body.len());
            doc.line(&[(Look::Past, &text)]);
        }
    }
}

/// What is said above a body.
pub(super) fn title(body: &[u8], raw: bool) -> String {
    let how = if raw { "as it came" } else { "laid out" };
    format!("Body, {} bytes, {how}", body.len())
}
