//! The base URL: checked once; the paths of requests are appended to it.

use std::error::Error;
use std::fmt::{self, Write};
use std::str::FromStr;

use formsvc_protocol::is_localhost;
use formsvc_protocol::paths::SUBMISSIONS;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;
use url::form_urlencoded::byte_serialize;

/// The bytes that an id in a path needs encoded: all but the unreserved ones of RFC 3986, §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URL of a service: `https`, or `http` for this machine, with a host, an optional port and an
/// optional path.
///
/// [`ClientBuilder::base_url`] applies the same rules. Parse a URL with this type to check it before
/// it is stored; two spellings of the same URL are equal.
///
/// `http` is allowed for `localhost`, every name that ends in `.localhost`, 127.0.0.0/8 and `[::1]`.
///
/// ```
/// use formsvc_client::BaseUrl;
/// let base = BaseUrl::parse("HTTPS://Forms.Example:443/tenant/")?;
/// assert_eq!(base.as_str(), "https://forms.example/tenant");
/// assert!(BaseUrl::parse("http://forms.localhost:8080")?.is_loopback());
/// assert!(BaseUrl::parse("http://127.evil.example").is_err());
/// # Ok::<(), formsvc_client::types::BaseUrlError>(())
/// ```
///
/// [`ClientBuilder::base_url`]: crate::ClientBuilder::base_url
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl {
    /// The URL without a slash at the end, which makes no difference between two base URLs.
    text: String,
    is_https: bool,
    is_loopback: bool,
}

/// The rule that the text of a [`BaseUrl`] breaks. Does not contain the text, which may include a
/// password.
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
    /// Parses and checks a URL.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        Self::read(text, false)
    }

    /// Parses and checks a URL like [`BaseUrl::parse`], and accepts `http` for every host.
    ///
    /// # Danger
    ///
    /// Without encryption, anyone on the network can read the API key. Use it to compare and store URLs,
    /// or together with [`ClientBuilder::danger_allow_http`](crate::ClientBuilder::danger_allow_http).
    pub fn danger_parse_http(text: &str) -> Result<Self, BaseUrlError> {
        Self::read(text, true)
    }

    /// Parses and checks a URL; `allow_http` allows `http` for every host.
    pub(crate) fn read(text: &str, allow_http: bool) -> Result<Self, BaseUrlError> {
        let fail = |rule: String| Err(BaseUrlError(format!("the base URL {rule}")));
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => return fail(format!("cannot be read: {error}")),
        };
        let Some(host) = url.host_str() else { return fail("has no host".to_owned()) };
        match url.scheme() {
            "https" => {}
            "http" if is_localhost(host) || allow_http => {}
            "http" => {
                return fail(format!(
                    "uses `http` with the host `{host}`, which would show the API key to the \
                     network; use `https`"
                ));
            }
            other => return fail(format!("has the scheme `{other}`, not `https`")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return fail("contains a user name or password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return fail("has a query or a fragment".to_owned());
        }
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { text, is_https: url.scheme() == "https", is_loopback: is_localhost(host) })
    }

    /// Scheme, host, port if it is not the default, and path, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the host always is this machine.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the URL of a path that needs no encoding.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// Returns the URL of the caller's own path and query. `query` replaces parameters of the path with
    /// the same name. The error is the broken rule, to follow "the path".
    pub(crate) fn raw(&self, path: &str, query: &[(&str, &str)]) -> Result<String, &'static str> {
        check_path(path)?;
        let mut url = Url::parse(&self.join(path)).map_err(|_| "cannot be read")?;
        if !query.is_empty() {
            let of_path: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let kept = of_path.iter().filter(|(name, _)| query.iter().all(|(own, _)| own != name));
            let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
            url.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(query);
        }
        // A second line of defence: the URL must be below the base URL.
        let under = url.as_str().strip_prefix(&self.text).is_some_and(|rest| rest.starts_with('/'));
        if under { Ok(url.into()) } else { Err("leaves the base URL") }
    }

    /// Returns the URL of a page of submissions (SPEC §4). `form` must not be `.` or `..`, which are
    /// steps of a path also if they are encoded.
    pub(crate) fn submissions(&self, form: &str, limit: u32, cursor: Option<&str>) -> String {
        let (before, after) = SUBMISSIONS.around_form_id().expect("the path contains a form id");
        let mut address = self.join(before);
        address.extend(utf8_percent_encode(form, RESERVED));
        write!(address, "{after}?limit={limit}").expect("writing to a string succeeds");
        if let Some(cursor) = cursor {
            address.push_str("&cursor=");
            address.extend(byte_serialize(cursor.as_bytes()));
        }
        address
    }
}

/// Refuses paths that could leave the base URL, in every spelling that a server might decode.
fn check_path(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') || path.starts_with("//") {
        return Err("does not begin with one `/`");
    }
    if path.contains(['\\', '#']) || path.chars().any(char::is_control) {
        return Err("contains a backslash, a `#` or a control character");
    }
    let before_query = path.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let plain = before_query.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    if plain.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("contains the segment `.` or `..`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_allowed_for_this_machine_only() {
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
    fn user_info_query_and_fragment_are_refused() {
        for bad in
            ["https://u@h", "https://u:p4ss@h", "https://h?a=1", "https://h/#x", "https://h?"]
        {
            let error = BaseUrl::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn spellings_of_one_url_are_equal() {
        let base = BaseUrl::parse("https://forms.example/tenant").unwrap();
        let spelled = BaseUrl::parse("HTTPS://Forms.Example:443/tenant/").unwrap();
        assert_eq!(base, spelled);
        assert_eq!(std::collections::HashSet::from([base.clone(), spelled]).len(), 1);
        assert_ne!(base, BaseUrl::parse("https://forms.example").unwrap());
    }

    #[test]
    fn path_prefix_is_kept_and_values_are_encoded() {
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
    fn raw_path_stays_below_the_base_url() {
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
        fn no_raw_path_leaves_the_base_url(
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
