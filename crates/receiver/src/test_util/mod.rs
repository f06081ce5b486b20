//! Signs deliveries like the service, for tests of receivers.
//!
//! ```
//! use std::time::SystemTime;
//! use formsvc_receiver::Verifier;
//! use formsvc_receiver::test_util::{SignedRequest, submission_body};
//!
//! let verifier = Verifier::new("whsec_of_my_tests")?;
//! let body = submission_body("sub_1");
//! let request = SignedRequest::new("whsec_of_my_tests", SystemTime::now(), body).build();
//! let event = verifier.verify_request(request.headers(), request.body().clone())?;
//! assert_eq!(event.kind(), "submission.created");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod signed_request;
mod vectors;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature;

pub use self::signed_request::SignedRequest;
pub use self::vectors::{ExpectedResult, SignatureVector, signature_vectors};
use crate::{SignatureProof, SigningSecret, Verified, WebhookEvent};

/// Returns the value of `X-Service-Signature` for a body (SPEC §5): one `v1` for each secret, two during
/// a rotation. The time is cut to seconds. Panics if a secret is empty or the time is before 1970.
pub fn sign<'a>(
    secrets: impl IntoIterator<Item = &'a str>,
    time: SystemTime,
    body: &[u8],
) -> String {
    let to_secret = |text: &str| SigningSecret::new(text).expect("the secret is empty");
    let secrets: Vec<_> = secrets.into_iter().map(to_secret).collect();
    let time = time.duration_since(UNIX_EPOCH).expect("the time is before 1970");
    signature::sign(&secrets, time.as_secs(), body)
}

/// Returns a body like the service's (SPEC §6), with this `submission_id`, which must not contain
/// quotation marks.
pub fn submission_body(submission_id: &str) -> Vec<u8> {
    let rest = r#""form_id":"frm_test","form_title":"Test","data":{"Name":"Ada"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    format!(r#"{{"event":"submission.created","submission_id":"{submission_id}",{rest}"#).into()
}

/// Returns an event as if it had been verified, for tests of handlers: signed at Unix second 0 with a
/// secret named `test`.
///
/// This is the only way around a [`Verifier`](crate::Verifier), and the reason why the feature
/// `test-util` is for dev-dependencies only.
pub fn verified(event: WebhookEvent) -> Verified<WebhookEvent> {
    let body = Bytes::copy_from_slice(event.as_json().as_bytes());
    Verified::new(event, body, SignatureProof::new(0, "test".into()))
}
