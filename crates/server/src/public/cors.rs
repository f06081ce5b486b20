//! Whose pages may send to a form, and what browsers are told about it.

use std::fmt;

use formsvc_protocol::ErrorCode;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use url::Url;

use crate::api::Problem;
use crate::printable::Excerpt;

/// How long browsers may keep what a preflight told them, in seconds.
const MAX_AGE: &str = "7200";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// An origin of pages, as browsers write it: `https://example.org`, `http://localhost:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Takes the address of a site without a path, `http` or `https`; else the rule it breaks, as the
    /// end of a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const RULE: &str =
            "must be the address of a site without a path, such as https://example.org";
        let url = Url::parse(text).map_err(|_| RULE)?;
        let plain = ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && !text.contains(['?', '#']);
        if plain { Ok(Self(url.origin().ascii_serialization())) } else { Err(RULE) }
    }

    /// As browsers write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What browsers are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cors {
    /// Pages of any origin may read the answer.
    Any,
    /// Pages of this origin may; other origins are answered otherwise.
    Only(HeaderValue),
    /// The answer is no other page's business, and would be another to another origin.
    Nobody,
}

impl Cors {
    /// Judges a request to a form that names the origins it takes submissions from, or none. A page
    /// of the service itself may always send, and so may what is no browser and names no origin.
    pub(super) fn judge(origins: Option<&[String]>, headers: &HeaderMap) -> (Self, bool) {
        let Some(origins) = origins else { return (Self::Any, true) };
        let Some(origin) = headers.get(header::ORIGIN) else { return (Self::Nobody, true) };
        if origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) {
            return (Self::Only(origin.clone()), true);
        }
        (Self::Nobody, is_own_page(origin, headers))
    }

    /// Adds the headers to an answer.
    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        let allowed = match self {
            Self::Any => Some(HeaderValue::from_static("*")),
            Self::Only(origin) => Some(origin.clone()),
            Self::Nobody => None,
        };
        if *self != Self::Any {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        let Some(allowed) = allowed else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        let exposed = HeaderValue::from_static("retry-after, x-request-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }

    /// Adds the headers to the answer of a preflight.
    pub(super) fn apply_preflight(&self, headers: &mut HeaderMap) {
        self.apply(headers);
        if *self == Self::Nobody {
            return;
        }
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, idempotency-key"),
            (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// 403 `origin_not_allowed`.
pub(super) fn refused(headers: &HeaderMap) -> Problem {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let origin = Excerpt(origin.unwrap_or("?")).to_string();
    let message = format!("this form takes nothing from pages of the origin `{origin}`");
    Problem::new(ErrorCode::OriginNotAllowed, message)
}

/// Whether a page of this service sends. Browsers say so; the host is compared for those that do not.
/// A page cannot make up any of these headers.
fn is_own_page(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin";
    }
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    authority.zip(host).is_some_and(|((_, authority), host)| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_site_as_browsers_write_it() {
        for (text, written) in [
            ("https://example.org", "https://example.org"),
            ("https://Example.ORG/", "https://example.org"),
            ("https://example.org:443", "https://example.org"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("https://exämple.org", "https://xn--exmple-cua.org"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(Origin::parse(text).unwrap().as_str(), written);
        }
        for bad in [
            "",
            "*",
            "null",
            "example.org",
            "ftp://example.org",
            "https://",
            "https://a.b/path",
            "https://a.b?",
            "https://a.b/#",
            "https://user@a.b",
            "https://a b",
            "file:///x",
            "data:,x",
        ] {
            assert!(Origin::parse(bad).is_err(), "{bad}");
        }
    }

    fn judged(origins: Option<&[&str]>, headers: &[(&'static str, &str)]) -> (Cors, bool) {
        let origins: Option<Vec<_>> =
            origins.map(|origins| origins.iter().map(|origin| (*origin).to_owned()).collect());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        Cors::judge(origins.as_deref(), &map)
    }

    #[test]
    fn without_a_list_any_page_may_send() {
        for origin in ["https://a.b", "null"] {
            assert_eq!(judged(None, &[("origin", origin)]), (Cors::Any, true));
        }
    }

    #[test]
    fn with_a_list_only_its_pages_and_our_own_may() {
        let list = Some(&["https://a.b", "https://c.d"][..]);
        let of = |headers: &[(&'static str, &str)]| judged(list, headers);
        let only = Cors::Only(HeaderValue::from_static("https://c.d"));
        assert_eq!(of(&[("origin", "https://c.d"), ("host", "f.g")]), (only, true));
        assert_eq!(of(&[("host", "f.g")]), (Cors::Nobody, true), "no browser");
        assert_eq!(of(&[("origin", "https://f.g"), ("host", "f.g")]), (Cors::Nobody, true));
        let own =
            [("origin", "https://f.g"), ("host", "inner:80"), ("sec-fetch-site", "same-origin")];
        assert_eq!(of(&own), (Cors::Nobody, true), "behind a proxy");
        for bad in ["https://a.b.evil", "http://a.b", "https://a.b:444", "null", "https://A.B"] {
            assert_eq!(of(&[("origin", bad), ("host", "f.g")]), (Cors::Nobody, false), "{bad}");
        }
        let cross = [("origin", "https://x.y"), ("host", "x.y"), ("sec-fetch-site", "cross-site")];
        assert_eq!(of(&cross), (Cors::Nobody, false), "the browser knows better");
    }

    #[test]
    fn answers_that_depend_on_the_origin_say_so() {
        let headers = |cors: Cors| {
            let mut headers = HeaderMap::new();
            cors.apply_preflight(&mut headers);
            headers
        };
        assert!(headers(Cors::Any).get("vary").is_none());
        assert_eq!(headers(Cors::Any)["access-control-allow-origin"], "*");
        assert!(headers(Cors::Any).get("access-control-allow-credentials").is_none());
        let only = headers(Cors::Only(HeaderValue::from_static("https://a.b")));
        assert_eq!(
            (&only["access-control-allow-origin"], &only["vary"]),
            (&HeaderValue::from_static("https://a.b"), &HeaderValue::from_static("Origin"))
        );
        assert_eq!(headers(Cors::Nobody).len(), 1);
    }
}
