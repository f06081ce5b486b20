//! The tower layer in front of different services.

use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use formsvc_receiver::http::{Request, Response};
use formsvc_receiver::test_util::SignedRequest;
use formsvc_receiver::{Verified, VerifyLayer, WebhookEvent};
use http_body_util::{BodyExt, Full, Limited};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::bodies::{BadBody, CountedBody};
use crate::support::{
    CREATED, NOW, SECRET, at, builder, delivery, poll_once, refusal, request, signed, verifier,
};

type InnerResponse = Response<Full<Bytes>>;

fn layer() -> VerifyLayer {
    VerifyLayer::new(verifier())
}

/// Sends a request that must not reach the inner service. Returns status and body of the response.
async fn refuse<B>(layer: VerifyLayer, request: Request<B>) -> (u16, String)
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let inner = service_fn(async |_: Request<Full<Bytes>>| -> Result<InnerResponse, String> {
        panic!("the request reached the service")
    });
    let response = layer.layer(inner).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

async fn accept(layer: VerifyLayer, request: Request<Bytes>) -> u16 {
    let inner =
        service_fn(async |_: Request<Full<Bytes>>| Ok::<_, String>(InnerResponse::default()));
    layer.layer(inner).oneshot(request.map(Full::new)).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn body_is_not_read_before_headers_are_acceptable() {
    let good = signed(&[SECRET], b"{}");
    let forged = |time: u64| format!("t={time},v1={}", "0".repeat(64));
    let (old, future) = (forged(NOW - 301), forged(NOW + 301));
    let malformed = || refusal(401, "malformed_signature", "the signature header is malformed");
    let missing = refusal(401, "missing_signature", "the signature header is missing");
    let too_old = refusal(401, "signature_too_old", "the signature is too old");
    let in_future = refusal(401, "signature_in_future", "the signature is in the future");
    for (signatures, expected) in [
        (&[][..], missing),
        (&[""], malformed()),
        (&["t=1"], malformed()),
        (&[&good.replace("v1=", "V1=")], malformed()),
        (&[&good, &good], malformed()),
        (&[&old], too_old),
        (&[&future], in_future),
    ] {
        let body = CountedBody::new(4 << 20);
        let reads = body.reads();
        let response = refuse(layer(), request(signatures, body)).await;
        assert_eq!((response, reads()), (expected, 0), "{signatures:?}");
    }
}

#[tokio::test]
async fn body_with_too_large_length_is_not_read() {
    let good = signed(&[SECRET], b"{}");
    let expected = refusal(413, "payload_too_large", "the body is too large");
    let body = CountedBody::new(4 << 20).with_length();
    let reads = body.reads();
    let response = refuse(layer(), request(&[&good], body)).await;
    assert_eq!((response, reads()), (expected.clone(), 0));
    for length in ["1048577", "18446744073709551615"] {
        let body = CountedBody::new(4 << 20);
        let reads = body.reads();
        let mut request = request(&[&good], body);
        request.headers_mut().insert("content-length", length.parse().unwrap());
        assert_eq!((refuse(layer(), request).await, reads()), (expected.clone(), 0), "{length}");
    }
}

#[tokio::test]
async fn body_without_length_is_read_up_to_the_limit() {
    let body = CountedBody::new(u64::MAX);
    let reads = body.reads();
    let response = refuse(layer(), request(&[&signed(&[SECRET], b"{}")], body)).await;
    // 16 chunks of 64 KiB are 1 MiB; the 17th is too much.
    assert_eq!((response.0, reads()), (413, 17));
    let limited = Limited::new(Body::from(CREATED), 10);
    let header = signed(&[SECRET], CREATED.as_bytes());
    assert_eq!(refuse(layer(), request(&[&header], limited)).await.0, 413, "another limit");
}

#[tokio::test]
async fn size_limit_is_exact() {
    let layer = |max| VerifyLayer::new(builder().max_body(max).build().unwrap());
    let too_long = delivery(CREATED).map(Full::new);
    assert_eq!(refuse(layer(CREATED.len() - 1), too_long).await.0, 413);
    assert_eq!(accept(layer(CREATED.len()), delivery(CREATED)).await, 200);
}

#[tokio::test]
async fn invalid_delivery_is_refused_with_its_code() {
    let other = SignedRequest::new("whsec_of_another_endpoint", at(NOW), CREATED).build();
    let expected = refusal(401, "signature_mismatch", "no signature matches");
    assert_eq!(refuse(layer(), other.map(Full::new)).await, expected);
    let expected = refusal(400, "bad_event", "the body is not a valid event");
    assert_eq!(refuse(layer(), delivery("{\"hunter2\":").map(Full::new)).await, expected);
    let expected = refusal(400, "unreadable_body", "the body could not be read");
    let broken = request(&[&signed(&[SECRET], b"{}")], BadBody::Broken);
    assert_eq!(refuse(layer(), broken).await, expected);
}

#[tokio::test]
async fn event_header_must_match_the_body() {
    let expected = refusal(400, "event_mismatch", "the event header does not match the body");
    for kinds in [&["form.closed"][..], &[""], &["submission.created", "form.closed"]] {
        let mut request = delivery(CREATED).map(Full::new);
        request.headers_mut().remove("x-service-event");
        for kind in kinds {
            request.headers_mut().append("x-service-event", kind.parse().unwrap());
        }
        assert_eq!(refuse(layer(), request).await, expected, "{kinds:?}");
    }
    let mut request = delivery(CREATED);
    request.headers_mut().remove("x-service-event");
    assert_eq!(accept(layer(), request).await, 200, "the header is optional");
}

#[tokio::test(start_paused = true)]
async fn stalled_body_is_refused_after_read_timeout() {
    let layer = VerifyLayer::new(builder().read_timeout(Duration::from_secs(3)).build().unwrap());
    let stalled = request(&[&signed(&[SECRET], b"{}")], BadBody::Stalled);
    let start = tokio::time::Instant::now();
    let expected = refusal(408, "body_timeout", "the body took too long");
    assert_eq!(refuse(layer, stalled).await, expected);
    let elapsed = start.elapsed();
    assert!((3.0..3.1).contains(&elapsed.as_secs_f64()), "{elapsed:?}");
    assert_eq!(verifier().read_timeout(), Duration::from_secs(10), "the default");
}

/// The concurrency limit panics if it is called before it was polled ready.
#[tokio::test]
async fn unverified_request_does_not_occupy_inner_service() {
    let inner =
        service_fn(async |_: Request<Full<Bytes>>| Ok::<_, String>(InnerResponse::default()));
    let service = ServiceBuilder::new().layer(layer()).concurrency_limit(1).service(inner);
    let forged = format!("t={NOW},v1={}", "0".repeat(64));
    let stalled = request(&[&forged], Body::new(BadBody::Stalled));
    let mut waiting = Box::pin(service.clone().oneshot(stalled));
    assert!(poll_once(waiting.as_mut()).await.is_pending());
    let mut verified = Box::pin(service.oneshot(delivery(CREATED).map(Body::from)));
    let Poll::Ready(response) = poll_once(verified.as_mut()).await else { panic!("waits") };
    assert_eq!(response.unwrap().status(), 200);
}

#[tokio::test]
async fn inner_service_gets_body_event_and_extensions() {
    let inner = service_fn(async |request: Request<Full<Bytes>>| {
        let event = request.extensions().get::<Verified<WebhookEvent>>().unwrap().clone();
        assert_eq!(request.extensions().get::<u8>(), Some(&7));
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(event.body(), &body);
        Ok::<_, String>(Response::new(Full::<Bytes>::from(event.kind().to_owned())))
    });
    for (body, kind) in [(CREATED, "submission.created"), (r#"{"event":"x"}"#, "x")] {
        let mut request = delivery(body).map(Full::new);
        request.extensions_mut().insert(7_u8);
        let response = layer().layer(inner).oneshot(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), kind);
    }
}
