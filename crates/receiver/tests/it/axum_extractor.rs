//! `Verified` as an axum extractor.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, State};
use axum::http::{Request, StatusCode};
use axum::routing::post;
use formsvc_receiver::test_util::submission_body;
use formsvc_receiver::{
    Rejection, SubmissionCreated, Verified, Verifier, VerifyError, WebhookEvent,
};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::bodies::BadBody;
use crate::support::{CREATED, SECRET, builder, delivery, request, signed, verifier};

/// State that contains more than a verifier.
#[derive(Clone)]
struct App {
    verifier: Verifier,
    name: &'static str,
}

impl FromRef<App> for Verifier {
    fn from_ref(app: &App) -> Self {
        app.verifier.clone()
    }
}

async fn any_event(event: Verified<WebhookEvent>) -> String {
    event.kind().to_owned()
}

async fn submission(submission: Verified<SubmissionCreated>) -> String {
    submission.submission_id.to_string()
}

async fn rejection(
    State(app): State<App>,
    result: Result<Verified<WebhookEvent>, Rejection>,
) -> (StatusCode, String) {
    match result {
        Ok(event) => (StatusCode::CREATED, format!("{} {}", app.name, event.kind())),
        Err(rejection) => (StatusCode::IM_A_TEAPOT, rejection.to_string()),
    }
}

async fn send_to(verifier: Verifier, path: &str, request: Request<Body>) -> (u16, String) {
    let router = Router::new()
        .route("/any", post(any_event))
        .route("/submission", post(submission))
        .route("/rejection", post(rejection))
        .with_state(App { verifier, name: "app" });
    let (mut head, body) = request.into_parts();
    head.uri = path.parse().unwrap();
    let response = router.oneshot(Request::from_parts(head, body)).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

async fn send(path: &str, request: Request<Body>) -> (u16, String) {
    send_to(verifier(), path, request).await
}

fn body_of(body: impl Into<axum::body::Bytes>) -> Request<Body> {
    delivery(body).map(Body::from)
}

#[tokio::test]
async fn handler_gets_verified_event() {
    let kind = "submission.created".to_owned();
    assert_eq!(send("/any", body_of(CREATED)).await, (200, kind));
    let body = submission_body("sub_5");
    assert_eq!(send("/submission", body_of(body)).await, (200, "sub_5".to_owned()));
    let response = send("/rejection", body_of(CREATED)).await;
    assert_eq!(response, (201, "app submission.created".to_owned()));
}

#[tokio::test]
async fn unknown_event_is_answered_with_200() {
    let unknown = r#"{"event":"form.closed"}"#;
    assert_eq!(send("/any", body_of(unknown)).await, (200, "form.closed".to_owned()));
    assert_eq!(send("/submission", body_of(unknown)).await, (200, String::new()));
}

#[tokio::test]
async fn handler_can_answer_a_rejection() {
    let unsigned = Request::post("/").body(Body::from(CREATED)).unwrap();
    let expected = (418, VerifyError::MissingHeader.to_string());
    assert_eq!(send("/rejection", unsigned).await, expected);
    let broken = request(&[&signed(&[SECRET], b"{}")], Body::new(BadBody::Broken));
    let expected = (418, Rejection::UnreadableBody.to_string());
    assert_eq!(send("/rejection", broken).await, expected);
}

#[tokio::test(start_paused = true)]
async fn extractor_applies_read_timeout() {
    let stalled = request(&[&signed(&[SECRET], b"{}")], Body::new(BadBody::Stalled));
    let start = tokio::time::Instant::now();
    assert_eq!(send("/any", stalled).await.0, 408);
    assert_eq!(start.elapsed().as_secs(), Duration::from_secs(10).as_secs(), "the default");
}

#[tokio::test]
async fn default_body_limit_of_axum_does_not_apply() {
    // 2.5 MiB; the extractors of axum accept 2 MB.
    let body = [b"\n".repeat(5 << 19), submission_body("sub_1")].concat();
    let verifier = builder().max_body(4 << 20).build().unwrap();
    assert_eq!(send_to(verifier, "/any", body_of(body)).await.0, 200);
}
