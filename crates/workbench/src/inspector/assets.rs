//! The files of the page.

use axum::response::{IntoResponse as _, Response};
use http::header;

/// A file of the page.
pub(super) struct Asset {
    /// Path relative to the page.
    pub(super) path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

const fn asset(path: &'static str, content_type: &'static str, text: &'static str) -> Asset {
    Asset { path, content_type, text }
}

pub(super) static ASSETS: [Asset; 11] = [
    asset("", "text/html; charset=utf-8", include_str!("assets/page.html")),
    asset("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    asset("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    asset("main.js", SCRIPT, include_str!("assets/main.js")),
    asset("dom.js", SCRIPT, include_str!("assets/dom.js")),
    asset("text.js", SCRIPT, include_str!("assets/text.js")),
    asset("list.js", SCRIPT, include_str!("assets/list.js")),
    asset("live.js", SCRIPT, include_str!("assets/live.js")),
    asset("detail.js", SCRIPT, include_str!("assets/detail.js")),
    asset("body.js", SCRIPT, include_str!("assets/body.js")),
    asset("replay.js", SCRIPT, include_str!("assets/replay.js")),
];

impl Asset {
    pub(super) fn response(&self) -> Response {
        ([(header::CONTENT_TYPE, self.content_type)], self.text).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formsvc_protocol::{is_stray_selector, is_unsafe_in_terminals};

    use super::*;

    #[test]
    fn page_consists_of_its_own_files() {
        for asset in &ASSETS[1..] {
            let is_used = ASSETS.iter().any(|other| {
                other.text.contains(&format!("'./{}'", asset.path))
                    || other.text.contains(&format!("\"{}\"", asset.path))
            });
            assert!(is_used, "{} is not used", asset.path);
        }
        for Asset { path, content_type, text } in &ASSETS {
            for forbidden in ["https:", "@import", "eval(", "new Function", "javascript:"] {
                assert!(!text.contains(forbidden), "{path}: {forbidden}");
            }
            assert!(!(content_type.contains("css") && text.contains("url(")), "{path}");
        }
        // The content security policy blocks inline scripts, styles and event handlers.
        for inline in ["<script>", "<style", " style=", " onclick=", " onload="] {
            assert!(!ASSETS[0].text.contains(inline), "{inline}");
        }
    }

    #[test]
    fn scripts_create_no_markup_from_text() {
        for asset in ASSETS.iter().filter(|asset| asset.content_type == SCRIPT) {
            for sink in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "DOMParser",
                "setHTML",
                "createContextualFragment",
                "srcdoc",
            ] {
                assert!(!asset.text.contains(sink), "{}: {sink}", asset.path);
            }
        }
    }

    /// Returns the characters of a constant of `text.js` that contains the ranges of a character class. Surrogates are
    /// left out, because they are not characters in Rust.
    fn class(constant: &str) -> BTreeSet<char> {
        let text = ASSETS.iter().find(|asset| asset.path == "text.js").unwrap().text;
        let begin = format!("const {constant} = String.raw`");
        let ranges = text.split_once(&begin).unwrap().1.split_once('`').unwrap().0;
        let mut chars = BTreeSet::new();
        let mut range_start = None;
        for escape in ranges.split("\\u").skip(1) {
            let digits = escape.trim_end_matches('-').trim_matches(['{', '}']);
            let last = u32::from_str_radix(digits, 16).unwrap();
            let first = range_start.take().unwrap_or(last);
            chars.extend((first..=last).filter_map(char::from_u32));
            range_start = escape.ends_with('-').then_some(last);
        }
        chars
    }

    #[test]
    fn page_names_the_same_characters_as_the_terminal() {
        let [mut characters, mut joiners, selectors] =
            ["CHARACTERS", "JOINERS", "SELECTORS"].map(class);
        assert_eq!(joiners, BTreeSet::from(['\u{200c}', '\u{200d}']));
        characters.append(&mut joiners);
        // The page shows these as white space.
        characters.extend(['\t', '\n']);
        let expected = |is_expected: fn(char) -> bool| {
            ('\0'..=char::MAX).filter(move |c| is_expected(*c)).collect()
        };
        let difference = &characters ^ &expected(is_unsafe_in_terminals);
        assert_eq!(difference, BTreeSet::new());
        let difference = &selectors ^ &expected(|c| is_stray_selector(None, c));
        assert_eq!(difference, BTreeSet::new());
    }
}
