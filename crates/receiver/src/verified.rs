//! The result of a successful verification.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

use crate::{SubmissionCreated, UnknownEvent, WebhookEvent};

/// The proof that a body was signed: the time of the signature and the secret that made it. Only a
/// [`Verifier`](crate::Verifier) creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureProof {
    timestamp: u64,
    secret_name: Arc<str>,
}

impl SignatureProof {
    pub(crate) fn new(timestamp: u64, secret_name: Arc<str>) -> Self {
        Self { timestamp, secret_name }
    }

    /// The header's `t` in Unix seconds: the time of the delivery attempt (SPEC §5).
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// The name of the secret that signed the body.
    pub fn secret_name(&self) -> &str {
        &self.secret_name
    }
}

/// An event with a valid signature, together with the exact body. Dereferences to the event.
///
/// Only a [`Verifier`](crate::Verifier) creates one (and `test_util` in tests), and the event cannot
/// be changed, so a function that takes a `Verified<WebhookEvent>` cannot be called with unverified
/// data.
///
/// ```compile_fail,E0451
/// # use formsvc_receiver::{SignatureProof, Verified, WebhookEvent};
/// fn forge(event: WebhookEvent, proof: SignatureProof) -> Verified<WebhookEvent> {
///     Verified { event, body: Default::default(), proof }
/// }
/// ```
///
/// ```compile_fail,E0594
/// # use formsvc_receiver::{Verified, WebhookEvent};
/// fn change(mut verified: Verified<WebhookEvent>, other: WebhookEvent) {
///     *verified = other;
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Verified<T> {
    event: T,
    body: Bytes,
    proof: SignatureProof,
}

impl<T> Verified<T> {
    pub(crate) fn new(event: T, body: Bytes, proof: SignatureProof) -> Self {
        Self { event, body, proof }
    }

    /// The event.
    pub fn event(&self) -> &T {
        &self.event
    }

    /// The event without the proof.
    pub fn into_event(self) -> T {
        self.event
    }

    /// The exact bytes of the body. Cheap to clone.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The time of the signature and the secret that made it.
    pub fn proof(&self) -> &SignatureProof {
        &self.proof
    }
}

impl Verified<WebhookEvent> {
    /// The submission, or the unknown event as the error.
    pub fn into_submission(self) -> Result<Verified<SubmissionCreated>, Verified<UnknownEvent>> {
        let Self { event, body, proof } = self;
        match event {
            WebhookEvent::SubmissionCreated(event) => Ok(Verified { event, body, proof }),
            WebhookEvent::Unknown(event) => Err(Verified { event, body, proof }),
        }
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.event
    }
}

impl<T> fmt::Debug for Verified<T> {
    /// Without event and body, which are personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("proof", &self.proof)
            .field("body_length", &self.body.len())
            .finish_non_exhaustive()
    }
}
