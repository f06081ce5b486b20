//! What only verification can make.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Event, SubmissionCreated, UnknownEvent};

/// The proof that a body was signed: when, and with which secret. Only a
/// [`Verifier`](crate::Verifier) makes one.
///
/// ```compile_fail,E0451
/// let forged = formsvc_receiver::Signed { timestamp: 0, secret: "1".into() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    timestamp: u64,
    secret: Arc<str>,
}

impl Signed {
    pub(crate) fn new(timestamp: u64, secret: Arc<str>) -> Self {
        Self { timestamp, secret }
    }

    /// The header's `t`, the time of the attempt, in Unix seconds (SPEC §5).
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// The name of the secret that signed it. When no delivery of a day names the old secret any
    /// more, a rotation is over.
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

/// Something of a delivery whose signature was found right, with the exact body and the proof.
///
/// Only a [`Verifier`](crate::Verifier) makes one (in tests, `test_util` does), and none lets its
/// event be changed: a function that takes a `Verified<Event>` cannot be called with what a stranger
/// sent. Dereferences to the event.
///
/// ```compile_fail,E0451
/// # use formsvc_receiver::{Event, Signed, Verified};
/// fn forge(event: Event, signed: Signed) -> Verified<Event> {
///     Verified { event, body: Default::default(), signed }
/// }
/// ```
///
/// ```compile_fail,E0594
/// # use formsvc_receiver::{Event, Verified};
/// fn change(mut verified: Verified<Event>, other: Event) {
///     *verified = other;
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Verified<T> {
    event: T,
    body: Bytes,
    signed: Signed,
}

impl<T> Verified<T> {
    pub(crate) fn new(event: T, body: Bytes, signed: Signed) -> Self {
        Self { event, body, signed }
    }

    /// The event.
    pub fn event(&self) -> &T {
        &self.event
    }

    /// The event, letting go of the proof.
    pub fn into_event(self) -> T {
        self.event
    }

    /// The body exactly as it was signed. Cheap to clone.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The proof.
    pub fn signed(&self) -> &Signed {
        &self.signed
    }

    /// The header's `t`, in Unix seconds.
    pub fn timestamp(&self) -> u64 {
        self.signed.timestamp
    }

    /// The name of the secret that signed it.
    pub fn secret(&self) -> &str {
        &self.signed.secret
    }

    /// Narrows the type of the event; the result is what was verified, or less.
    fn narrowed<U, V>(
        self,
        narrow: impl FnOnce(T) -> Result<U, V>,
    ) -> Result<Verified<U>, Verified<V>> {
        let Self { event, body, signed } = self;
        match narrow(event) {
            Ok(event) => Ok(Verified { event, body, signed }),
            Err(event) => Err(Verified { event, body, signed }),
        }
    }
}

impl Verified<Event> {
    /// The submission that the event tells of; the event of an unknown kind otherwise.
    pub fn into_submission(self) -> Result<Verified<SubmissionCreated>, Verified<UnknownEvent>> {
        self.narrowed(|event| match event {
            Event::SubmissionCreated(event) => Ok(event),
            Event::Unknown(event) => Err(event),
        })
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.event
    }
}

impl<T> fmt::Debug for Verified<T> {
    /// Without event and body, which hold what people wrote.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("signed", &self.signed)
            .field("body_length", &self.body.len())
            .finish_non_exhaustive()
    }
}
