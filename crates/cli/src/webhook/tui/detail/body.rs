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

/// A body, as it is shown.
pub(super) enum Shown<'a> {
    LaidOut(String),
    AsItCame(&'a str),
    Empty,
    /// Bytes that are not text, and how many.
    Bytes(usize),
}

impl<'a> Shown<'a> {
    /// Laid out where it is JSON, unless it is wanted as it came.
    pub(super) fn of(body: &'a [u8], raw: bool) -> Self {
        if body.is_empty() {
            return Self::Empty;
        }
        let laid_out = if raw || body.len() > LAID_OUT_MAX { None } else { pretty(body) };
        match (laid_out, body_text(body)) {
            (Some(text), _) => Self::LaidOut(text),
            (None, Some(text)) => Self::AsItCame(text),
            (None, None) => Self::Bytes(body.len()),
        }
    }

    /// How it is shown, behind its size.
    pub(super) fn how(&self) -> &'static str {
        match self {
            Self::LaidOut(_) => ", laid out",
            Self::AsItCame(_) => ", as it came",
            Self::Empty | Self::Bytes(_) => "",
        }
    }

    pub(super) fn write(&self, doc: &mut Doc) {
        match self {
            Self::LaidOut(text) => doc.text(text),
            Self::AsItCame(text) => doc.text(text),
            Self::Empty => doc.line(&[(Look::Past, "(empty)")]),
            Self::Bytes(count) => {
                doc.line(&[(Look::Past, &format!("({count} bytes that are not text)"))]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_body_is_shown_is_said_of_what_is_shown() {
        for (body, raw, how) in [
            (&b"{\"a\":1}"[..], false, ", laid out"),
            (b"{\"a\":1}", true, ", as it came"),
            (b"no JSON", false, ", as it came"),
            (b"\xff\0", false, ""),
            (b"", false, ""),
        ] {
            assert_eq!(Shown::of(body, raw).how(), how, "{body:?} {raw}");
        }
        let long = "[".repeat(LAID_OUT_MAX + 1);
        assert_eq!(Shown::of(long.as_bytes(), false).how(), ", as it came");
    }
}
