//! The base address: checked once, then only ever appended to.

use std::fmt::Write;

use formsvc_protocol::paths::SUBMISSIONS;
use url::form_urlencoded::byte_serialize;
use url::{Host, Url};

/// A base address that passed every rule.
#[derive(Clone, Debug)]
pub(crate) struct BaseUrl {
    /// Scheme, host, port and path prefix, without a slash at the end.
    text: String,
    host: String,
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "for spans"))]
    port: u16,
    https: bool,
    loopback: bool,
}

impl BaseUrl {
    /// Parses and checks. The error is the rule that is broken; it does not repeat the address,
    /// which may hold a password.
    pub(crate) fn parse(text: &str, allow_insecure_http: bool) -> Result<Self, String> {
        let url =
            Url::parse(text).map_err(|error| format!("the base URL cannot be read: {error}"))?;
        let Some(host) = url.host() else { return Err("the base URL has no host".to_owned()) };
        let loopback = is_loopback(&host);
        match url.scheme() {
            "https" => {}
            "http" if loopback || allow_insecure_http => {}
            "http" => {
                return Err(format!(
                    "the base URL uses `http` with the host `{host}`, which would show the API \
                     key to the network; use `https`"
                ));
            }
            other => return Err(format!("the base URL has the scheme `{other}`, not `https`")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the base URL holds a user name or password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the base URL has a query or a fragment".to_owned());
        }
        Ok(Self {
            text: url.as_str().trim_end_matches('/').to_owned(),
            host: host.to_string(),
            port: url.port_or_known_default().expect("both schemes have a default port"),
            https: url.scheme() == "https",
            loopback,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// The address of a path that needs no encoding.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// The address of a path and query of the caller's own. `query` stands in place of what the path
    /// has under the same names. The error is the rule that is broken, after "the path …".
    pub(crate) fn raw(&self, path: &str, query: &[(&str, &str)]) -> Result<String, &'static str> {
        check_path(path)?;
        let mut url = Url::parse(&self.join(path)).map_err(|_| "cannot be read")?;
        if !query.is_empty() {
            let of_path: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let kept = of_path.iter().filter(|(name, _)| query.iter().all(|(own, _)| own != name));
            let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
            url.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(query);
        }
        // Whatever the rules above forgot: nothing but an address under the base is asked for.
        let under = url.as_str().strip_prefix(&self.text).is_some_and(|rest| rest.starts_with('/'));
        if under { Ok(url.into()) } else { Err("leads out of the base URL") }
    }

    /// The address of a page of submissions (SPEC §4).
    pub(crate) fn submissions(&self, form: &str, limit: u32, cursor: Option<&str>) -> String {
        let (before, after) = SUBMISSIONS.around_form_id().expect("the list is that of one form");
        let mut address = self.join(before);
        address.extend(byte_serialize(form.as_bytes()));
        write!(address, "{after}?limit={limit}").expect("writing to a string succeeds");
        if let Some(cursor) = cursor {
            address.push_str("&cursor=");
            address.extend(byte_serialize(cursor.as_bytes()));
        }
        address
    }
}

/// A path of the caller's own, with every place in it where it could lead out of the base address taken
/// for what a server might make of it.
fn check_path(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') || path.starts_with("//") {
        return Err("does not begin with one `/`");
    }
    if path.contains(['\\', '#']) || path.chars().any(char::is_control) {
        return Err("holds a backslash, a `#` or a control character");
    }
    let before_query = path.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let plain = before_query.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    if plain.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("holds the segment `.` or `..`");
    }
    Ok(())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in [
            "https://api.example.org",
            "http://localhost:8080",
            "http://forms.localhost",
            "http://127.9.9.9:1",
            "http://[::1]:3000/prefix",
            "HTTP://LOCALHOST",
        ] {
            assert!(BaseUrl::parse(good, false).is_ok(), "{good}");
        }
        for bad in [
            "http://example.org",
            "http://localhost.example.org",
            "http://notlocalhost",
            "http://128.0.0.1",
            "http://10.0.0.1",
            "http://[::2]",
            "http://0.0.0.0",
            "ftp://localhost",
            "file:///etc/passwd",
            "localhost:8080",
            "",
            "/api",
        ] {
            assert!(BaseUrl::parse(bad, false).is_err(), "{bad}");
        }
        assert!(BaseUrl::parse("http://10.0.0.1", true).is_ok());
        assert!(BaseUrl::parse("ftp://10.0.0.1", true).is_err());
    }

    #[test]
    fn nothing_but_a_place_may_stand_in_it() {
        for bad in
            ["https://u@h", "https://u:p4ss@h", "https://h?a=1", "https://h/#x", "https://h?"]
        {
            let error = BaseUrl::parse(bad, false).unwrap_err();
            assert!(!error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn a_path_prefix_is_kept_and_values_are_encoded() {
        let base = BaseUrl::parse("https://h.example/tenant/a/", false).unwrap();
        assert_eq!(base.join("/api/v1/me"), "https://h.example/tenant/a/api/v1/me");
        assert_eq!(
            base.submissions("é;x", 100, Some("2026-01-01T00:00:00+02:00&x=#")),
            "https://h.example/tenant/a/api/v1/forms/%C3%A9%3Bx/submissions?limit=100\
             &cursor=2026-01-01T00%3A00%3A00%2B02%3A00%26x%3D%23"
        );
        let plain = BaseUrl::parse("https://h.example", false).unwrap();
        assert_eq!(
            plain.submissions("frm_1", 1, None),
            "https://h.example/api/v1/forms/frm_1/submissions?limit=1"
        );
    }

    #[test]
    fn a_path_of_the_callers_own_stays_under_the_base() {
        let base = BaseUrl::parse("https://h.example/tenant/a", false).unwrap();
        for (path, query, address) in [
            ("/api/v1/forms", &[][..], "/api/v1/forms"),
            ("/api/v1/forms?limit=2&a=%20+b", &[], "/api/v1/forms?limit=2&a=%20+b"),
            ("/é x/@evil:80?q=ü", &[], "/%C3%A9%20x/@evil:80?q=%C3%BC"),
            ("/f?limit=2&cursor=1", &[("cursor", "a&b=+")], "/f?limit=2&cursor=a%26b%3D%2B"),
            ("/f..g/...?x=../..", &[], "/f..g/...?x=../.."),
        ] {
            let address = format!("https://h.example/tenant/a{address}");
            assert_eq!(base.raw(path, query).as_deref(), Ok(&*address), "{path}");
        }
        for bad in [
            "",
            "api",
            "//evil.example/x",
            "https://evil.example/",
            "@evil.example/",
            "/..",
            "/../b",
            "/x/../../b",
            "/%2e%2E/b",
            "/.%2e",
            "/a/%2e%2e%2fb",
            "/a%5c..%5cb",
            "/./a",
            "/a\\..\\b",
            "\\\\evil.example",
            "/a#b",
            "/a\r\nHost: evil.example",
            "/a\tb",
            "/\0",
        ] {
            assert!(base.raw(bad, &[]).is_err(), "{bad:?}");
        }
        assert!(base.raw("/../b", &[("a", "b")]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_path_leads_out_of_the_base(
            path in r"(/|\.|%2e|%2E|%2f|\\|\?|#|@|:|a|é|\s){0,12}",
        ) {
            for text in ["https://h.example", "https://h.example/tenant/a"] {
                let base = BaseUrl::parse(text, false).unwrap();
                if let Ok(address) = base.raw(&path, &[("q", "..")]) {
                    proptest::prop_assert!(address.starts_with(&format!("{text}/")), "{address}");
                    let url = Url::parse(&address).unwrap();
                    proptest::prop_assert_eq!(url.host_str(), Some("h.example"));
                    proptest::prop_assert!(url.username().is_empty() && url.port().is_none());
                }
            }
        }
    }
}
