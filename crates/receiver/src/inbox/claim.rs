//! Claims of keys, and the rule that decides them in every store.

use std::sync::Arc;
use std::time::Duration;

use super::InboxError;
use super::scope::Scope;

/// The result of [`Inbox::claim`](super::Inbox::claim).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a claim blocks its key until it is completed, released, or its lease ends"]
pub enum Claim {
    /// The caller holds the claim and can handle the delivery.
    Acquired(ClaimToken),
    /// The delivery was handled, or is queued: respond with 200.
    Duplicate,
    /// Another caller holds a claim: respond with 503, so that the sender repeats the delivery.
    InFlight {
        /// Time until the lease of the other claim ends, at least 1 ms.
        retry_after: Duration,
    },
}

/// The right to complete or release a claim. Valid in the store that issued it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimToken {
    scope: Scope,
    key: Arc<str>,
    fence: i64,
    /// Row of the queue, if the delivery was queued.
    queue_row: Option<i64>,
}

impl ClaimToken {
    /// Creates a token for your own implementation of [`Inbox`](super::Inbox). Fails with
    /// [`InvalidConfig`](super::InboxErrorKind::InvalidConfig) if the scope is not a
    /// [valid name](super#scopes).
    pub fn new(scope: &str, key: &str, fence: u64) -> Result<Self, InboxError> {
        Ok(Self::issue(&Scope::new(scope)?, key, fence.cast_signed()))
    }

    pub(super) fn issue(scope: &Scope, key: &str, fence: i64) -> Self {
        Self { scope: scope.clone(), key: key.into(), fence, queue_row: None }
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn with_queue_row(self, row: i64) -> Self {
        Self { queue_row: Some(row), ..self }
    }

    /// The idempotency key; shortened if it is longer than [`KEY_MAX`](super::KEY_MAX) bytes.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The scope of the claim.
    pub fn scope(&self) -> &str {
        self.scope.name()
    }

    /// The fencing token: greater than that of every earlier claim of this key. A system that the
    /// handler writes to can refuse a number below the greatest one that it has seen, and so refuse a
    /// handler after its lease ended.
    pub fn fence(&self) -> u64 {
        self.fence.cast_unsigned()
    }

    pub(super) fn fence_number(&self) -> i64 {
        self.fence
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn queue_row(&self) -> Option<i64> {
        self.queue_row
    }
}

/// Whether a key is new to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a duplicate must not be handled again"]
pub enum DedupeResult {
    /// The key is new, and was recorded.
    New,
    /// The key was recorded before.
    Duplicate,
}

/// State of a key in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyState {
    /// Claimed until the lease ends.
    Claimed,
    /// Handled, and remembered until the mark expires.
    Handled,
    /// Queued until a worker completes it.
    #[cfg(feature = "postgres")]
    Queued,
    /// Released by the holder of the claim.
    #[cfg(feature = "postgres")]
    Released,
}

impl KeyState {
    /// The result of claiming a key in this state, `remaining` milliseconds before the state expires.
    /// `None` if the key is free.
    pub(super) fn blocks_claim(self, remaining: i64) -> Option<Claim> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Queued => Some(Claim::Duplicate),
            #[cfg(feature = "postgres")]
            Self::Released => None,
            Self::Handled if remaining > 0 => Some(Claim::Duplicate),
            Self::Claimed if remaining > 0 => {
                let retry_after = Duration::from_millis(remaining.unsigned_abs());
                Some(Claim::InFlight { retry_after })
            }
            Self::Handled | Self::Claimed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_state_blocks_claim_until_it_expires() {
        let in_flight = |ms| Some(Claim::InFlight { retry_after: Duration::from_millis(ms) });
        for (state, remaining, expected) in [
            (KeyState::Claimed, 5, in_flight(5)),
            (KeyState::Claimed, 0, None),
            (KeyState::Claimed, i64::MIN, None),
            (KeyState::Handled, 1, Some(Claim::Duplicate)),
            (KeyState::Handled, 0, None),
            #[cfg(feature = "postgres")]
            (KeyState::Queued, 0, Some(Claim::Duplicate)),
            #[cfg(feature = "postgres")]
            (KeyState::Released, 9, None),
        ] {
            assert_eq!(state.blocks_claim(remaining), expected, "{state:?} {remaining}");
        }
    }
}
