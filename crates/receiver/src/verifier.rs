//! Whether the service sent a body (SPEC §5).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::{SignatureHeader, SigningSecret};

use crate::{Event, Signed, Verified, VerifierBuilder, VerifyError};

pub(crate) type Clock = dyn Fn() -> SystemTime + Send + Sync;

/// Tells whether the service sent a body, by the signature in its header (SPEC §5). Cheap to clone;
/// clones share the secrets.
///
/// ```
/// use formsvc_receiver::{Verifier, VerifyError};
///
/// let verifier = Verifier::builder().secret("whsec_example".into()).build()?;
/// let refused = verifier.verify(b"t=1700000000,v1=beef", b"{}");
/// assert_eq!(refused, Err(VerifyError::Malformed));
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Verifier {
    inner: Arc<Inner>,
}

struct Inner {
    keys: Vec<SigningSecret>,
    names: Vec<Arc<str>>,
    tolerance: Duration,
    max_body: usize,
    clock: Box<Clock>,
}

impl Verifier {
    /// Starts setting up; at least one secret is needed.
    pub fn builder() -> VerifierBuilder {
        VerifierBuilder::new()
    }

    pub(crate) fn new(
        keys: Vec<SigningSecret>,
        names: Vec<Arc<str>>,
        tolerance: Duration,
        max_body: usize,
        clock: Box<Clock>,
    ) -> Self {
        Self { inner: Arc::new(Inner { keys, names, tolerance, max_body, clock }) }
    }

    /// Verifies a raw body, of any bytes, against the value of its `X-Service-Signature` header.
    ///
    /// In this order: the header must be well-formed, the body no longer than the cap, some secret
    /// must have made some `v1` (all are compared with all, in constant time), and the signature's
    /// time be within the tolerance of the clock. Allocates nothing and never panics, whatever the
    /// header and the body.
    pub fn verify(&self, header: &[u8], body: &[u8]) -> Result<Signed, VerifyError> {
        let header = SignatureHeader::parse(header)?;
        if body.len() > self.inner.max_body {
            return Err(VerifyError::TooLarge);
        }
        // A clock before 1970 is wrong by more than any tolerance.
        let now = (self.inner.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let found = header.verify(body, &self.inner.keys, now, self.inner.tolerance)?;
        let name = Arc::clone(&self.inner.names[found.secret_index]);
        Ok(Signed::new(found.unix_seconds, name))
    }

    /// As [`verify`](Self::verify), then reads the body as an event (SPEC §6). Nothing is read before
    /// the signature is known to be right.
    ///
    /// The event shares the body's bytes: give a `Vec<u8>` or `Bytes` you are done with, or
    /// `Bytes::copy_from_slice` of a slice.
    pub fn verify_event(
        &self,
        header: &[u8],
        body: impl Into<Bytes>,
    ) -> Result<Verified<Event>, VerifyError> {
        let body: Bytes = body.into();
        let signed = self.verify(header, &body)?;
        let event = Event::from_json(body.clone())?;
        Ok(Verified::new(event, body, signed))
    }

    /// Whether a header could be right for some body: what can be said before the body is read.
    pub fn check_header(header: &[u8]) -> Result<(), VerifyError> {
        SignatureHeader::parse(header)?;
        Ok(())
    }

    /// Longest body taken, in bytes.
    pub fn max_body(&self) -> usize {
        self.inner.max_body
    }

    /// Largest difference between a signature's time and now.
    pub fn tolerance(&self) -> Duration {
        self.inner.tolerance
    }

    /// The names of the secrets, in the order they were given.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.inner.names.iter().map(|name| &**name)
    }
}

/// The one value of the signature header among those of a request: none is
/// [`VerifyError::MissingHeader`], more than one [`VerifyError::Malformed`], so that nothing on the way
/// can have judged another one. Takes what `HeaderMap::get_all` gives, or an `Option`.
///
/// ```
/// use formsvc_receiver::{VerifyError, signature_header};
/// assert_eq!(signature_header(Some("t=1,v1=…")), Ok("t=1,v1=…"));
/// assert_eq!(signature_header(None::<&str>), Err(VerifyError::MissingHeader));
/// assert_eq!(signature_header(["t=1", "v1=…"]), Err(VerifyError::Malformed));
/// ```
pub fn signature_header<T>(values: impl IntoIterator<Item = T>) -> Result<T, VerifyError> {
    let mut values = values.into_iter();
    let first = values.next().ok_or(VerifyError::MissingHeader)?;
    match values.next() {
        None => Ok(first),
        Some(_) => Err(VerifyError::Malformed),
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("secrets", &self.inner.names)
            .field("tolerance", &self.inner.tolerance)
            .field("max_body", &self.inner.max_body)
            .finish_non_exhaustive()
    }
}
