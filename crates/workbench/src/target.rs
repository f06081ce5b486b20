//! Parses the targets that users enter, such as `4242`, `localhost:4242/hook` or `https://shop.test/hook`, and resolves
//! the URLs of deliveries to targets.

use formsvc_protocol::is_localhost;
use url::Url;

const RULE: &str = "expected a URL, a port such as 4242, or host:port/path";

/// Parses a URL or a short form. The default scheme is `http` if the host is this machine, and `https` otherwise.
///
/// # Errors
/// Returns the rule that the text violates.
pub fn parse(text: &str) -> Result<Url, String> {
    let text = text.trim();
    if text.starts_with('/') {
        return Err(format!("a path needs a port before it: 4242{text}"));
    }
    let rest = text.strip_prefix(':').unwrap_or(text);
    let port_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (port, path) = rest.split_at(port_end);
    let url = if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
        let port: u16 = port.parse().map_err(|_| format!("port {port} is over 65535; {RULE}"))?;
        format!("http://localhost:{port}{path}")
    } else if text.contains("://") {
        text.to_owned()
    } else {
        // Parse with any scheme, to get the host.
        let probe = Url::parse(&format!("http://{text}")).map_err(invalid)?;
        let scheme = if is_local(&probe) { "http" } else { "https" };
        format!("{scheme}://{text}")
    };
    let url = Url::parse(&url).map_err(invalid)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the scheme `{}` is not http or https", url.scheme()));
    }
    if url.port() == Some(0) {
        return Err("no server can listen on port 0".to_owned());
    }
    Ok(url)
}

fn invalid(error: url::ParseError) -> String {
    format!("{error}; {RULE}")
}

/// Returns the URL that a delivery is sent to. A target without path and query gets the path and query of
/// the delivery's request.
pub fn resolve(target: &Url, request_target: &str) -> Url {
    if has_no_path(target) { at_path_of(target, request_target) } else { target.clone() }
}

/// Returns `address` with the path and query of `request_target`, which cannot change the host. Dot segments are
/// resolved, and characters that a URL must not contain are percent-encoded.
pub fn at_path_of(address: &Url, request_target: &str) -> Url {
    let (path, query) = match request_target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (request_target, None),
    };
    let mut url = address.clone();
    url.set_path(if path.starts_with('/') { path } else { "/" });
    url.set_query(query);
    url
}

/// Returns true if the target has neither path nor query.
pub fn has_no_path(target: &Url) -> bool {
    target.path() == "/" && target.query().is_none() && target.fragment().is_none()
}

/// Returns the URL without user name and password.
pub fn without_password(url: &Url) -> Url {
    let mut url = url.clone();
    // Both calls fail only for a URL without a host, which has neither user name nor password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Returns true if the host is this machine.
pub fn is_local(url: &Url) -> bool {
    url.host_str().is_some_and(is_localhost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_without_path_gets_path_of_delivery() {
        for (target, request_target, expected) in [
            ("http://localhost:1/", "/hook/deep?x=1", "http://localhost:1/hook/deep?x=1"),
            ("http://localhost:1/", "http://other.example/x", "http://localhost:1/"),
            ("http://localhost:1/own", "/hook?x=1", "http://localhost:1/own"),
            ("http://localhost:1/?own=1", "/hook", "http://localhost:1/?own=1"),
        ] {
            assert_eq!(resolve(&Url::parse(target).unwrap(), request_target).as_str(), expected);
        }
    }

    #[test]
    fn request_target_never_changes_the_host() {
        let address = Url::parse("http://127.0.0.1:9000/").unwrap();
        for (request_target, expected) in [
            ("/hook?a=1&b=2", "http://127.0.0.1:9000/hook?a=1&b=2"),
            ("//other.example/x", "http://127.0.0.1:9000//other.example/x"),
            ("http://other.example/x", "http://127.0.0.1:9000/"),
            ("*", "http://127.0.0.1:9000/"),
            ("/a'b\u{202e}", "http://127.0.0.1:9000/a'b%E2%80%AE"),
        ] {
            assert_eq!(at_path_of(&address, request_target).as_str(), expected);
        }
    }

    #[test]
    fn short_forms_are_completed() {
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
            assert_eq!(parse(text).map(String::from), Ok(url.to_owned()), "{text}");
        }
    }

    #[test]
    fn invalid_target_error_contains_the_rule() {
        for (text, rule) in [
            ("/hook", "a path needs a port before it: 4242/hook"),
            ("70000", "port 70000 is over 65535"),
            ("0", "no server can listen on port 0"),
            ("", RULE),
            ("ftp://localhost", "not http or https"),
            ("http://", RULE),
            ("host:port", RULE),
            ("a b", RULE),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(rule), "{text}: {error}");
        }
    }
}
