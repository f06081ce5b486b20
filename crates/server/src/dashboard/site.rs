//! Where browsers find the dashboard, and whether they may use it from where they are.
//!
//! Passwords and sessions are not to travel in the clear. Behind a proxy that brings TLS the operator
//! names the address that browsers see, and it begins with `https://`. Without that only this machine
//! may use the dashboard, by a name that means this machine, unless the operator says otherwise.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, header};
use url::Url;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Where browsers find the service.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The origin that browsers see, such as `https://forms.example.org`; without it, that of the
    /// request's `Host`, by http.
    origin: Option<String>,
    is_https: bool,
    /// Whether anybody may sign in in the clear.
    allow_plain_http: bool,
}

/// A text is no address of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address without a path, such as https://forms.example.org")]
pub struct NotASite;

impl Site {
    /// A service at an address that browsers see: `https://…` or `http://…`, with nothing after the
    /// host and port.
    pub fn at(url: &str) -> Result<Self, NotASite> {
        let url = Url::parse(url).map_err(|_| NotASite)?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_named = url.username().is_empty() && url.password().is_none() && url.has_host();
        if !bare || !is_named || !["http", "https"].contains(&url.scheme()) {
            return Err(NotASite);
        }
        let origin = url.origin().ascii_serialization();
        Ok(Self {
            origin: Some(origin),
            is_https: url.scheme() == "https",
            allow_plain_http: false,
        })
    }

    /// The same, where anybody may sign in in the clear.
    #[must_use]
    pub fn in_the_clear(self) -> Self {
        Self { allow_plain_http: true, ..self }
    }

    /// The address that browsers see, without a slash at its end; `None` when nobody said.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// Whether browsers reach it by https, as far as is known.
    pub(super) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whether nobody can sign in at the address that browsers see, which is plain http to another machine.
    pub fn refuses_everybody(&self) -> bool {
        let is_elsewhere = |origin: &String| {
            origin.strip_prefix("http://").is_some_and(|host| !is_this_machine(host))
        };
        !self.allow_plain_http && self.origin.as_ref().is_some_and(is_elsewhere)
    }

    /// Whether passwords and sessions are safe on the way from a browser at this address.
    pub(super) fn admits(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        if self.is_https || self.allow_plain_http {
            return true;
        }
        // A page of another site whose name was made to mean this machine has that name as its host.
        peer.to_canonical().is_loopback() && host(headers).is_some_and(is_this_machine)
    }

    /// The address of the service as a browser that sent this would have it.
    pub(super) fn address(&self, headers: &HeaderMap) -> String {
        match &self.origin {
            Some(origin) => origin.clone(),
            None => format!("http://{}", host(headers).unwrap_or_default()),
        }
    }

    /// Whether a form was sent by a page of ours. Browsers say where from, in one of two headers; who
    /// says nothing is not believed.
    pub(super) fn sent_it(&self, headers: &HeaderMap) -> bool {
        let text = |name| {
            let mut values = headers.get_all(name).iter();
            let first = values.next().map(|value| value.to_str().unwrap_or("?"));
            if values.next().is_some() { Some("?") } else { first }
        };
        let (site, origin) = (text(FETCH_SITE), text(header::ORIGIN));
        let is_ours = |origin: &str| origin == self.address(headers);
        match (site, origin) {
            (Some("same-origin"), None | Some("null")) => true,
            (Some("same-origin") | None, Some(origin)) => is_ours(origin),
            _ => false,
        }
    }
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// Whether a host, with or without a port, means this machine on every machine.
fn is_this_machine(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let mut headers = HeaderMap::new();
        for (name, value) in pairs.iter().map(pair) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn an_address_is_an_origin_and_nothing_more() {
        for (text, origin) in [
            ("https://Forms.example.org", "https://forms.example.org"),
            ("https://forms.example.org:443/", "https://forms.example.org"),
            ("https://forms.example.org:8443", "https://forms.example.org:8443"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(Site::at(text).unwrap().origin(), Some(origin));
        }
        for bad in [
            "",
            "forms.example.org",
            "ftp://a.b",
            "https://a.b/c",
            "https://a.b/?c",
            "https://a.b/#c",
            "https://u@a.b",
            "https://",
            "javascript:alert(1)",
        ] {
            assert_eq!(Site::at(bad).unwrap_err(), NotASite, "{bad}");
        }
    }

    #[test]
    fn in_the_clear_only_this_machine_is_admitted_by_a_name_of_its_own() {
        let (here, there) = ("127.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap());
        let plain = Site::default();
        for host in ["localhost:8080", "127.0.0.1", "[::1]:80", "a.localhost", "127.9.9.9:1"] {
            assert!(plain.admits(here, &headers(&[("host", host)])), "{host}");
            assert!(!plain.admits(there, &headers(&[("host", host)])), "{host}");
        }
        for host in ["forms.example.org", "localhost.example.org", "0.0.0.0", "", "[::2]", "a b"] {
            assert!(!plain.admits(here, &headers(&[("host", host)])), "{host}");
        }
        let host = headers(&[("host", "forms.example.org")]);
        assert!(Site::at("https://forms.example.org").unwrap().admits(there, &host));
        assert!(!Site::at("http://forms.example.org").unwrap().admits(there, &host));
        assert!(Site::default().in_the_clear().admits(there, &host));
    }

    #[test]
    fn an_address_in_the_clear_elsewhere_is_one_where_nobody_signs_in() {
        let at = |url| Site::at(url).unwrap();
        assert!(at("http://forms.example.org").refuses_everybody());
        assert!(!at("http://forms.example.org").in_the_clear().refuses_everybody());
        for good in ["https://forms.example.org", "http://127.0.0.1:80", "http://localhost:8080"] {
            assert!(!at(good).refuses_everybody(), "{good}");
        }
        assert!(!Site::default().refuses_everybody());
    }

    #[test]
    fn a_form_is_taken_from_pages_of_ours_only() {
        let site = Site::at("https://forms.example.org").unwrap();
        let ours = ("origin", "https://forms.example.org");
        for good in [
            &[ours][..],
            &[ours, ("sec-fetch-site", "same-origin")],
            // What browsers say of pages that hide where they are.
            &[("origin", "null"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "same-origin")],
        ] {
            assert!(site.sent_it(&headers(good)), "{good:?}");
        }
        for bad in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "https://evil.example")],
            &[("origin", "https://forms.example.org.evil.example")],
            &[("origin", "http://forms.example.org")],
            &[ours, ("origin", "https://evil.example")],
            &[ours, ("sec-fetch-site", "cross-site")],
            &[ours, ("sec-fetch-site", "same-site")],
            &[ours, ("sec-fetch-site", "none")],
            &[("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "same-origin")],
        ] {
            assert!(!site.sent_it(&headers(bad)), "{bad:?}");
        }
        let plain = Site::default();
        let host = ("host", "127.0.0.1:8080");
        assert!(plain.sent_it(&headers(&[host, ("origin", "http://127.0.0.1:8080")])));
        assert!(!plain.sent_it(&headers(&[host, ("origin", "http://127.0.0.1:8081")])));
    }
}
