//! Why an inbox could not do what it was asked.

use std::error::Error;
use std::fmt;

/// Why an inbox failed. Holds no payload, no key and no secret.
#[derive(Debug)]
pub struct InboxError {
    kind: InboxErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of failure that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InboxErrorKind {
    /// The key is empty or has more than [`KEY_MAX`](super::KEY_MAX) bytes. It will never be taken.
    Key,
    /// The payload has more than [`PAYLOAD_MAX`](super::PAYLOAD_MAX) bytes. It will never be taken.
    Payload,
    /// The lease is shorter than [`LEASE_MIN`](super::LEASE_MIN) or longer than
    /// [`LEASE_MAX`](super::LEASE_MAX).
    Lease,
    /// A setting is one that is not possible, or the store's tables are not ones this release can use: the
    /// source says why. Repeating helps nobody.
    Setup,
    /// The claim was taken over, completed or released. Nothing was changed.
    ClaimLost,
    /// The key is claimed by a handler in the same scope, and cannot be recorded meanwhile.
    InFlight,
    /// A bounded store has no room for another key. Nothing was forgotten to make some.
    Full,
    /// The store cannot be reached, is busy, or has no room on its disk; that may pass.
    Unavailable,
    /// The store refused what should be right: it is damaged, or one of us has a bug.
    Internal,
}

impl InboxErrorKind {
    fn text(self) -> &'static str {
        match self {
            Self::Key => "a key has 1 to 256 bytes",
            Self::Payload => "a payload has at most 8 MiB",
            Self::Lease => "a lease lasts from 1 ms to 1 day",
            Self::Setup => "the inbox cannot be set up",
            Self::ClaimLost => "the claim was taken over, completed or released",
            Self::InFlight => "the key is being handled",
            Self::Full => "the inbox is full",
            Self::Unavailable => "the inbox is unavailable",
            Self::Internal => "the inbox failed",
        }
    }
}

impl InboxError {
    /// An error for an inbox of one's own.
    pub fn new(kind: InboxErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// The same with what caused it, which must hold no payload.
    pub fn with_source(
        kind: InboxErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, source: Some(source.into()) }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> InboxErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        use InboxErrorKind::{ClaimLost, Full, InFlight, Internal, Key, Lease, Payload};
        match self.kind {
            InFlight | Full | InboxErrorKind::Unavailable => true,
            Key | Payload | Lease | InboxErrorKind::Setup | ClaimLost | Internal => false,
        }
    }

    /// The HTTP status that a delivery is answered with: never a 2xx, so the sender sends it again. 400 and
    /// 413 where no repetition helps, 503 otherwise.
    pub fn status(&self) -> u16 {
        match self.kind {
            InboxErrorKind::Key => 400,
            InboxErrorKind::Payload => 413,
            _ => 503,
        }
    }
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())
    }
}

impl Error for InboxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<InboxErrorKind> for InboxError {
    fn from(kind: InboxErrorKind) -> Self {
        Self::new(kind)
    }
}

/// One failure told to everybody it concerns.
#[cfg(feature = "sqlite")]
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) kind: InboxErrorKind,
    pub(super) source: std::sync::Arc<dyn Error + Send + Sync>,
}

#[cfg(feature = "sqlite")]
impl From<Shared> for InboxError {
    fn from(shared: Shared) -> Self {
        Self { kind: shared.kind, source: Some(Box::new(shared.source)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KEY_MAX, PAYLOAD_MAX};
    use super::*;

    #[test]
    fn no_failure_is_answered_with_success() {
        use InboxErrorKind::*;
        for kind in [Key, Payload, Lease, Setup, ClaimLost, InFlight, Full, Unavailable, Internal] {
            assert!(InboxError::new(kind).status() >= 400, "{kind:?}");
        }
    }

    #[test]
    fn messages_name_the_limits_that_hold() {
        assert!(InboxErrorKind::Key.text().contains(&KEY_MAX.to_string()));
        assert!(InboxErrorKind::Payload.text().contains(&(PAYLOAD_MAX >> 20).to_string()));
    }
}
