//! Verifies signatures of webhook deliveries (SPEC §5).

mod builder;
mod config_error;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::SignatureHeader;
use http::{HeaderMap, header};

pub use self::builder::{DEFAULT_MAX_BODY, DEFAULT_READ_TIMEOUT, MAX_TOLERANCE, VerifierBuilder};
pub use self::config_error::ConfigError;
use crate::{SIGNATURE_HEADER, SignatureProof, SigningSecret, Verified, VerifyError, WebhookEvent};

/// Header with the kind of the event (SPEC §6). It is not signed.
const EVENT_HEADER: &str = "x-service-event";

type Clock = dyn Fn() -> SystemTime + Send + Sync;

/// Verifies that a delivery was signed with the endpoint's signing secret (SPEC §5). Cheap to clone.
///
/// **Use one verifier per endpoint.** Several secrets are only for the rotation of one endpoint's
/// secret. The holder of any secret of a verifier can sign events of every form, and a forged event
/// hides a later genuine one with the same `submission_id`. A receiver of several endpoints needs one
/// verifier and one inbox scope for each, selected by the path of the request.
///
/// ```
/// use formsvc_receiver::{Verifier, VerifyError};
///
/// let verifier = Verifier::new("whsec_of_an_example")?;
/// let result = verifier.verify("t=1700000000,v1=beef", "{}");
/// assert_eq!(result, Err(VerifyError::Malformed));
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Verifier {
    inner: Arc<Inner>,
}

struct Inner {
    secrets: Vec<SigningSecret>,
    /// Names of `secrets`, in the same order.
    names: Vec<Arc<str>>,
    tolerance: Duration,
    max_body: usize,
    read_timeout: Duration,
    clock: Box<Clock>,
}

impl Verifier {
    /// Creates a verifier with one secret and default settings: see [`VerifierBuilder`].
    pub fn new<S>(secret: S) -> Result<Self, ConfigError>
    where
        S: TryInto<SigningSecret>,
        ConfigError: From<S::Error>,
    {
        Self::builder().secret(secret).build()
    }

    /// Starts a verifier with several secrets or other settings.
    pub fn builder() -> VerifierBuilder {
        VerifierBuilder::new()
    }

    /// Verifies a request and reads its event: [`verify`](Self::verify), with the value of
    /// `X-Service-Signature`. Also checks that `X-Service-Event`, if present, names the signed event.
    pub fn verify_request(
        &self,
        headers: &HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Verified<WebhookEvent>, VerifyError> {
        let signature = signature_header(headers.get_all(SIGNATURE_HEADER))?;
        let verified = self.verify(signature, body)?;
        let mut kinds = headers.get_all(EVENT_HEADER).iter();
        if kinds.all(|kind| kind.as_bytes() == verified.kind().as_bytes()) {
            Ok(verified)
        } else {
            Err(VerifyError::EventMismatch)
        }
    }

    /// Verifies a body against the value of its `X-Service-Signature` header, and reads its event.
    ///
    /// The body must be the exact bytes of the request. It is not parsed before its signature is
    /// verified. The event shares the bytes of the body, so a `Vec<u8>` or `Bytes` is not copied.
    pub fn verify(
        &self,
        header: impl AsRef<[u8]>,
        body: impl Into<Bytes>,
    ) -> Result<Verified<WebhookEvent>, VerifyError> {
        self.verify_at(header, body, (self.inner.clock)())
    }

    /// Like [`verify`](Self::verify), with the given time instead of the clock's.
    pub fn verify_at(
        &self,
        header: impl AsRef<[u8]>,
        body: impl Into<Bytes>,
        now: SystemTime,
    ) -> Result<Verified<WebhookEvent>, VerifyError> {
        let body: Bytes = body.into();
        let proof = self.verify_signature_at(header.as_ref(), &body, now)?;
        let event = WebhookEvent::from_json(body.clone())?;
        Ok(Verified::new(event, body, proof))
    }

    /// Verifies the signature of a body without reading it as an event.
    ///
    /// The order of the checks: the header is well-formed, the body is not larger than the limit, a
    /// secret matches a `v1` (all are compared with all, in constant time), and the time of the
    /// signature is within the tolerance. Allocates no memory and never panics.
    pub fn verify_signature(
        &self,
        header: impl AsRef<[u8]>,
        body: &[u8],
    ) -> Result<SignatureProof, VerifyError> {
        self.verify_signature_at(header.as_ref(), body, (self.inner.clock)())
    }

    fn verify_signature_at(
        &self,
        header: &[u8],
        body: &[u8],
        now: SystemTime,
    ) -> Result<SignatureProof, VerifyError> {
        let inner = &*self.inner;
        let header = SignatureHeader::parse(header)?;
        if body.len() > inner.max_body {
            return Err(VerifyError::TooLarge);
        }
        let index = header.verify(body, &inner.secrets, unix_seconds(now), inner.tolerance)?;
        Ok(SignatureProof::new(header.unix_seconds(), Arc::clone(&inner.names[index])))
    }

    /// Checks the headers of a request before its body is read: one well-formed signature header
    /// within the tolerance, and no `Content-Length` over the limit. A request that fails here would
    /// fail [`verify_request`](Self::verify_request) with any body; the reverse is not true.
    ///
    /// The time in the header is not verified yet, so a request with a wrong signature can get
    /// [`VerifyError::TooOld`] here.
    pub fn check_headers(&self, headers: &HeaderMap) -> Result<(), VerifyError> {
        let signature = signature_header(headers.get_all(SIGNATURE_HEADER))?;
        let now = unix_seconds((self.inner.clock)());
        SignatureHeader::parse(signature.as_bytes())?.check_time(now, self.inner.tolerance)?;
        let max_body = u64::try_from(self.inner.max_body).unwrap_or(u64::MAX);
        // The HTTP server handles a length that is not a number.
        let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
        let mut lengths = lengths.filter_map(|length| length.to_str().ok()?.parse::<u64>().ok());
        if lengths.any(|length| length > max_body) { Err(VerifyError::TooLarge) } else { Ok(()) }
    }

    /// The largest accepted body in bytes.
    pub fn max_body(&self) -> usize {
        self.inner.max_body
    }

    /// The time limit for reading a body. The layer and the axum extractor apply it.
    pub fn read_timeout(&self) -> Duration {
        self.inner.read_timeout
    }
}

/// A clock before 1970 differs from every signature by more than the tolerance.
fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Selects the signature header among the values that a request has for it: none is
/// [`VerifyError::MissingHeader`], more than one is [`VerifyError::Malformed`], because a proxy may
/// have checked the other one. For frameworks without `http::HeaderMap`.
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
            .field("read_timeout", &self.inner.read_timeout)
            .finish_non_exhaustive()
    }
}
