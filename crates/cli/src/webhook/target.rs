//! Where a delivery goes, as people type it: `4242`, `localhost:4242/hook`, `https://shop.test/hook`.

use formsvc_protocol::is_localhost;
use url::Url;

/// What a URL may be, for errors.
const RULE: &str = "expected a URL, a port such as 4242, or host:port/path";

/// Reads a URL or its short forms. A host without a scheme is asked by http where it is this machine, and
/// by https elsewhere.
pub(crate) fn target(text: &str) -> Result<Url, String> {
    let text = text.trim();
    if text.starts_with('/') {
        return Err(format!("a path needs a port before it: 4242{text}"));
    }
    let rest = text.strip_prefix(':').unwrap_or(text);
    let port_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (port, path) = rest.split_at(port_end);
    let url = if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
        let port: u16 = port.parse().map_err(|_| format!("there is no port {port}; {RULE}"))?;
        format!("http://localhost:{port}{path}")
    } else if text.contains("://") {
        text.to_owned()
    } else {
        // The scheme matters for nothing but the port here.
        let probe = Url::parse(&format!("http://{text}")).map_err(told)?;
        let scheme = if is_here(&probe) { "http" } else { "https" };
        format!("{scheme}://{text}")
    };
    let url = Url::parse(&url).map_err(told)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the scheme {} is not http or https", url.scheme()));
    }
    if url.port() == Some(0) {
        return Err("nothing can listen on port 0".to_owned());
    }
    Ok(url)
}

fn told(error: url::ParseError) -> String {
    format!("{error}; {RULE}")
}

/// Returns the URL of a path and query at an address. The host never changes, whatever the path is. Dot
/// segments are resolved and characters that URLs do not contain are percent-encoded.
pub(crate) fn here(address: &Url, target: &str) -> Url {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let mut url = address.clone();
    url.set_path(if path.starts_with('/') { path } else { "/" });
    url.set_query(query);
    url
}

/// Returns the URL that a target gets a delivery at: the path and query of the delivery's request, unless
/// the target has a path or query of its own.
pub(crate) fn reached(target: &Url, came_to: &str) -> Url {
    if is_bare(target) { here(target, came_to) } else { target.clone() }
}

/// Whether a target has no path of its own.
fn is_bare(target: &Url) -> bool {
    target.path() == "/" && target.query().is_none() && target.fragment().is_none()
}

/// Whether a URL's host is this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(is_localhost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_a_path_gets_deliveries_where_they_came_to() {
        for (target, came, expected) in [
            ("http://localhost:1/", "/hook/deep?x=1", "http://localhost:1/hook/deep?x=1"),
            ("http://localhost:1/", "http://other.example/x", "http://localhost:1/"),
            ("http://localhost:1/own", "/hook?x=1", "http://localhost:1/own"),
            ("http://localhost:1/?own=1", "/hook", "http://localhost:1/?own=1"),
        ] {
            assert_eq!(reached(&Url::parse(target).unwrap(), came).as_str(), expected);
        }
    }

    #[test]
    fn a_command_sends_to_the_listener_whatever_path_came() {
        let address = Url::parse("http://127.0.0.1:9000/").unwrap();
        for (came, expected) in [
            ("/hook?a=1&b=2", "http://127.0.0.1:9000/hook?a=1&b=2"),
            ("//other.example/x", "http://127.0.0.1:9000//other.example/x"),
            ("http://other.example/x", "http://127.0.0.1:9000/"),
            ("*", "http://127.0.0.1:9000/"),
            ("/a'b\u{202e}", "http://127.0.0.1:9000/a'b%E2%80%AE"),
        ] {
            assert_eq!(here(&address, came).as_str(), expected);
        }
    }

    #[test]
    fn short_forms_mean_this_machine() {
        for (text, url) in [
            ("4242", "http://localhost:4242/"),
            (":4242", "http://localhost:4242/"),
            ("4242/hook?a=1", "http://localhost:4242/hook?a=1"),
            ("localhost:4242/hook", "http://localhost:4242/hook"),
            ("127.0.0.1:80", "http://127.0.0.1/"),
            ("[::1]:4242", "http://[::1]:4242/"),
            ("app.localhost", "http://app.localhost/"),
            ("shop.test/hook", "https://shop.test/hook"),
            ("app:3000", "https://app:3000/"),
            ("http://app:3000", "http://app:3000/"),
            ("HTTPS://Shop.test", "https://shop.test/"),
        ] {
            assert_eq!(target(text).map(String::from), Ok(url.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_says_what_one_is() {
        for (text, why) in [
            ("/hook", "a path needs a port before it: 4242/hook"),
            ("70000", "there is no port 70000"),
            ("0", "nothing can listen on port 0"),
            ("", RULE),
            ("ftp://localhost", "not http or https"),
            ("http://", RULE),
            ("host:port", RULE),
            ("a b", RULE),
        ] {
            let told = target(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
