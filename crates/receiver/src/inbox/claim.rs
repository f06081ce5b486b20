//! What claiming a key comes to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{InboxError, Scope};

/// What [`Inbox::claim`](super::Inbox::claim) comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a claim that is not completed or released blocks its key until its lease runs out"]
pub enum Claim {
    /// The key is the caller's to handle.
    Acquired(ClaimToken),
    /// It was handled, or is kept to be handled later: answer 200.
    Duplicate,
    /// Somebody handles it now: answer 503, so that it is sent again.
    InFlight {
        /// When the lease that holds it runs out, at least 1 ms.
        retry_after: Duration,
    },
}

/// The right to complete or release what was claimed.
///
/// It is good in the store it comes from, and there until the claim is completed, released or taken over.
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimToken(Arc<Token>);

#[derive(PartialEq, Eq)]
struct Token {
    scope: Scope,
    key: Key,
    fence: i64,
    /// The place in the queue of a delivery that was accepted.
    place: Option<i64>,
}

impl ClaimToken {
    /// A token of an inbox of one's own. Fails with [`InboxErrorKind::Setup`](super::InboxErrorKind::Setup)
    /// for a name that is no [scope](super#scopes).
    pub fn issue(scope: &str, key: &str, fence: u64) -> Result<Self, InboxError> {
        Ok(Self::new(Scope::new(scope)?, key, fence.cast_signed()))
    }

    pub(super) fn new(scope: Scope, key: &str, fence: i64) -> Self {
        Self(Arc::new(Token { scope, key: Key::of(key), fence, place: None }))
    }

    /// A token whose key ends a name that its store has anyway.
    pub(super) fn named(scope: Scope, name: Arc<str>, key_at: usize, fence: i64) -> Self {
        Self(Arc::new(Token { scope, key: Key { name, at: key_at }, fence, place: None }))
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn queued(scope: Scope, key: &str, fence: i64, place: i64) -> Self {
        Self(Arc::new(Token { scope, key: Key::of(key), fence, place: Some(place) }))
    }

    /// The idempotency key that was claimed.
    pub fn key(&self) -> &str {
        self.0.key.as_str()
    }

    /// The name that its key ends; the key itself, unless the store [named](Self::named) it.
    pub(super) fn name(&self) -> &str {
        &self.0.key.name
    }

    /// The name of the scope it was claimed in.
    pub fn scope(&self) -> &str {
        self.0.scope.name()
    }

    /// The fencing number: greater than that of every earlier claim of this key in this store. A system that
    /// the handler writes to can keep the greatest it has seen and refuse smaller ones, and so refuse a
    /// handler whose lease ran out unnoticed.
    pub fn fence(&self) -> u64 {
        self.0.fence.cast_unsigned()
    }

    pub(super) fn number(&self) -> i64 {
        self.0.fence
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn place(&self) -> Option<i64> {
        self.0.place
    }
}

/// A key at the end of a longer name.
struct Key {
    name: Arc<str>,
    at: usize,
}

impl Key {
    fn of(key: &str) -> Self {
        Self { name: key.into(), at: 0 }
    }

    fn as_str(&self) -> &str {
        &self.name[self.at..]
    }
}

impl PartialEq for Key {
    /// Whatever stands before it.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Key {}

impl fmt::Debug for ClaimToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimToken")
            .field("scope", &self.scope())
            .field("key", &self.key())
            .field("fence", &self.0.fence)
            .finish_non_exhaustive()
    }
}

/// Whether a key is seen for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what is to be done depends on whether the key is new"]
pub enum Recorded {
    /// It is recorded now.
    New,
    /// It was before.
    Duplicate,
}
