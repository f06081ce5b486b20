//! Which proxy a request goes through. Pure: variables and a URL in, a route out.

use std::ffi::OsString;
use std::fmt;

use formsvc_protocol::is_localhost;
use url::Url;

use super::error::NetworkError;
use super::no_proxy::NoProxy;

const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
const NO: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Set by a web server that runs a CGI script.
const CGI: &str = "REQUEST_METHOD";

/// Default port of SOCKS proxies.
const SOCKS_PORT: u16 = 1080;

const ENCODE: &str = "write http://user:password@host:port, and percent-encode special characters of \
                      the password: `#` is %23, `/` is %2F, `?` is %3F, `@` is %40, `%` is %25";

/// How a request travels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// Through this proxy.
    Proxy(ProxyInfo),
    /// Directly: no proxy is set for the URL's scheme.
    NoProxySet,
    /// Directly: localhost is never sent to a proxy.
    Localhost,
    /// Directly: this entry of `NO_PROXY` matches the host.
    Excluded(String),
    /// Not at all: the proxy variable for the URL is unusable. The text names the variable and the
    /// rule, not the value.
    Unusable(String),
}

/// A proxy. Its text contains neither user name nor password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyInfo {
    pub(super) url: Url,
    variable: &'static str,
}

impl ProxyInfo {
    fn parse(value: &str, variable: &'static str) -> Result<Self, NetworkError> {
        let url = parse(value).map_err(|rule| {
            NetworkError::setting(variable, format!("is not a proxy URL: {rule}")).with_hint(ENCODE)
        })?;
        Ok(Self { url, variable })
    }

    /// Scheme, host and port.
    pub fn address(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{}://{host}:{}", self.url.scheme(), self.port())
    }

    /// The variable that sets the proxy, in the case it was found in; `proxy` for a proxy that the
    /// program set.
    pub fn variable(&self) -> &str {
        self.variable
    }

    /// True if a user name or a password is sent to the proxy.
    pub fn has_credentials(&self) -> bool {
        !self.url.username().is_empty() || self.url.password().is_some()
    }

    pub(super) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(SOCKS_PORT)
    }
}

impl fmt::Display for ProxyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.address(), self.variable)
    }
}

impl fmt::Debug for ProxyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The proxies of every scheme, and the hosts that need none. An unusable variable is an error only
/// for the URLs that need it.
#[derive(Clone, Debug)]
pub(super) struct ProxySettings {
    https: Option<Result<ProxyInfo, NetworkError>>,
    http: Option<Result<ProxyInfo, NetworkError>>,
    no_proxy: Result<NoProxy, NetworkError>,
}

impl ProxySettings {
    pub(super) fn none() -> Self {
        Self { https: None, http: None, no_proxy: Ok(NoProxy::default()) }
    }

    pub(super) fn from_vars(lookup: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let is_cgi = lookup(CGI).is_some();
        let http = if is_cgi { &HTTP[1..] } else { &HTTP[..] };
        let all = proxy(lookup, &ALL);
        let no_proxy = text(lookup, &NO).transpose();
        Self {
            https: proxy(lookup, &HTTPS).or_else(|| all.clone()),
            http: proxy(lookup, http).or(all),
            no_proxy: no_proxy.map(|list| NoProxy::parse(&list.unwrap_or_default().1)),
        }
    }

    /// One proxy for every URL, set by the program.
    pub(super) fn for_all(url: &str) -> Result<Self, NetworkError> {
        let proxy = Some(Ok(ProxyInfo::parse(url.trim(), "proxy")?));
        Ok(Self { https: proxy.clone(), http: proxy, ..Self::none() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.https.is_none() && self.http.is_none()
    }

    pub(super) fn warnings(&self) -> &[String] {
        self.no_proxy.as_ref().map_or(&[], NoProxy::warnings)
    }

    pub(super) fn decide(&self, target: &Url) -> Result<Route, &NetworkError> {
        let Some(host) = target.host_str() else { return Ok(Route::NoProxySet) };
        if is_localhost(host) {
            return Ok(Route::Localhost);
        }
        let proxy = if target.scheme() == "https" { &self.https } else { &self.http };
        let Some(proxy) = proxy else { return Ok(Route::NoProxySet) };
        match self.no_proxy.as_ref()?.entry_for(host, target.port_or_known_default()) {
            Some(entry) => Ok(Route::Excluded(entry.to_owned())),
            None => proxy.as_ref().map(|proxy| Route::Proxy(proxy.clone())),
        }
    }

    /// Returns the route of a request.
    pub(super) fn route(&self, target: &Url) -> Route {
        self.decide(target).unwrap_or_else(|error| Route::Unusable(error.to_string()))
    }

    /// The same decision for reqwest. Instead of an unusable proxy it gets an address without a
    /// listener, so that the request fails.
    pub(super) fn for_reqwest(&self) -> reqwest::Proxy {
        let settings = self.clone();
        let nowhere = Url::parse("http://127.0.0.1:0").expect("a valid URL");
        reqwest::Proxy::custom(move |target| match settings.decide(target) {
            Ok(Route::Proxy(proxy)) => Some(proxy.url),
            Ok(_) => None,
            Err(_) => Some(nowhere.clone()),
        })
    }
}

/// The first of the variables that is set and not blank, with its trimmed value.
fn text(
    lookup: &dyn Fn(&str) -> Option<OsString>,
    names: &[&'static str],
) -> Option<Result<(&'static str, String), NetworkError>> {
    names.iter().find_map(|&variable| match lookup(variable)?.into_string() {
        Ok(value) if value.trim().is_empty() => None,
        Ok(value) => Some(Ok((variable, value.trim().to_owned()))),
        Err(_) => Some(Err(NetworkError::setting(variable, "is not UTF-8 text"))),
    })
}

fn proxy(
    lookup: &dyn Fn(&str) -> Option<OsString>,
    names: &[&'static str],
) -> Option<Result<ProxyInfo, NetworkError>> {
    text(lookup, names)
        .map(|set| set.and_then(|(variable, value)| ProxyInfo::parse(&value, variable)))
}

/// Reads the URL of a proxy; without a scheme it is `http`. The error is the broken rule, without the
/// value. A `#`, `?` or `/` of a password that is not percent-encoded would end the host early, and
/// the start of the password would become the host or the port.
fn parse(value: &str) -> Result<Url, String> {
    if value.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("it contains a space, a backslash or a control character".to_owned());
    }
    if let Some(end) = value.chars().find(|c| matches!(c, '#' | '?')) {
        return Err(format!("it contains `{end}`, which has to be percent-encoded in a password"));
    }
    let with_scheme =
        if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&with_scheme).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") {
        let rule = "its scheme must be http, https, socks5 or socks5h";
        return Err(rule.to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it has no host".to_owned());
    }
    if !matches!(url.path(), "" | "/") {
        return Err("it has a path, or a `/` that is not percent-encoded".to_owned());
    }
    // reqwest reads the URL again with this parser, and would connect directly if that failed.
    match url.as_str().parse::<http::Uri>() {
        Ok(uri) if uri.authority().is_some() => Ok(url),
        _ => Err("it contains a character that is not allowed in a URL".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vars: &[(&str, &str)]) -> ProxySettings {
        ProxySettings::from_vars(&|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    fn shown(settings: &ProxySettings, target: &str) -> String {
        match settings.route(&Url::parse(target).unwrap()) {
            Route::Proxy(proxy) => proxy.to_string(),
            direct => format!("{direct:?}"),
        }
    }

    #[test]
    fn proxy_url_gets_scheme_and_port() {
        for (value, url) in [
            ("proxy.example", "http://proxy.example:80"),
            (" proxy.example:3128/ ", "http://proxy.example:3128"),
            ("https://proxy.example", "https://proxy.example:443"),
            ("socks5://proxy.example", "socks5://proxy.example:1080"),
            ("SOCKS5H://[2001:db8::1]:1", "socks5h://[2001:db8::1]:1"),
            ("http://us%65r:p%40ss@10.0.0.1:8080", "http://10.0.0.1:8080"),
            ("http://a@b:p@ss@proxy.example:1", "http://proxy.example:1"),
        ] {
            let settings = settings(&[("ALL_PROXY", value)]);
            let expected = format!("{url} (ALL_PROXY)");
            for target in ["https://forms.example", "http://forms.example"] {
                assert_eq!(shown(&settings, target), expected, "{value}");
            }
        }
    }

    #[test]
    fn http_proxy_is_ignored_in_cgi_scripts() {
        let vars = [("HTTP_PROXY", "attacker.example"), ("REQUEST_METHOD", "GET")];
        let target = "http://forms.example";
        assert_eq!(shown(&settings(&vars), target), "NoProxySet");
        assert_ne!(shown(&settings(&vars[..1]), target), "NoProxySet");
        let safe = [vars[0], vars[1], ("http_proxy", "proxy.example")];
        assert_eq!(shown(&settings(&safe), target), "http://proxy.example:80 (http_proxy)");
    }

    #[cfg(unix)]
    #[test]
    fn value_that_is_not_utf8_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let value = || OsString::from_vec(vec![0xFF]);
        let settings = ProxySettings::from_vars(&|name| (name == HTTPS[1]).then(value));
        let target = "https://forms.example";
        assert_eq!(shown(&settings, target), "Unusable(\"`https_proxy` is not UTF-8 text\")");
        let settings = ProxySettings::from_vars(&|name| match name {
            "ALL_PROXY" => Some("proxy.example".into()),
            name => (name == NO[0]).then(value),
        });
        assert_eq!(shown(&settings, target), "Unusable(\"`NO_PROXY` is not UTF-8 text\")");
    }

    proptest::proptest! {
        /// reqwest connects directly if it cannot read the URL again: no value may get that far.
        #[test]
        fn accepted_value_is_a_proxy_for_reqwest(
            value in r"(http://|socks5://)?([a-z%#?/:@\[\]|^`{}'~!$&*()+,;=é0-9]{0,12}@)?(p|10\.0\.0\.1|\[::1\]|é|_)(:[0-9]{1,6})?/?",
        ) {
            if let Ok(url) = parse(&value) {
                let matcher =
                    hyper_util::client::proxy::matcher::Matcher::builder().all(url.as_str()).build();
                let target = "https://forms.example".parse().unwrap();
                proptest::prop_assert!(matcher.intercept(&target).is_some(), "{value}");
            }
        }
    }
}
