//! The tower layer in front of services of all kinds.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use formsvc_receiver::test_util::{SignedRequest, submission_body};
use formsvc_receiver::{Event, Rejection, Signed, Verified, VerifyError, VerifyLayer};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::Notify;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::bodies::{Watched, broken, stalled, time_limit};
use crate::support::{CREATED, NOW, SECRET, at, builder, polled, signed, verifier};

type Answer = Response<Full<Bytes>>;

/// A request with these signature headers.
fn request<B>(headers: &[&str], body: B) -> Request<B> {
    let mut request = Request::post("/").body(body).unwrap();
    for header in headers {
        request.headers_mut().append("x-service-signature", header.parse().unwrap());
    }
    request
}

fn delivery(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    SignedRequest::new(&SECRET.into(), at(NOW), body).build()
}

/// What comes of a request in front of a service that must not see it: status and body.
async fn refused<B>(layer: VerifyLayer, request: Request<B>) -> (u16, String)
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let inner = service_fn(async |_: Request<Full<Bytes>>| -> Result<Answer, String> {
        panic!("a refused request came through")
    });
    let response = layer.layer(inner).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

fn answer(status: u16, code: &str, message: &str) -> (u16, String) {
    (status, format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#))
}

#[tokio::test]
async fn a_body_is_not_touched_before_its_header_is_right() {
    let good = signed(&[SECRET], b"{}");
    let signature = good.split_once(',').unwrap().1;
    let upper = good.replace("v1=", "V1=");
    let malformed = || answer(401, "malformed_signature", "the signature header is malformed");
    let unsigned = |time: u64| format!("t={time},v1={}", "0".repeat(64));
    let (old, ahead) = (unsigned(NOW - 301), unsigned(NOW + 301));
    let missing = answer(401, "missing_signature", "the signature header is missing");
    for (headers, expected) in [
        (&[][..], missing),
        (&[""], malformed()),
        (&["t=1"], malformed()),
        (&[signature], malformed()),
        (&[&upper], malformed()),
        (&[&good, &good], malformed()),
        (&["t=1", signature], malformed()),
        (&[&old], answer(401, "signature_too_old", "the signature is too old")),
        (&[&ahead], answer(401, "signature_in_future", "the signature lies in the future")),
    ] {
        for layer in [VerifyLayer::new(verifier()), VerifyLayer::events(verifier())] {
            let body = Watched::of_length(4 << 20);
            let polls = body.polls();
            assert_eq!(refused(layer, request(headers, body)).await, expected, "{headers:?}");
            assert_eq!(polls.count(), 0, "{headers:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_touched() {
    let good = signed(&[SECRET], b"{}");
    let too_large = answer(413, "payload_too_large", "the body is too large");
    let body = Watched::of_length(4 << 20).announced();
    let polls = body.polls();
    let found = refused(VerifyLayer::new(verifier()), request(&[&good], body)).await;
    assert_eq!((found, polls.count()), (too_large.clone(), 0));
    for length in ["1048577", "4194304", "18446744073709551615"] {
        let body = Watched::of_length(4 << 20);
        let polls = body.polls();
        let mut request = request(&[&good], body);
        request.headers_mut().insert("content-length", length.parse().unwrap());
        let found = refused(VerifyLayer::new(verifier()), request).await;
        assert_eq!((found, polls.count()), (too_large.clone(), 0), "{length}");
    }
}

#[tokio::test]
async fn a_body_that_announces_nothing_is_read_up_to_the_cap() {
    let good = signed(&[SECRET], b"{}");
    let body = Watched::of_length(u64::MAX);
    let polls = body.polls();
    let found = refused(VerifyLayer::new(verifier()), request(&[&good], body)).await;
    assert_eq!(found.0, 413);
    // 1 MiB in pieces of 64 KiB, and the one that was too much.
    assert_eq!(polls.count(), 17);
}

#[tokio::test]
async fn a_wrong_delivery_is_refused_in_the_words_of_the_table() {
    let events = || VerifyLayer::events(verifier());
    let other = SignedRequest::new(&"whsec_other".into(), at(NOW), CREATED).build();
    let expected = answer(401, "signature_mismatch", "no signature matches");
    assert_eq!(refused(events(), other).await, expected);
    let old = SignedRequest::new(&SECRET.into(), at(NOW - 301), CREATED).build();
    let expected = answer(401, "signature_too_old", "the signature is too old");
    assert_eq!(refused(events(), old).await, expected);
    let ahead = SignedRequest::new(&SECRET.into(), at(NOW + 301), CREATED).build();
    let expected = answer(401, "signature_in_future", "the signature lies in the future");
    assert_eq!(refused(events(), ahead).await, expected);
    let expected = answer(400, "bad_event", "the body is no event");
    assert_eq!(refused(events(), delivery("{\"hunter2\":")).await, expected);
    let expected = answer(400, "unreadable_body", "the body could not be read");
    let breaks = request(&[&signed(&[SECRET], b"{}")], broken());
    assert_eq!(refused(events(), breaks).await, expected);
}

#[tokio::test]
async fn a_head_that_names_another_event_than_the_body_is_refused() {
    let expected =
        answer(400, "event_mismatch", "the event is of another kind than its header says");
    for kinds in [&["form.closed"][..], &[""], &["submission.created", "form.closed"]] {
        let mut request = delivery(CREATED);
        request.headers_mut().remove("x-service-event");
        for kind in kinds {
            request.headers_mut().append("x-service-event", kind.parse().unwrap());
        }
        assert_eq!(refused(VerifyLayer::events(verifier()), request).await, expected, "{kinds:?}");
    }
    let mut without = delivery(CREATED);
    without.headers_mut().remove("x-service-event");
    let inner = service_fn(async |_| Ok::<_, String>(Answer::default()));
    let response = VerifyLayer::events(verifier()).layer(inner).oneshot(without).await.unwrap();
    assert_eq!(response.status(), 200, "what is not there contradicts nothing");
}

#[tokio::test]
async fn a_strangers_body_takes_up_no_place_behind_the_layer() {
    let inner = service_fn(async |_: Request<Full<Bytes>>| Ok::<_, String>(Answer::default()));
    let service = ServiceBuilder::new()
        .layer(VerifyLayer::new(verifier()))
        .concurrency_limit(1)
        .service(inner);
    let forged = format!("t={NOW},v1={}", "0".repeat(64));
    let mut waiting = Box::pin(service.clone().oneshot(request(&[&forged], stalled())));
    assert!(polled(waiting.as_mut()).await.is_pending(), "for a body that does not come");
    let mut verified = Box::pin(service.oneshot(delivery("{}").map(Body::new)));
    let Poll::Ready(answer) = polled(verified.as_mut()).await else { panic!("waits") };
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_verified_request_waits_until_the_service_is_ready() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let inner = service_fn(move |_: Request<Full<Bytes>>| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            Ok::<_, String>(Answer::default())
        }
    });
    let service = ServiceBuilder::new()
        .layer(VerifyLayer::new(verifier()))
        .concurrency_limit(1)
        .service(inner);
    let mut first = Box::pin(service.clone().oneshot(delivery("{}")));
    let mut second = Box::pin(service.oneshot(delivery("{}")));
    assert!(polled(first.as_mut()).await.is_pending());
    assert!(polled(second.as_mut()).await.is_pending());
    go.notify_one();
    assert!(polled(first).await.is_ready());
    assert!(polled(second.as_mut()).await.is_pending(), "it is called only now");
    go.notify_one();
    assert!(polled(second).await.is_ready());
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_let_go() {
    let (limit, begun, over) = time_limit();
    let layer = VerifyLayer::new(limit.build().unwrap());
    let at_once = service_fn(async |_| Ok::<_, String>(Answer::default()));
    let response = layer.layer(at_once).oneshot(delivery("{}")).await.unwrap();
    assert_eq!((response.status().as_u16(), begun.load(Ordering::Relaxed)), (200, 0), "no timer");
    let stalls = request(&[&signed(&[SECRET], b"{}")], stalled());
    let mut waiting = Box::pin(refused(layer, stalls));
    for _ in 0..3 {
        assert!(polled(waiting.as_mut()).await.is_pending());
    }
    over.notify_one();
    assert_eq!(waiting.await, answer(408, "body_timeout", "the body took too long"));
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_verified_request_goes_on_with_body_proof_and_event() {
    let inner = service_fn(async |request: Request<Full<Bytes>>| {
        let signed = request.extensions().get::<Signed>().unwrap();
        assert_eq!((signed.timestamp(), signed.secret()), (NOW, "1"));
        assert_eq!(request.extensions().get::<u8>(), Some(&7), "what was there before");
        let event =
            request.extensions().get::<Verified<Event>>().map(|event| event.kind().to_owned());
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Ok::<_, String>(Response::new(Full::<Bytes>::from(format!("{event:?} {}", body.len()))))
    });
    for (layer, body, expected) in [
        (VerifyLayer::new(verifier()), &b"\xff\0"[..], "None 2"),
        (VerifyLayer::events(verifier()), CREATED.as_bytes(), "Some(\"submission.created\") 165"),
        (VerifyLayer::events(verifier()), br#"{"event":"x"}"#, "Some(\"x\") 13"),
    ] {
        let mut request = delivery(body);
        request.extensions_mut().insert(7_u8);
        let response = layer.layer(inner).oneshot(request).await.unwrap();
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(answer, expected);
    }
}

#[tokio::test]
async fn an_error_of_the_inner_service_passes_through_whatever_it_is() {
    struct NoErrorType;
    let inner = service_fn(async |_: Request<Full<Bytes>>| Err::<Answer, _>(NoErrorType));
    let result = VerifyLayer::new(verifier()).layer(inner).oneshot(delivery("{}")).await;
    assert!(matches!(result, Err(NoErrorType)));
}

/// A service that must be ready before it is called, and stays on its thread.
struct OnceReady {
    ready: bool,
    calls: Rc<Cell<u32>>,
}

impl Clone for OnceReady {
    fn clone(&self) -> Self {
        // A clone is not ready only because its origin is.
        Self { ready: false, calls: Rc::clone(&self.calls) }
    }
}

impl Service<Request<Full<Bytes>>> for OnceReady {
    type Response = Answer;
    type Error = String;
    type Future = std::future::Ready<Result<Answer, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "was not ready");
        self.calls.set(self.calls.get() + 1);
        std::future::ready(Ok(Answer::default()))
    }
}

#[tokio::test]
async fn the_service_that_is_ready_is_the_one_that_is_called() {
    let inner = OnceReady { ready: false, calls: Rc::default() };
    let calls = Rc::clone(&inner.calls);
    let mut service = VerifyLayer::new(verifier()).layer(inner);
    for _ in 0..3 {
        let ready = ServiceExt::<Request<Full<Bytes>>>::ready(&mut service).await.unwrap();
        ready.call(delivery("{}")).await.unwrap();
    }
    assert_eq!(calls.get(), 3);
}

#[tokio::test]
async fn a_router_can_stand_behind_the_layer() {
    use axum::{Extension, Router, routing::post};
    async fn hook(Extension(event): Extension<Verified<Event>>, body: Bytes) -> String {
        assert_eq!(event.body(), &body);
        event.into_submission().unwrap().submission_id.to_string()
    }
    let layer = VerifyLayer::events(verifier());
    let router: Router = Router::new().route("/", post(hook)).layer(layer);
    let request = delivery(submission_body("sub_9")).map(Body::new);
    let response = router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "sub_9");
    let response = router.oneshot(request_without_header()).await.unwrap();
    assert_eq!(response.status(), 401);
}

fn request_without_header() -> Request<Body> {
    request(&[], Body::from(CREATED))
}

#[tokio::test]
async fn a_cap_of_the_receivers_own_holds_to_the_byte() {
    let of = |max| {
        let verifier = builder().secret(SECRET.into()).max_body(max).build().unwrap();
        VerifyLayer::new(verifier)
    };
    assert_eq!(refused(of(CREATED.len() - 1), delivery(CREATED)).await.0, 413);
    let inner = service_fn(async |_| Ok::<_, String>(Answer::default()));
    let response = of(CREATED.len()).layer(inner).oneshot(delivery(CREATED)).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[test]
fn a_rejection_is_made_of_what_verification_says() {
    let rejection = Rejection::from(VerifyError::TooOld);
    assert_eq!(rejection.to_string(), VerifyError::TooOld.to_string());
}
