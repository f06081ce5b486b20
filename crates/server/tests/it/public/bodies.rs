//! Bodies that are not as they should be.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::Request;

use super::service::{Service, URLENCODED};

async fn refused(service: &Service, content_type: &str, body: impl Into<Body>) -> (u16, String) {
    let request = Request::post("/f/form").header("content-type", content_type);
    let answer = service.send(request.header("accept", "application/json"), body).await;
    let error = answer.json()["error"].clone();
    answer.assert_error(answer.status.as_u16(), error["code"].as_str().unwrap());
    (answer.status.as_u16(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn other_types_and_charsets_are_not_read() {
    let service = Service::with_form().await;
    for content_type in [
        "text/plain",
        "application/xml",
        "application/json; charset=utf-16",
        "application/x-www-form-urlencoded; charset=iso-8859-1",
        "",
    ] {
        let (status, message) = refused(&service, content_type, "Name=a").await;
        assert_eq!(status, 415, "{content_type}: {message}");
    }
    let page = service.post("/f/form", "text/plain", "Name=a").await;
    page.assert_page(415);
    let none = service.send(Request::post("/f/form"), "Name=a").await;
    none.assert_page(415);
    let coded = |coding: &str| {
        let request = Request::post("/f/form").header("content-type", URLENCODED);
        request.header("content-encoding", coding)
    };
    service.send(coded("gzip"), "Name=a").await.assert_page(415);
    service.send(coded("identity"), "Name=a").await.assert_thanks("form");
    // Who sends JSON that is not read reads JSON all the same.
    let latin = Request::post("/f/form").header("content-type", "application/json; charset=latin1");
    let packed = Request::post("/f/form").header("content-type", "Application/JSON");
    for request in [latin, packed.header("content-encoding", "gzip")] {
        service.send(request, "{}").await.assert_error(415, "unsupported_media_type");
    }
}

#[tokio::test]
async fn a_file_is_refused_by_name_and_an_empty_file_field_is_nothing() {
    let service = Service::with_form().await;
    let part = |disposition: &str, value: &str| {
        format!("--x\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n")
    };
    let multipart = "multipart/form-data; boundary=x";
    let name = part("name=\"Name\"", "a");
    let file = part("name=\"Photo \u{202e}\"; filename=\"a.png\"", "png");
    let (status, message) = refused(&service, multipart, format!("{name}{file}--x--")).await;
    assert_eq!(
        (status, message.as_str()),
        (415, r"`Photo \u{202e}` is a file, and files are not taken")
    );
    let nothing = part("name=\"Photo\"; filename=\"\"", "");
    let taken = service.post("/f/form", multipart, format!("{name}{nothing}--x--\r\n")).await;
    taken.assert_thanks("form");
    assert_eq!(service.kept("form").await, [r#"{"Name":"a","Terms":false}"#]);
}

#[tokio::test]
async fn what_is_not_what_it_says_is_a_bad_request() {
    let service = Service::with_form().await;
    let multipart = "multipart/form-data; boundary=x";
    for (content_type, body) in [
        (URLENCODED, &b"Name=\xff"[..]),
        (URLENCODED, b"Name=%ff"),
        (URLENCODED, b"Name=%4"),
        ("application/json", b"[]"),
        ("application/json", b""),
        ("application/json", b"{\"Name\":\"\xff\"}"),
        ("application/json", b"{\"Name\":\"a\"} x"),
        (multipart, b""),
        (multipart, b"--x\r\nContent-Disposition: form-data; name=\"Name\"\r\n\r\na"),
        (multipart, b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--"),
        (multipart, b"--x\r\nContent-Disposition: form-data; name=\"Name\"\r\n\r\n\xff\r\n--x--"),
    ] {
        let (status, message) = refused(&service, content_type, body).await;
        assert_eq!(status, 400, "{content_type} {body:?}: {message}");
    }
    let latin = b"--x\r\nContent-Disposition: form-data; name=\"Name\"\r\n\
        Content-Type: text/plain; charset=latin1\r\n\r\na\r\n--x--";
    assert_eq!(refused(&service, multipart, &latin[..]).await.0, 415);
    assert!(service.kept("form").await.is_empty());
}

#[tokio::test]
async fn a_body_has_at_most_256_kib() {
    let service = Service::new().await;
    service.form("form", None).await;
    let of = |length: usize| format!("a={}", "x".repeat(length - 2));
    service.post("/f/form", URLENCODED, of(256 << 10)).await.assert_thanks("form");
    assert_eq!(refused(&service, URLENCODED, of((256 << 10) + 1)).await.0, 413);
    service.post("/f/form", URLENCODED, of((256 << 10) + 1)).await.assert_page(413);
    // Announced, and not read at all.
    let request = Request::post("/f/form").header("content-type", URLENCODED);
    let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let announced = request.header("content-length", (256 << 10) + 1);
    service.send(announced, never).await.assert_page(413);
    // Not announced.
    let chunks = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 1 << 10])));
    let endless = Body::from_stream(chunks);
    assert_eq!(refused(&service, URLENCODED, endless).await.0, 413);
}

#[tokio::test(start_paused = true)]
async fn a_body_has_30_seconds() {
    let service = Service::with_form().await;
    let began = tokio::time::Instant::now();
    let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    assert_eq!(refused(&service, URLENCODED, never).await.0, 408);
    assert_eq!(began.elapsed().as_secs(), 30);
    let dribble = stream::unfold((), async |()| {
        // Sleeps because a client that dribbles is the point; the clock is paused.
        tokio::time::sleep(Duration::from_secs(5)).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
    });
    let dribble = Body::from_stream(Box::pin(dribble));
    assert_eq!(refused(&service, URLENCODED, dribble).await.0, 408);
    let broken =
        stream::iter([Ok(Bytes::from_static(b"Name=a")), Err(std::io::Error::other("gone"))]);
    assert_eq!(refused(&service, URLENCODED, Body::from_stream(broken)).await.0, 400);
    assert!(service.kept("form").await.is_empty());
}
