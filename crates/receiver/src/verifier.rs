//! Whether the service sent a body (SPEC §5).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::{SignatureHeader, SigningSecret};

#[cfg(feature = "tower")]
use crate::tower::ReadLimit;
use crate::{Event, Signed, Verified, VerifierBuilder, VerifyError};

pub(crate) type Clock = dyn Fn() -> SystemTime + Send + Sync;

/// Tells whether the service sent a body, by the signature in its header (SPEC §5). Cheap to clone;
/// clones share the secrets.
///
/// **One verifier is one endpoint.** Several secrets are for the rotation of that endpoint's secret, and
/// for nothing else: who holds any of them can sign any event, those of other forms and other people
/// included, and what is forged hides what comes later under the same `submission_id`. A receiver of
/// several endpoints has a verifier for each, chosen by the path of the request and not by what it says,
/// and for each a [scope](crate::inbox#scopes) of the inbox.
///
/// ```
/// use formsvc_receiver::{Verifier, VerifyError};
///
/// let verifier = Verifier::builder().secret("whsec_of_an_example".into()).build()?;
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
    #[cfg(feature = "tower")]
    read_limit: Option<ReadLimit>,
}

impl Verifier {
    /// Starts setting up; at least one secret is needed.
    pub fn builder() -> VerifierBuilder {
        VerifierBuilder::new()
    }

    /// Of settings that were checked.
    pub(crate) fn new(
        keys: Vec<SigningSecret>,
        names: Vec<Arc<str>>,
        settings: VerifierBuilder,
    ) -> Self {
        let inner = Inner {
            keys,
            names,
            tolerance: settings.tolerance,
            max_body: settings.max_body,
            clock: settings.clock,
            #[cfg(feature = "tower")]
            read_limit: settings.read_limit,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Verifies a raw body, of any bytes, against the value of its `X-Service-Signature` header.
    ///
    /// In this order: the header must be well-formed, the body no longer than the cap, some secret
    /// must have made some `v1` (all are compared with all, in constant time), and the signature's
    /// time be within the tolerance of the clock. Allocates nothing and never panics, whatever the
    /// header and the body.
    pub fn verify(&self, header: &[u8], body: &[u8]) -> Result<Signed, VerifyError> {
        self.verify_at(header, body, (self.inner.clock)())
    }

    fn verify_at(
        &self,
        header: &[u8],
        body: &[u8],
        now: SystemTime,
    ) -> Result<Signed, VerifyError> {
        let header = SignatureHeader::parse(header)?;
        if body.len() > self.inner.max_body {
            return Err(VerifyError::TooLarge);
        }
        let found = header.verify(body, &self.inner.keys, seconds(now), self.inner.tolerance)?;
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
        self.verify_event_at(header, body, (self.inner.clock)())
    }

    /// As [`verify_event`](Self::verify_event), by another time than the clock's: for who tells when a
    /// delivery came, and judges it by the same instant.
    pub fn verify_event_at(
        &self,
        header: &[u8],
        body: impl Into<Bytes>,
        now: SystemTime,
    ) -> Result<Verified<Event>, VerifyError> {
        let body: Bytes = body.into();
        let signed = self.verify_at(header, &body, now)?;
        let event = Event::from_json(body.clone())?;
        Ok(Verified::new(event, body, signed))
    }

    /// Whether a header could be right now for some body: it is well-formed, and its time is within the
    /// tolerance. A body whose header fails here need not be read, since it would be refused all the same.
    ///
    /// Nothing is proven yet. The time is the sender's word, so who signed nothing is told of its age here,
    /// where [`verify`](Self::verify) says that no signature matches.
    pub fn admit(&self, header: &[u8]) -> Result<(), VerifyError> {
        let header = SignatureHeader::parse(header)?;
        Ok(header.check_time(seconds((self.inner.clock)()), self.inner.tolerance)?)
    }

    /// Whether a header is well-formed, whatever the time.
    pub fn check_header(header: &[u8]) -> Result<(), VerifyError> {
        SignatureHeader::parse(header)?;
        Ok(())
    }

    /// The limit of the time that reading a body takes, from now on.
    #[cfg(feature = "tower")]
    pub(crate) fn read_limit(&self) -> Option<&ReadLimit> {
        self.inner.read_limit.as_ref()
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

/// Seconds since 1970. A clock before that is wrong by more than any tolerance.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
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
