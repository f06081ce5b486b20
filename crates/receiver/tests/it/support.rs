//! Constants and helpers that the tests share.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_receiver::http::Request;
use formsvc_receiver::test_util::{SignedRequest, sign};
use formsvc_receiver::{Verifier, VerifierBuilder, bytes::Bytes};

/// The current time of the tests in Unix seconds.
pub(crate) const NOW: u64 = 1_767_225_600;
pub(crate) const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
pub(crate) const OLD_SECRET: &str = "whsec_9zYxWvUtSrQpOnMlKjIhGfEdCbA0123456789abcdefg";
pub(crate) const OTHER_SECRET: &str = "whsec_of_another_endpoint";

/// A body as the service sends it.
pub(crate) const CREATED: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"Größe","data":{"n":9007199254740993},"created_at":"2026-01-01T00:00:00.000Z"}"#;

pub(crate) fn at(unix_seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(unix_seconds)
}

/// A builder with [`SECRET`] and a clock that shows [`NOW`].
pub(crate) fn builder() -> VerifierBuilder {
    Verifier::builder().secret(SECRET).clock(|| at(NOW))
}

pub(crate) fn verifier() -> Verifier {
    builder().build().unwrap()
}

/// A signature header made [`NOW`].
pub(crate) fn signed(secrets: &[&str], body: &[u8]) -> String {
    signed_at(secrets, NOW, body)
}

pub(crate) fn signed_at(secrets: &[&str], unix_seconds: u64, body: &[u8]) -> String {
    sign(secrets.iter().copied(), at(unix_seconds), body)
}

/// A delivery signed with [`SECRET`] at [`NOW`].
pub(crate) fn delivery(body: impl Into<Bytes>) -> Request<Bytes> {
    SignedRequest::new(SECRET, at(NOW), body).build()
}

/// A request with these signature headers.
pub(crate) fn request<B>(signatures: &[&str], body: B) -> Request<B> {
    let mut request = Request::post("/").body(body).unwrap();
    for signature in signatures {
        request.headers_mut().append("x-service-signature", signature.parse().unwrap());
    }
    request
}

/// Status and body of an error response.
pub(crate) fn refusal(status: u16, code: &str, message: &str) -> (u16, String) {
    (status, format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#))
}

/// Polls a future once.
pub(crate) async fn poll_once<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut future).poll(context))).await
}
