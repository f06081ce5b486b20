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
}
