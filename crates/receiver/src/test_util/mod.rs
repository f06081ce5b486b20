//! For tests of receivers: signs as the service does, without the service.
//!
//! ```
//! use std::time::{Duration, UNIX_EPOCH};
//! use formsvc_receiver::{Verifier, test_util};
//!
//! let now = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
//! let verifier = Verifier::builder().secret("whsec_of_my_tests".into()).clock(move || now).build()?;
//!
//! let body = test_util::submission_body("sub_1");
//! let header = test_util::sign(&"whsec_of_my_tests".into(), now, &body);
//! let event = verifier.verify_event(header.as_bytes(), body)?;
//! assert_eq!(event.kind(), "submission.created");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "tower")]
mod request;
mod vectors;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::{self, SigningSecret};
use secrecy::SecretString;

#[cfg(feature = "tower")]
pub use request::SignedRequest;
pub use vectors::{Expected, Vector, vectors};

use crate::{Event, Signed, Verified};

/// The value of `X-Service-Signature` for a body, as the service makes it (SPEC §5). The time is cut to
/// whole seconds. Panics when the secret is empty, or the time before 1970.
pub fn sign(secret: &SecretString, at: SystemTime, body: &[u8]) -> String {
    sign_with([secret], at, body)
}

/// As [`sign`], with several secrets, as during a rotation: one `v1` for each. More than eight make a
/// header that is refused.
pub fn sign_with<'a>(
    secrets: impl IntoIterator<Item = &'a SecretString>,
    at: SystemTime,
    body: &[u8],
) -> String {
    let key = |secret| SigningSecret::new(secret).expect("a test's secret is not empty");
    let keys: Vec<_> = secrets.into_iter().map(key).collect();
    signature::sign(&keys, unix_seconds(at), body)
}

fn unix_seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).expect("a test's time is after 1970").as_secs()
}

/// A body as the service sends it (SPEC §6), of the submission with this id to the form `frm_test`. The
/// id goes in as it is: one with quotes makes no JSON.
pub fn submission_body(submission_id: &str) -> Vec<u8> {
    let rest = r#""form_id":"frm_test","form_title":"Test","data":{"Name":"Ada"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    format!(r#"{{"event":"submission.created","submission_id":"{submission_id}",{rest}"#).into()
}

/// An event as if it had been verified, for tests of what handles it: signed at Unix second 0, with a
/// secret named `test`.
///
/// This is the one way around a [`Verifier`](crate::Verifier), and why the feature `test-util` belongs
/// among the dev-dependencies only.
pub fn verified(event: Event) -> Verified<Event> {
    let body = Bytes::copy_from_slice(event.as_json().as_bytes());
    Verified::new(event, body, Signed::new(0, "test".into()))
}
