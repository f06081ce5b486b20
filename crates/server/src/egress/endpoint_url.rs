//! The URL of a webhook endpoint: what it may say (SPEC §6).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use formsvc_protocol::{is_localhost, is_localhost_name};
use http::Uri;
use url::{Host, ParseError, Url};

use crate::printable::Excerpt;

/// Longest URL, in bytes.
const URL_MAX: usize = 2048;
/// Longest host name, in characters (RFC 1035 §2.3.4).
const HOST_NAME_MAX: usize = 253;
/// Longest part of a host name between dots.
const LABEL_MAX: usize = 63;

/// A URL that deliveries may be sent to: `https`, or `http` to this machine.
///
/// Kept in canonical spelling: `https://EXAMPLE.com:443/a/../b` is `https://example.com/b`, and hosts
/// that spell an IP address in another way (`0x7f.1`, `2130706433`, `0177.0.0.1`) are that address.
///
/// URLs often carry tokens: [`Display`](fmt::Display) shows the whole URL, and is for its owner. Logs
/// and errors get the [`origin`](Self::origin), and `Debug` shows no more.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl {
    url: Url,
    uri: Uri,
}

/// Why a URL is refused. Never holds its path, query or password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointUrlError {
    /// Longer than 2048 bytes.
    #[error("the URL has {0} bytes, and at most {URL_MAX} are accepted")]
    TooLong(usize),
    /// A control character, for example a line break.
    #[error("the URL has the control character `{}`", .0.escape_default())]
    ControlCharacter(char),
    /// Not a URL.
    #[error("the URL cannot be read: {0}")]
    Unreadable(String),
    /// A host or a path alone.
    #[error("the URL has no scheme: it must begin with `https://`")]
    NoScheme,
    /// Neither `https` nor `http`.
    #[error(
        "the URL's scheme is `{}`, and only `https` is accepted (or `http` to this machine)",
        Excerpt(.0)
    )]
    Scheme(String),
    /// `http`, and not to this machine.
    #[error(
        "plain `http` is accepted for localhost only, and `{}` is elsewhere: use `https`",
        Excerpt(.0)
    )]
    PlainHttp(String),
    /// A user name or a password.
    #[error("the URL has a user name or password, which deliveries do not send")]
    Userinfo,
    /// No host.
    #[error("the URL names no host")]
    NoHost,
    /// A host that is no name.
    #[error(transparent)]
    HostName(#[from] HostNameError),
    /// Port 0.
    #[error("the URL has port 0, to which nothing can connect")]
    Port,
    /// A fragment.
    #[error("the URL has a fragment (`#…`), which is never sent: leave it out")]
    Fragment,
}

/// A host that is neither an IP address nor a host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no host name: letters, digits, `-` and `_`, in parts of 1 to {LABEL_MAX} between dots, \
     at most {HOST_NAME_MAX} in all",
    Excerpt(.0)
)]
pub struct HostNameError(String);

/// Checks a host name in lower case.
///
/// Stricter than a URL is, which allows for example quotation marks. A dot at the end is refused as
/// well: it makes the same host another text, for the rules on `localhost` as for certificates.
pub(super) fn check_host_name(name: &str) -> Result<(), HostNameError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label =
        |label: &str| (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(is_letter);
    if name.len() <= HOST_NAME_MAX && name.split('.').all(is_label) {
        return Ok(());
    }
    Err(HostNameError(name.to_owned()))
}

impl EndpointUrl {
    /// The URL in canonical spelling; only for who may see all of it.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Scheme, host and port: what logs may show.
    pub fn origin(&self) -> Origin<'_> {
        Origin(self)
    }

    /// The host: a name in lower case, or an IP address; one of IPv6 stands in brackets.
    pub fn host(&self) -> &str {
        self.uri.host().expect("a URL without a host was refused")
    }

    /// The host where it is an IP address, as it would be connected to.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address).to_canonical()),
            Some(Host::Domain(_)) | None => None,
        }
    }

    /// Whether the host is `localhost` or a name below it, which means this machine whatever a resolver
    /// says.
    pub fn is_localhost(&self) -> bool {
        is_localhost_name(self.host())
    }

    /// The port, that of the scheme where none is written.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().expect("both schemes have a port")
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl FromStr for EndpointUrl {
    type Err = EndpointUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > URL_MAX {
            return Err(EndpointUrlError::TooLong(text.len()));
        }
        // Before the parser, which reads over line breaks and tabs.
        if let Some(control) = text.chars().find(|character| character.is_control()) {
            return Err(EndpointUrlError::ControlCharacter(control));
        }
        let url = Url::parse(text).map_err(unreadable)?;
        // Canonical spelling can be longer: it escapes.
        if url.as_str().len() > URL_MAX {
            return Err(EndpointUrlError::TooLong(url.as_str().len()));
        }
        // `example.com:8443/hook`: a host and a port, which reads as a scheme and what follows it.
        if url.cannot_be_a_base() && (url.scheme().contains('.') || url.scheme() == "localhost") {
            return Err(EndpointUrlError::NoScheme);
        }
        if !matches!(url.scheme(), "https" | "http") {
            return Err(EndpointUrlError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointUrlError::Userinfo);
        }
        if let Host::Domain(name) = url.host().ok_or(EndpointUrlError::NoHost)? {
            check_host_name(name)?;
        }
        if url.scheme() == "http" && !url.host_str().is_some_and(is_localhost) {
            return Err(EndpointUrlError::PlainHttp(url.host_str().unwrap_or("").to_owned()));
        }
        if url.port() == Some(0) {
            return Err(EndpointUrlError::Port);
        }
        if url.fragment().is_some() {
            return Err(EndpointUrlError::Fragment);
        }
        let uri = same_uri(&url)?;
        Ok(Self { url, uri })
    }
}

fn unreadable(error: ParseError) -> EndpointUrlError {
    match error {
        ParseError::EmptyHost => EndpointUrlError::NoHost,
        ParseError::RelativeUrlWithoutBase => EndpointUrlError::NoScheme,
        // Their words name a rule and never the value.
        other => EndpointUrlError::Unreadable(other.to_string()),
    }
}

/// The URL as the HTTP library reads it. Both must see the same host, since one is judged and the
/// other connected to.
fn same_uri(url: &Url) -> Result<Uri, EndpointUrlError> {
    let differs = || EndpointUrlError::Unreadable("it is ambiguous".to_owned());
    let uri: Uri = url.as_str().parse().map_err(|_| differs())?;
    let same = uri.scheme_str() == Some(url.scheme())
        && uri.host() == url.host_str()
        && uri.port_u16() == url.port();
    if same { Ok(uri) } else { Err(differs()) }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointUrl({}/…)", self.origin())
    }
}

/// Scheme, host and port of an endpoint, the port always written: `https://example.com:443`.
#[derive(Clone, Copy)]
pub struct Origin<'a>(&'a EndpointUrl);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.0.url.scheme(), self.0.host(), self.0.port())
    }
}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<EndpointUrl, EndpointUrlError> {
        text.parse()
    }

    #[test]
    fn a_url_is_kept_in_canonical_spelling() {
        for (text, canonical, host, port) in [
            ("https://example.com", "https://example.com/", "example.com", 443),
            ("HTTPS://EXAMPLE.com:443/a/../b?q=1", "https://example.com/b?q=1", "example.com", 443),
            (
                "https://bücher.example/ü",
                "https://xn--bcher-kva.example/%C3%BC",
                "xn--bcher-kva.example",
                443,
            ),
            ("https://a_b.example:8443/", "https://a_b.example:8443/", "a_b.example", 8443),
            ("https://0x7f.1/", "https://127.0.0.1/", "127.0.0.1", 443),
            ("https://2130706433/", "https://127.0.0.1/", "127.0.0.1", 443),
            ("https://0177.0.0.1/", "https://127.0.0.1/", "127.0.0.1", 443),
            ("https://[0:0::0:1]/", "https://[::1]/", "[::1]", 443),
            ("https:\\\\example.com\\x", "https://example.com/x", "example.com", 443),
            ("http://localhost:3000/x", "http://localhost:3000/x", "localhost", 3000),
            ("http://app.LOCALHOST/", "http://app.localhost/", "app.localhost", 80),
            ("http://127.8.9.1/", "http://127.8.9.1/", "127.8.9.1", 80),
            ("http://[::1]:80/", "http://[::1]/", "[::1]", 80),
            ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "[::ffff:7f00:1]", 80),
        ] {
            let url = parse(text).unwrap();
            assert_eq!((url.as_str(), url.host(), url.port()), (canonical, host, port), "{text}");
            assert_eq!(parse(canonical).unwrap(), url);
        }
    }

    #[test]
    fn hosts_that_are_addresses_are_judged_as_what_is_connected_to() {
        let ip = |text: &str| parse(text).unwrap().ip().map(|ip| ip.to_string());
        assert_eq!(ip("https://0300.0250.1/").as_deref(), Some("192.168.0.1"));
        assert_eq!(ip("https://[::ffff:10.0.0.1]/").as_deref(), Some("10.0.0.1"));
        assert_eq!(ip("https://example.com/"), None);
    }

    #[test]
    fn each_rule_is_refused_by_its_name() {
        use EndpointUrlError as E;
        let long = format!("https://example.com/{}", "x".repeat(URL_MAX));
        let grows = format!("https://example.com/{}", "ü".repeat(URL_MAX / 3));
        let label = format!("https://{}.com/", "a".repeat(LABEL_MAX + 1));
        let name = format!("https://{}com/", "a.".repeat(HOST_NAME_MAX / 2));
        for (text, rule) in [
            (long.as_str(), (|error| matches!(error, E::TooLong(2068))) as fn(&E) -> bool),
            (&grows, |error| matches!(error, E::TooLong(_))),
            ("https://example.com/\n", |error| matches!(error, E::ControlCharacter('\n'))),
            ("https://exa\tmple.com/", |error| matches!(error, E::ControlCharacter('\t'))),
            ("https://example.com/\u{85}", |error| matches!(error, E::ControlCharacter('\u{85}'))),
            ("", |error| matches!(error, E::NoScheme)),
            ("example.com/hook", |error| matches!(error, E::NoScheme)),
            ("example.com:8443/hook", |error| matches!(error, E::NoScheme)),
            ("mailto:a@example.com", |error| matches!(error, E::Scheme(_))),
            ("https://1.2.3.256/", |error| matches!(error, E::Unreadable(_))),
            ("https://example.com:65536/", |error| matches!(error, E::Unreadable(_))),
            ("https://[fe80::1%25eth0]/", |error| matches!(error, E::Unreadable(_))),
            ("ftp://example.com/", |error| matches!(error, E::Scheme(_))),
            ("file:///etc/passwd", |error| matches!(error, E::Scheme(_))),
            ("localhost:3000", |error| matches!(error, E::NoScheme)),
            ("http://example.com/", |error| matches!(error, E::PlainHttp(_))),
            ("http://10.0.0.1/", |error| matches!(error, E::PlainHttp(_))),
            ("http://localhost.example.com/", |error| matches!(error, E::PlainHttp(_))),
            ("http://notlocalhost/", |error| matches!(error, E::PlainHttp(_))),
            ("http://0.0.0.0/", |error| matches!(error, E::PlainHttp(_))),
            ("https://user@example.com/", |error| matches!(error, E::Userinfo)),
            ("https://:secret@example.com/", |error| matches!(error, E::Userinfo)),
            ("https://", |error| matches!(error, E::NoHost)),
            ("https://example.com./", |error| matches!(error, E::HostName(_))),
            ("http://localhost./", |error| matches!(error, E::HostName(_))),
            ("https://a\"b.com/", |error| matches!(error, E::HostName(_))),
            ("https://a..b/", |error| matches!(error, E::HostName(_))),
            (&label, |error| matches!(error, E::HostName(_))),
            (&name, |error| matches!(error, E::HostName(_))),
            ("https://example.com:0/", |error| matches!(error, E::Port)),
            ("https://example.com/#a", |error| matches!(error, E::Fragment)),
            ("https://example.com/#", |error| matches!(error, E::Fragment)),
        ] {
            let error = parse(text).expect_err(text);
            assert!(rule(&error), "{text}: {error:?}");
        }
    }

    #[test]
    fn neither_errors_nor_debug_nor_the_origin_tell_a_secret() {
        let url = parse("https://example.com/hook/s3cret?token=s3cret").unwrap();
        assert_eq!(url.origin().to_string(), "https://example.com:443");
        assert_eq!(format!("{:?} {url:?}", url.origin()).matches("s3cret").count(), 0);
        assert_eq!(url.to_string(), url.as_str());
        for text in [
            "https://user:s3cret@example.com/",
            "http://example.com/s3cret?s3cret",
            "ftp://example.com/s3cret",
            "https://example.com:0/s3cret",
            "https://example.com/?s3cret#s3cret",
            "https://exam ple.com/s3cret",
            "https://example.com:99999/s3cret",
            "//s3cret",
        ] {
            let error = parse(text).expect_err(text);
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn what_is_named_in_an_error_is_safe_to_show() {
        for text in ["x\u{202e}:y", "http://a\u{200b}b.com/", "https://a`b;c.com/"] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.chars().all(|c| (' '..='~').contains(&c)), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

        #[test]
        fn no_text_panics_and_what_is_accepted_is_plain(
            start in "(https?://)?", host in "\\PC{0,12}(\\.test)?", rest in "[/?]\\PC{0,20}"
        ) {
            if let Ok(url) = parse(&format!("{start}{host}{rest}")) {
                prop_assert!(url.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert_eq!(&parse(url.as_str()).unwrap(), &url);
                prop_assert_eq!(url.uri().to_string(), url.as_str());
            }
        }

        #[test]
        fn every_path_and_query_can_be_sent(rest in "[/?][ -~]{0,40}") {
            let text = format!("https://host.test{}", rest.replace('#', "_"));
            prop_assert!(parse(&text).is_ok(), "{text}");
        }
    }
}
