//! Who may ask for what: a browser on this machine, that was given the address, on behalf of the page.
//!
//! A page of elsewhere can have a browser send requests here, and can give this machine a name of its own
//! (DNS rebinding). So the name that was asked for must be loopback's, and whatever acts must come from the
//! page itself.

use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, header};

use super::token::PageToken;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was not asked for by an address of loopback, at the port of the page.
    Host,
    /// There is nothing there, or not for whoever asks.
    NotFound,
    /// It was not the page that asked.
    Foreign,
}

/// What stands at the path of a request that may pass.
pub(super) fn admit<'a>(
    token: &PageToken,
    port: u16,
    parts: &'a Parts,
) -> Result<&'a str, Refusal> {
    if !names_loopback(parts, port) {
        return Err(Refusal::Host);
    }
    let rest = token.strip(parts.uri.path()).ok_or(Refusal::NotFound)?;
    match parts.method {
        Method::GET if may_read(&parts.headers, rest.is_empty()) => Ok(rest),
        Method::POST if may_act(&parts.headers) => Ok(rest),
        Method::GET | Method::POST => Err(Refusal::Foreign),
        _ => Err(Refusal::NotFound),
    }
}

/// Whether the one name that was asked for is loopback's, and ends in our port.
fn names_loopback(parts: &Parts, port: u16) -> bool {
    let Some(host) = only(&parts.headers, &header::HOST) else { return false };
    // The form that proxies are asked in names the host once more.
    let named = parts.uri.authority().map_or(host, |authority| authority.as_str());
    let is_ours = |name: &str| {
        let Some((name, given)) = name.rsplit_once(':') else { return false };
        given == port.to_string()
            && (matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost"))
    };
    is_ours(host) && is_ours(named)
}

/// A page of elsewhere may lead here, as a terminal in a browser does, and read nothing.
fn may_read(headers: &HeaderMap, is_page: bool) -> bool {
    match headers.get(FETCH_SITE).map(http::HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => true,
        Some(_) => is_page && headers.get(FETCH_DEST).is_some_and(|dest| dest == "document"),
    }
}

/// Only what a script of the page sends: browsers say whose it is, and send JSON for nobody else.
fn may_act(headers: &HeaderMap) -> bool {
    let origin = only(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    let site = headers.get(FETCH_SITE);
    let kind = only(headers, &header::CONTENT_TYPE);
    origin.is_some()
        && origin == only(headers, &header::HOST)
        && site.is_none_or(|site| site == "same-origin")
        && kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// The value of a header that came once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const PORT: u16 = 4545;
    const HERE: &str = "127.0.0.1:4545";

    fn ask(method: Method, uri: &str, headers: &[(HeaderName, &str)]) -> Result<String, Refusal> {
        let token = PageToken::generate().unwrap();
        let mut request =
            Request::builder().method(method).uri(uri.replace("TOKEN", token.expose()));
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        admit(&token, PORT, &parts).map(str::to_owned)
    }

    #[test]
    fn a_request_must_name_loopback_and_our_port() {
        for host in [HERE, "localhost:4545", "LocalHost:4545", "[::1]:4545"] {
            assert_eq!(ask(Method::GET, "/TOKEN/", &[(header::HOST, host)]), Ok(String::new()));
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:4546",
            "127.0.0.1:04545",
            "127.0.0.2:4545",
            "rebound.example:4545",
            "localhost.example:4545",
            "127.0.0.1.example:4545",
            "evil@127.0.0.1:4545",
            "0.0.0.0:4545",
        ] {
            let asked = ask(Method::GET, "/TOKEN/", &[(header::HOST, host)]);
            assert_eq!(asked, Err(Refusal::Host), "{host}");
        }
        let twice = [(header::HOST, HERE), (header::HOST, HERE)];
        assert_eq!(ask(Method::GET, "/TOKEN/", &twice), Err(Refusal::Host));
        assert_eq!(ask(Method::GET, "/TOKEN/", &[]), Err(Refusal::Host));
        let absolute = "http://rebound.example:4545/TOKEN/";
        assert_eq!(ask(Method::GET, absolute, &[(header::HOST, HERE)]), Err(Refusal::Host));
    }

    #[test]
    fn without_the_token_there_is_nothing() {
        for path in ["/", "/x/", "/api/list", "/TOKENx/", "/x/TOKEN/"] {
            let asked = ask(Method::GET, path, &[(header::HOST, HERE)]);
            assert_eq!(asked, Err(Refusal::NotFound), "{path}");
        }
        for method in [Method::OPTIONS, Method::HEAD, Method::PUT, Method::DELETE, Method::TRACE] {
            let asked = ask(method.clone(), "/TOKEN/", &[(header::HOST, HERE)]);
            assert_eq!(asked, Err(Refusal::NotFound), "{method}");
        }
    }

    #[test]
    fn a_page_of_elsewhere_may_lead_here_and_read_nothing() {
        let read = |path: &str, site: &str, dest: &str| {
            let headers = [(header::HOST, HERE), (FETCH_SITE, site), (FETCH_DEST, dest)];
            ask(Method::GET, path, &headers).is_ok()
        };
        assert!(read("/TOKEN/", "cross-site", "document"));
        assert!(read("/TOKEN/api/list", "same-origin", "empty"));
        assert!(read("/TOKEN/main.js", "same-origin", "script"));
        for (path, site, dest) in [
            ("/TOKEN/", "cross-site", "iframe"),
            ("/TOKEN/", "same-site", "empty"),
            ("/TOKEN/api/list", "cross-site", "document"),
            ("/TOKEN/main.js", "cross-site", "script"),
        ] {
            assert!(!read(path, site, dest), "{path} {site} {dest}");
        }
    }

    #[test]
    fn only_the_page_itself_acts() {
        let json = (header::CONTENT_TYPE, "application/json");
        let (host, own) = ((header::HOST, HERE), (header::ORIGIN, "http://127.0.0.1:4545"));
        let same = (FETCH_SITE, "same-origin");
        let post = |headers: &[(HeaderName, &str)]| ask(Method::POST, "/TOKEN/api/replay", headers);
        assert!(post(&[host.clone(), own.clone(), json.clone()]).is_ok());
        assert!(post(&[host.clone(), own.clone(), json.clone(), same.clone()]).is_ok());
        for refused in [
            vec![json.clone()],
            vec![own.clone()],
            vec![own.clone(), (header::CONTENT_TYPE, "text/plain")],
            vec![own.clone(), json.clone(), (FETCH_SITE, "same-site")],
            vec![own.clone(), json.clone(), (FETCH_SITE, "none")],
            vec![own.clone(), own.clone(), json.clone()],
            vec![json.clone(), (header::ORIGIN, "null")],
            vec![json.clone(), (header::ORIGIN, "https://127.0.0.1:4545")],
            vec![json.clone(), (header::ORIGIN, "http://localhost:4545")],
            vec![json.clone(), (header::ORIGIN, "http://127.0.0.1:4546")],
            vec![json.clone(), (header::ORIGIN, "http://rebound.example")],
        ] {
            let headers: Vec<_> = [vec![host.clone()], refused].concat();
            assert_eq!(post(&headers), Err(Refusal::Foreign), "{headers:?}");
        }
    }
}
