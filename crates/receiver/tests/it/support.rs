//! What the tests share: a receiver's clock, secrets, and deliveries signed by the protocol.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, sign};
use formsvc_receiver::{Verifier, VerifierBuilder};

/// When everything here happens, in Unix seconds.
pub(crate) const NOW: u64 = 1_767_225_600;
pub(crate) const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
pub(crate) const OLD_SECRET: &str = "whsec_9zYxWvUtSrQpOnMlKjIhGfEdCbA0123456789abcdefg";

/// A body as the service sends it.
pub(crate) const CREATED: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"Größe","data":{"n":9007199254740993},"created_at":"2026-01-01T00:00:00.000Z"}"#;

pub(crate) fn at(unix_seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(unix_seconds)
}

/// A builder whose clock stands at [`NOW`].
pub(crate) fn builder() -> VerifierBuilder {
    Verifier::builder().clock(|| at(NOW))
}

pub(crate) fn verifier() -> Verifier {
    builder().secret(SECRET.into()).build().unwrap()
}

/// Polls a future once.
pub(crate) async fn polled<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut future).poll(context))).await
}

/// The header of a body signed now with each of the secrets.
pub(crate) fn signed(secrets: &[&str], body: &[u8]) -> String {
    signed_at(secrets, NOW, body)
}

pub(crate) fn signed_at(secrets: &[&str], unix_seconds: u64, body: &[u8]) -> String {
    let keys: Vec<_> =
        secrets.iter().map(|text| SigningSecret::new(&(*text).into()).unwrap()).collect();
    sign(&keys, unix_seconds, body)
}
