//! What every response has, whatever made it.

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::get;
use formsvc_server::api::Edge;
use http::{HeaderValue, Method, Request, StatusCode, Version};

use super::service::{Answer, Service, answer};

/// Handlers that answer as no handler of ours would.
fn odd_routes() -> Edge {
    let status = |status: u16| async move { StatusCode::from_u16(status).unwrap() };
    let router = Router::new()
        .route("/panic", get(async || -> &'static str { panic!("a message of the source") }))
        .route(
            "/panic-data",
            get(async || -> &'static str { panic!("{}", String::from("an answer")) }),
        )
        .route("/400", get(async move || status(400).await))
        .route("/404", get(async move || status(404).await))
        .route("/415", get(async move || status(415).await))
        .route("/500", get(async move || status(500).await))
        .route(
            "/503",
            get(async move || ([("retry-after", "9")], status(503).await).into_response()),
        )
        .route("/html", get(async || (StatusCode::BAD_GATEWAY, axum::response::Html("<p>"))));
    Edge::new(router)
}

async fn odd(target: &str) -> Answer {
    let request = Request::get(target).header("host", "x").body(Body::empty()).unwrap();
    answer(&odd_routes(), request).await
}

#[tokio::test]
async fn every_error_gets_the_error_shape() {
    let table = [
        ("/panic", 500, "internal_error"),
        ("/panic-data", 500, "internal_error"),
        ("/400", 400, "bad_request"),
        ("/404", 404, "not_found"),
        ("/nowhere", 404, "not_found"),
        ("/415", 415, "bad_request"),
        ("/500", 500, "internal_error"),
        ("/503", 503, "unavailable"),
        ("/html", 502, "internal_error"),
    ];
    for (target, status, code) in table {
        let answer = odd(target).await;
        answer.assert_error(status, code);
        assert!(answer.header("x-request-id").starts_with("req_"), "{target}");
        assert!(!answer.body.contains("source") && !answer.body.contains("an answer"));
    }
    assert_eq!(odd("/503").await.header("retry-after"), "9");
}

#[tokio::test]
async fn other_methods_are_refused_and_told_which_there_are() {
    let service = Service::new().await;
    let targets = ["/api/v1/me", "/api/v1/forms", "/api/v1/forms/x/submissions", "/livez"];
    let odd = Method::from_bytes(b"BREW").unwrap();
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS, odd] {
        for target in targets {
            let answer = service.send(service.request(target).method(&method)).await;
            answer.assert_error(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), "GET,HEAD", "{method} {target}");
            let told = format!("this path does not answer `{method}`, but `GET` and `HEAD`");
            assert!(answer.body.contains(&told), "{}", answer.body);
        }
    }
    let head = service.request("/api/v1/me").method(Method::HEAD);
    let head = service.send(head.header("authorization", service.bearer())).await;
    assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
    let get = service.get("/api/v1/me").await;
    assert_eq!(head.header("content-length"), get.body.len().to_string());
}

#[tokio::test]
async fn paths_are_taken_to_the_letter() {
    let service = Service::new().await;
    let targets = [
        "/",
        "/api",
        "/api/v1",
        "/api/v1/me/",
        "//api/v1/me",
        "/api/v1//me",
        "/API/v1/me",
        "/api/v2/me",
        "/api/v1/forms/x",
        "/api/v1/forms/a/b/submissions",
        "/api/v1/%6De",
        "/api/v1/./me",
        "*",
    ];
    for target in targets {
        let answer = service.get(target).await;
        answer.assert_error(404, "not_found");
        assert!(answer.body.contains(&format!("`{target}`")), "{}", answer.body);
    }
    let long = service.get(&format!("/{}", "x".repeat(5_000))).await;
    assert!(long.body.contains("xx…`") && long.body.len() < 200, "{}", long.body);
}

#[tokio::test]
async fn an_overlong_target_and_a_large_body_are_refused() {
    let service = Service::new().await;
    let answer = service.get(&format!("/api/v1/me?x={}", "y".repeat(8 * 1024))).await;
    answer.assert_error(400, "bad_request");
    let large = service.request("/api/v1/me").header("authorization", service.bearer());
    let answer = service.send(large.header("content-length", "65537")).await;
    answer.assert_error(413, "payload_too_large");
}

#[tokio::test]
async fn a_head_over_32_kib_is_refused() {
    let service = Service::new().await;
    for (bytes, status) in [(32_000, 200), (33_000, 400), (40_000, 400)] {
        let request = service.request("/api/v1/me").header("authorization", service.bearer());
        let answer = service.send(request.header("x", "y".repeat(bytes))).await;
        assert_eq!(answer.status.as_u16(), status, "{bytes}: {}", answer.body);
    }
    let many = (0..60).fold(service.request("/livez"), |request, n| {
        request.header(format!("x-{n}"), "y".repeat(600))
    });
    service.send(many).await.assert_error(400, "bad_request");
}

#[tokio::test]
async fn http_1_1_needs_one_host_and_http_1_0_none() {
    let service = Service::new().await;
    let none = Request::get("/livez");
    service.send(none).await.assert_error(400, "bad_request");
    let two = service.request("/livez").header("host", "other");
    service.send(two).await.assert_error(400, "bad_request");
    service.send(Request::get("/livez").version(Version::HTTP_10)).await.assert_ok();
}

#[tokio::test]
async fn a_request_id_of_the_client_is_not_taken_over() {
    let service = Service::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = HeaderValue::from_static("req_00000000000000000000000000000000");
        let request = service.request("/api/v1/me").header("x-request-id", id);
        ids.push(service.send(request).await.header("x-request-id").to_owned());
    }
    assert!(ids.is_sorted_by(|a, b| a < b) && !ids[0].starts_with("req_0000"), "{ids:?}");
}
