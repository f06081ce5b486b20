//! The page and what it consists of. Nothing comes from elsewhere.

use axum::body::Body;
use http::{HeaderValue, Response, header};

/// A file of the page.
struct Asset {
    /// Below the token.
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

const fn script(path: &'static str, text: &'static str) -> Asset {
    Asset { path, kind: SCRIPT, text }
}

/// Every file there is.
const ASSETS: &[Asset] = &[
    Asset { path: "", kind: "text/html; charset=utf-8", text: include_str!("assets/page.html") },
    Asset {
        path: "style.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("assets/style.css"),
    },
    Asset { path: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
    script("main.js", include_str!("assets/main.js")),
    script("dom.js", include_str!("assets/dom.js")),
    script("text.js", include_str!("assets/text.js")),
    script("list.js", include_str!("assets/list.js")),
    script("live.js", include_str!("assets/live.js")),
    script("detail.js", include_str!("assets/detail.js")),
    script("body.js", include_str!("assets/body.js")),
    script("replay.js", include_str!("assets/replay.js")),
];

/// A file of the page.
pub(super) fn asset(path: &str) -> Option<Response<Body>> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let mut response = Response::new(Body::from(asset.text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_consists_of_its_own_files_alone() {
        let page = ASSETS[0].text;
        for asset in &ASSETS[1..] {
            let imports = ASSETS.iter().any(|other| {
                other.text.contains(&format!("'./{}'", asset.path))
                    || other.text.contains(&format!("\"{}\"", asset.path))
            });
            assert!(imports, "{} is asked for by nothing", asset.path);
        }
        for asset in ASSETS {
            for never in ["https:", "@import", "eval(", "new Function", "javascript:"] {
                assert!(!asset.text.contains(never), "{}: {never}", asset.path);
            }
            assert!(!(asset.kind.contains("css") && asset.text.contains("url(")), "{}", asset.path);
        }
        // What its policy would refuse.
        for never in ["<script>", "<style", " style=", " onclick=", " onload="] {
            assert!(!page.contains(never), "{never}");
        }
    }

    #[test]
    fn no_script_makes_markup_of_text() {
        for asset in ASSETS.iter().filter(|asset| asset.kind == SCRIPT) {
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
}
