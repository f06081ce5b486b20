use http::Request as HttpRequest;

use super::*;

const PORT: u16 = 4545;
const HOST: &str = "127.0.0.1:4545";

/// Checks a request for a file of the page, with the cookie.
fn admit(
    access: &Access,
    method: Method,
    file: &str,
    headers: &[(HeaderName, &str)],
) -> Result<bool, Refusal> {
    let mut request = HttpRequest::builder().method(method).uri(access.path_of(file));
    request = request.header(header::COOKIE, format!("a=b; {}", cookie(access)));
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    access.admit(&request.body(()).unwrap().into_parts().0)
}

fn cookie(access: &Access) -> String {
    format!("{COOKIE}={}", access.token.expose_secret())
}

fn access() -> Access {
    Access::new(PORT).unwrap()
}

#[test]
fn host_must_be_a_loopback_name_with_the_port() {
    let access = access();
    let get = |headers: &[_]| admit(&access, Method::GET, "", headers);
    for host in [HOST, "localhost:4545", "LocalHost:4545", "[::1]:4545"] {
        assert_eq!(get(&[(header::HOST, host)]), Ok(false), "{host}");
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
        "evil@127.0.0.1:4545",
        "0.0.0.0:4545",
    ] {
        assert_eq!(get(&[(header::HOST, host)]), Err(WRONG_HOST), "{host}");
    }
    assert_eq!(get(&[(header::HOST, HOST), (header::HOST, HOST)]), Err(WRONG_HOST));
    assert_eq!(get(&[]), Err(WRONG_HOST));
    let absolute = HttpRequest::builder()
        .uri(format!("http://rebound.example:4545{}", access.path))
        .header(header::HOST, HOST)
        .header(header::COOKIE, cookie(&access));
    let (absolute, ()) = absolute.body(()).unwrap().into_parts();
    assert_eq!(access.admit(&absolute), Err(WRONG_HOST));
}

#[test]
fn request_needs_the_token_in_url_or_cookie() {
    let (access, other) = (access(), access());
    let url = access.url();
    let with_token = url.strip_prefix("http://127.0.0.1:4545").unwrap();
    let token = access.token.expose_secret();
    let admit = |method: Method, uri: &str, cookie: &str| {
        let request = HttpRequest::builder().method(method).uri(uri).header(header::HOST, HOST);
        let request = request.header(header::COOKIE, cookie);
        access.admit(&request.body(()).unwrap().into_parts().0)
    };
    assert_eq!(admit(Method::GET, with_token, ""), Ok(true));
    assert_eq!(admit(Method::GET, &access.path, &cookie(&access)), Ok(false));
    for (method, uri, cookie) in [
        (Method::GET, &*access.path, String::new()),
        (Method::GET, &access.path, cookie(&other)),
        (Method::GET, &access.path, format!("{COOKIE}={}", &token[1..])),
        (Method::GET, &access.path, format!("{COOKIE}={token}x")),
        (Method::GET, &access.path, format!("x{COOKIE}={token}")),
        (Method::GET, &format!("{}?token=", access.path), String::new()),
        (Method::GET, &format!("{with_token}x"), String::new()),
        (Method::GET, &format!("{}?token={token}", access.path_of("api/list")), String::new()),
        (Method::GET, &format!("/?token={token}"), String::new()),
        (Method::POST, with_token, String::new()),
    ] {
        assert_eq!(admit(method, uri, &cookie), Err(NO_TOKEN), "{uri} {cookie}");
    }
    for method in [Method::OPTIONS, Method::HEAD, Method::PUT, Method::DELETE] {
        let refused = admit(method, &access.path, &cookie(&access));
        assert_eq!(refused, Err(FOREIGN));
    }
}

#[test]
fn token_and_path_are_random_and_the_cookie_is_restricted() {
    let access = access();
    let token = access.token.expose_secret();
    assert_eq!(URL_SAFE_NO_PAD.decode(token).unwrap().len(), TOKEN_LEN);
    let other = self::access();
    assert!(other.token.expose_secret() != token && other.path != access.path);
    let cookie = access.cookie();
    let expected = format!("{COOKIE}={token}; Path={}; HttpOnly; SameSite=Strict", access.path);
    assert_eq!(cookie.to_str().unwrap(), expected);
}

#[test]
fn other_origins_may_link_to_the_page_only() {
    let access = access();
    let read = |file: &str, site: &str, dest: &str| {
        let headers = [(header::HOST, HOST), (FETCH_SITE, site), (FETCH_DEST, dest)];
        admit(&access, Method::GET, file, &headers)
    };
    assert_eq!(read("", "cross-site", "document"), Ok(false));
    assert_eq!(read("api/list", "same-origin", "empty"), Ok(false));
    for (file, site, dest) in [
        ("", "cross-site", "iframe"),
        ("", "same-site", "empty"),
        ("api/list", "cross-site", "document"),
        ("main.js", "same-site", "script"),
    ] {
        assert_eq!(read(file, site, dest), Err(FOREIGN), "{file} {site} {dest}");
    }
}

#[test]
fn only_scripts_of_the_page_may_act() {
    let access = access();
    let json = (header::CONTENT_TYPE, "application/json");
    let (host, own) = ((header::HOST, HOST), (header::ORIGIN, "http://127.0.0.1:4545"));
    let post = |headers: &[_]| admit(&access, Method::POST, "api/replay", headers);
    let same = (FETCH_SITE, "same-origin");
    assert_eq!(post(&[host.clone(), own.clone(), json.clone()]), Ok(false));
    assert_eq!(post(&[host.clone(), own.clone(), json.clone(), same]), Ok(false));
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
        assert_eq!(post(&headers), Err(FOREIGN), "{headers:?}");
    }
    let length = (MAX_BODY + 1).to_string();
    let large = [host, own, json, (header::CONTENT_LENGTH, &length)];
    assert_eq!(post(&large), Err(TOO_LARGE));
}
