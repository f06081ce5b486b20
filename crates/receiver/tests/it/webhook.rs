//! The extractor for axum.

use axum::Router;
use axum::body::Body;
use axum::extract::FromRef;
use axum::http::{Request, Response, StatusCode};
use axum::routing::post;
use formsvc_receiver::test_util::{SignedRequest, submission_body};
use formsvc_receiver::{
    Event, Rejection, SubmissionCreated, UnknownEvent, Verified, Verifier, VerifyError, Webhook,
};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::bodies::{Watched, broken, stalled, time_limit};
use crate::support::{CREATED, NOW, SECRET, at, polled, signed, verifier};

/// State that is more than a verifier.
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

async fn any(Webhook(event): Webhook) -> String {
    format!("{} {}", event.secret(), event.kind())
}

async fn submissions(Webhook(submission): Webhook<SubmissionCreated>) -> String {
    submission.submission_id.to_string()
}

async fn told(
    axum::extract::State(app): axum::extract::State<App>,
    webhook: Result<Webhook<Event>, Rejection>,
) -> (StatusCode, String) {
    match webhook {
        Ok(Webhook(event)) => (StatusCode::CREATED, format!("{} {}", app.name, event.kind())),
        Err(rejection) => (StatusCode::IM_A_TEAPOT, rejection.to_string()),
    }
}

async fn answer(path: &str, request: Request<Body>) -> (u16, String) {
    let router = Router::new()
        .route("/any", post(any))
        .route("/submissions", post(submissions))
        .route("/told", post(told))
        .with_state(App { verifier: verifier(), name: "app" });
    let (mut head, body) = request.into_parts();
    head.uri = path.parse().unwrap();
    let response: Response<Body> = router.oneshot(Request::from_parts(head, body)).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

fn delivery(body: impl Into<axum::body::Bytes>) -> Request<Body> {
    SignedRequest::new(&SECRET.into(), at(NOW), body).build().map(Body::new)
}

#[tokio::test]
async fn a_handler_gets_what_was_verified() {
    assert_eq!(answer("/any", delivery(CREATED)).await, (200, "1 submission.created".to_owned()));
    let found = answer("/submissions", delivery(submission_body("sub_5"))).await;
    assert_eq!(found, (200, "sub_5".to_owned()));
    let found = answer("/told", delivery(CREATED)).await;
    assert_eq!(found, (201, "app submission.created".to_owned()));
}

#[tokio::test]
async fn an_event_that_a_handler_does_not_take_is_answered_with_success() {
    let unknown = r#"{"event":"form.closed"}"#;
    assert_eq!(answer("/any", delivery(unknown)).await, (200, "1 form.closed".to_owned()));
    assert_eq!(answer("/submissions", delivery(unknown)).await, (200, String::new()));
}

#[tokio::test]
async fn what_is_refused_is_answered_in_the_shape_of_the_service() {
    let found = answer("/any", delivery("nonsense")).await;
    let body = r#"{"error":{"code":"bad_event","message":"the body is no event"}}"#;
    assert_eq!(found, (400, body.to_owned()));
    let mut forged = delivery(CREATED);
    *forged.body_mut() = Body::from(CREATED.replace("Größe", "Grösse"));
    let found = answer("/submissions", forged).await;
    let body = r#"{"error":{"code":"signature_mismatch","message":"no signature matches"}}"#;
    assert_eq!(found, (401, body.to_owned()));
}

#[tokio::test]
async fn a_handler_can_answer_a_refusal_itself() {
    let request = Request::post("/").body(Body::from(CREATED)).unwrap();
    let found = answer("/told", request).await;
    assert_eq!(found, (418, VerifyError::MissingHeader.to_string()));
    let header = signed(&[SECRET], b"{}");
    let breaks = Request::post("/").header("x-service-signature", header).body(broken()).unwrap();
    assert_eq!(answer("/told", breaks).await, (418, Rejection::Unreadable.to_string()));
}

#[tokio::test]
async fn a_body_is_not_touched_before_its_header_is_right() {
    let good = signed(&[SECRET], b"{}");
    let old = format!("t={},v1={}", NOW - 301, "0".repeat(64));
    for (headers, body, status) in [
        (vec![&*old], Watched::of_length(4 << 20), 401),
        (vec![], Watched::of_length(4 << 20), 401),
        (vec!["t=1"], Watched::of_length(4 << 20), 401),
        (vec![&*good, &*good], Watched::of_length(4 << 20), 401),
        (vec![&*good], Watched::of_length(4 << 20).announced(), 413),
    ] {
        let polls = body.polls();
        let mut request = Request::post("/").body(Body::new(body)).unwrap();
        for header in &headers {
            request.headers_mut().append("x-service-signature", header.parse().unwrap());
        }
        assert_eq!(answer("/any", request).await.0, status, "{headers:?}");
        assert_eq!(polls.count(), 0, "{headers:?}");
    }
}

#[tokio::test]
async fn a_head_that_names_another_event_than_the_body_is_refused() {
    let mut request = delivery(CREATED);
    request.headers_mut().insert("x-service-event", "form.closed".parse().unwrap());
    let (status, body) = answer("/submissions", request).await;
    assert_eq!((status, body.contains("event_mismatch")), (400, true), "{body}");
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_let_go() {
    let (limit, _, over) = time_limit();
    let router = Router::new().route("/", post(any)).with_state(limit.build().unwrap());
    let header = signed(&[SECRET], b"{}");
    let request = Request::post("/").header("x-service-signature", header).body(stalled());
    let mut waiting = Box::pin(router.oneshot(request.unwrap()));
    assert!(polled(waiting.as_mut()).await.is_pending());
    over.notify_one();
    assert_eq!(waiting.await.unwrap().status(), 408);
}

#[tokio::test]
async fn the_default_limit_of_axum_does_not_count() {
    // Two megabytes and a half, where axum's own extractors stop at two.
    let body = submission_body("sub_1");
    let body = [b"\n".repeat(5 << 19), body].concat();
    let verifier = crate::support::builder().secret(SECRET.into()).max_body(4 << 20);
    let router = Router::new().route("/", post(any)).with_state(verifier.build().unwrap());
    let response = router.oneshot(delivery(body)).await.unwrap();
    assert_eq!(response.status(), 200);
}

/// What narrows an event keeps its proof.
#[test]
fn an_unknown_event_is_still_a_verified_one() {
    let header = signed(&[SECRET], br#"{"event":"x"}"#);
    let verified = verifier().verify_event(header.as_bytes(), r#"{"event":"x"}"#).unwrap();
    let unknown: Verified<UnknownEvent> = verified.into_submission().unwrap_err();
    assert_eq!((unknown.kind(), unknown.timestamp()), ("x", NOW));
}
