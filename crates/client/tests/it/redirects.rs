//! Redirects are not followed; the error shows where they lead.

use formsvc_client::{Error, ErrorKind, RetryPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{KEY, builder};

/// The error of `me` for a redirect to what `location` returns for the URL of the service.
async fn failure(location: impl FnOnce(&str) -> Option<Vec<u8>>) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    let mut head = b"HTTP/1.1 308 Permanent Redirect\r\ncontent-length: 4\r\n".to_vec();
    if let Some(location) = location(&url) {
        head.extend([b"location: ", &location[..], b"\r\n"].concat());
    }
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(&[&head[..], b"\r\n<p>a"].concat()).await.unwrap();
    });
    let client = builder().base_url(url).retry(RetryPolicy::none()).build().unwrap();
    let error = client.me().await.unwrap_err();
    serving.await.unwrap();
    assert_eq!((error.kind(), error.status().unwrap().as_u16()), (ErrorKind::Api, 308));
    error
}

#[tokio::test]
async fn redirect_error_names_target_and_reason() {
    const ELSEWHERE: &str =
        ", which is not followed: the API key would be sent to another server (1 attempt)";
    const HERE: &str = ", which is not followed: the API does not redirect (1 attempt)";
    for (location, target, reason) in [
        ("https://login.example/sso?next=SECRET#x", "https://login.example/sso?…", ELSEWHERE),
        ("https://ada:SECRET@h.example", "https://***@h.example/", ELSEWHERE),
        ("https://SECRET@h.example:81/a", "https://***@h.example:81/a", ELSEWHERE),
        ("//h.example/", "http://h.example/", ELSEWHERE),
        ("javascript:alert(1)", "javascript:alert(1)", ELSEWHERE),
        ("/login?SECRET", "{host}/login?…", HERE),
        (&*format!("/{KEY}"), "{host}/[api%20key]", HERE),
        ("me/", "{host}/base/api/v1/me/", HERE),
        ("?a", "{host}/base/api/v1/me?…", HERE),
    ] {
        let mut host = String::new();
        let error = failure(|url| {
            host = url.strip_suffix("/base").unwrap().to_owned();
            Some(location.into())
        });
        let error = error.await;
        let target = target.replace("{host}", &host);
        let text = format!("me: 308 Permanent Redirect to `{target}`{reason}");
        assert_eq!(error.to_string(), text, "{location}");
        assert_eq!(error.redirect_target(), Some(&*target));
        assert_eq!(error.is_redirect_elsewhere(), reason == ELSEWHERE);
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    }
}

#[tokio::test]
async fn redirect_to_the_same_address_is_named() {
    let same = failure(|url| Some(format!("{url}/api/v1/me#top").into())).await.to_string();
    let end = "/base/api/v1/me`, the same address: the API does not redirect (1 attempt)";
    assert!(same.ends_with(end), "{same}");
}

#[tokio::test]
async fn redirect_with_an_unusable_target_is_named() {
    for location in [None, Some(b"http://[".to_vec()), Some(Vec::new())] {
        let error = failure(|_| location.clone()).await;
        let text = error.to_string();
        let reason = "308 Permanent Redirect without a valid `Location`: the API does not redirect";
        assert!(location == Some(Vec::new()) || text.contains(reason), "{text}");
        assert!(!error.is_redirect_elsewhere());
    }
}

#[tokio::test]
async fn redirect_target_is_short_and_escaped() {
    let mut location = "https://h.example/\u{202e}é\u{9b}".as_bytes().to_vec();
    location.extend([b'x'; 9_000]);
    location.push(0xff);
    let error = failure(|_| Some(location)).await;
    let target = error.redirect_target().unwrap();
    assert!(target.is_ascii() || target.ends_with('…'), "{target}");
    assert!(target.starts_with("https://h.example/%E2%80%AE%C3%A9") && target.len() < 300);
}
