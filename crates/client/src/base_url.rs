//! The base address: checked once, then only ever appended to.

use std::error::Error;
use std::fmt::{self, Write};
use std::str::FromStr;

use formsvc_protocol::is_localhost;
use formsvc_protocol::paths::SUBMISSIONS;
use url::Url;
use url::form_urlencoded::byte_serialize;

/// The address of a service, which passed every rule: `https`, or `http` on this machine, with a host,
/// and nothing else but a port and a path.
///
/// [`ClientBuilder::base_url`] holds its text to the same rules when the client is made. Whoever asks
/// for an address, or keeps one, asks here first; two spellings of one place are equal.
///
/// On this machine are `localhost`, every name that ends in `.localhost`, 127.0.0.0/8 and `[::1]`; a
/// name that only begins like one of them is anybody's.
///
/// ```
/// use formsvc_client::BaseUrl;
/// let base = BaseUrl::parse("HTTPS://Forms.Example:443/tenant/")?;
/// assert_eq!(base.as_str(), "https://forms.example/tenant");
/// assert!(BaseUrl::parse("http://forms.localhost:8080")?.is_loopback());
/// assert!(BaseUrl::parse("http://127.evil.example").is_err());
/// # Ok::<(), formsvc_client::BaseUrlError>(())
/// ```
///
/// [`ClientBuilder::base_url`]: crate::ClientBuilder::base_url
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl {
    /// Scheme, host, port and path prefix, without a slash at the end.
    text: String,
    host: String,
    port: u16,
    https: bool,
    loopback: bool,
}

/// The rule that the text of a [`BaseUrl`] breaks. It does not repeat the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrlError(String);

impl fmt::Display for BaseUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for BaseUrlError {}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        Self::parse(text)
    }
}

impl BaseUrl {
    /// Reads an address and holds it to the rules.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        Self::read(text, false)
    }

    /// The same, and `http` to any host where that was asked for.
    pub(crate) fn read(text: &str, allow_insecure_http: bool) -> Result<Self, BaseUrlError> {
        let wrong = |rule: String| Err(BaseUrlError(rule));
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => return wrong(format!("the base URL cannot be read: {error}")),
        };
        let Some(host) = url.host() else { return wrong("the base URL has no host".to_owned()) };
        let host = host.to_string();
        let loopback = is_localhost(&host);
        match url.scheme() {
            "https" => {}
            "http" if loopback || allow_insecure_http => {}
            "http" => {
                return wrong(format!(
                    "the base URL uses `http` with the host `{host}`, which would show the API \
                     key to the network; use `https`"
                ));
            }
            other => return wrong(format!("the base URL has the scheme `{other}`, not `https`")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("the base URL holds a user name or password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return wrong("the base URL has a query or a fragment".to_owned());
        }
        Ok(Self {
            text: url.as_str().trim_end_matches('/').to_owned(),
            host,
            port: url.port_or_known_default().expect("both schemes have a default port"),
            https: url.scheme() == "https",
            loopback,
        })
    }

    /// Scheme, host, port if it is not the usual one, and path if there is one, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }

    #[cfg(feature = "tracing")]
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
            "http://localhost.",
            // Spellings of 127.0.0.1, to whatever connects.
            "http://127.1",
            "http://0x7f000001",
        ] {
            assert!(BaseUrl::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://example.org",
            "http://localhost.example.org",
            "http://notlocalhost",
            "http://127.evil.example",
            "http://127.0.0.1.evil.example",
            "http://[::1].evil.example",
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
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
        assert!(BaseUrl::read("http://10.0.0.1", true).is_ok());
        assert!(BaseUrl::read("ftp://10.0.0.1", true).is_err());
    }

    #[test]
    fn nothing_but_a_place_may_stand_in_it() {
        for bad in
            ["https://u@h", "https://u:p4ss@h", "https://h?a=1", "https://h/#x", "https://h?"]
        {
            let error = BaseUrl::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn a_path_prefix_is_kept_and_values_are_encoded() {
        let base = BaseUrl::parse("https://h.example/tenant/a/").unwrap();
        assert_eq!(base.join("/api/v1/me"), "https://h.example/tenant/a/api/v1/me");
        assert_eq!(
            base.submissions("é;x", 100, Some("2026-01-01T00:00:00+02:00&x=#")),
            "https://h.example/tenant/a/api/v1/forms/%C3%A9%3Bx/submissions?limit=100\
             &cursor=2026-01-01T00%3A00%3A00%2B02%3A00%26x%3D%23"
        );
        let plain = BaseUrl::parse("https://h.example").unwrap();
        assert_eq!(
            plain.submissions("frm_1", 1, None),
            "https://h.example/api/v1/forms/frm_1/submissions?limit=1"
        );
    }

    #[test]
    fn a_path_of_the_callers_own_stays_under_the_base() {
        let base = BaseUrl::parse("https://h.example/tenant/a").unwrap();
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
                let base = BaseUrl::parse(text).unwrap();
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
