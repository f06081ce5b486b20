//! Limits of keys, payloads, leases and marks.

use std::borrow::Cow;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::clock::to_millis;
use super::{InboxError, InboxErrorKind};

/// Longest key in bytes that the stores of this crate keep as it is. Of a longer one they keep the
/// beginning and a hash of the whole.
pub const KEY_MAX: usize = 256;
/// Largest payload of a queue in bytes: 8 MiB.
pub const PAYLOAD_MAX: usize = 8 << 20;
/// Shortest lease: 1 ms.
pub const LEASE_MIN: Duration = Duration::from_millis(1);
/// Longest lease: one day.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Default lease: 30 s, for handlers that respond within the 10 s that the sender waits (SPEC §6). If a
/// process dies, the sender's second retry, about 70 s later, is handled.
///
/// A lease must end before the sender's last retry, about 7 minutes after the first attempt. Otherwise
/// the claim of a dead process blocks all retries.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// Longest lease of [`process_once`](crate::process_once): 5 minutes, so that it ends before the sender's
/// last retry. Use a [`Queue`](super::Queue) for work that takes longer.
pub const PROCESS_LEASE_MAX: Duration = Duration::from_secs(300);
/// Default time to live of marks in durable stores: 30 days. The sender's retries end within
/// [`TTL_MIN`]; deliveries that are resent by hand can come days later.
pub const DEFAULT_TTL: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Shortest time to live of a mark: 4 hours. The sender makes 4 attempts of up to 10 s (SPEC §6), and
/// `Retry-After` can delay each retry by up to one hour. A shorter mark would end before the last retry.
pub const TTL_MIN: Duration = Duration::from_secs(4 * 3_600);
/// Longest time to live of a mark: 10 years.
pub const TTL_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// Milliseconds that an expired claim is kept: its holder can still complete it.
pub(super) const EXPIRED_CLAIM_KEPT: i64 = 24 * 3_600 * 1_000;

/// Returns the text that a store keeps of a key, of bounded length and different for each key: that of a
/// long key is longer than [`KEY_MAX`].
pub(super) fn stored_key(key: &str) -> Result<Cow<'_, str>, InboxError> {
    match key.len() {
        0 => Err(InboxErrorKind::InvalidKey.into()),
        1..=KEY_MAX => Ok(key.into()),
        _ => {
            let start: String = key.chars().take(KEY_MAX).collect();
            Ok(format!("{start}…{}", hex::encode(Sha256::digest(key))).into())
        }
    }
}

/// Returns the lease in milliseconds.
pub(super) fn check_lease(lease: Duration) -> Result<i64, InboxError> {
    if (LEASE_MIN..=LEASE_MAX).contains(&lease) {
        Ok(to_millis(lease))
    } else {
        Err(InboxErrorKind::InvalidLease.into())
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) fn check_payload(payload: &[u8]) -> Result<(), InboxError> {
    if payload.len() > PAYLOAD_MAX {
        return Err(InboxErrorKind::PayloadTooLarge.into());
    }
    Ok(())
}

/// Returns the time to live in milliseconds.
pub(super) fn check_ttl(ttl: Duration) -> Result<i64, InboxError> {
    if (TTL_MIN..=TTL_MAX).contains(&ttl) {
        return Ok(to_millis(ttl));
    }
    let (min, max) = (TTL_MIN.as_secs(), TTL_MAX.as_secs());
    Err(InboxError::config(format!("time to live `{ttl:?}` is not within {min} s and {max} s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_ttl_outlasts_retries_of_sender() {
        let (attempts, timeout, longest_pause) =
            (4, Duration::from_secs(10), Duration::from_secs(3_600));
        assert!(TTL_MIN > timeout * attempts + longest_pause * (attempts - 1));
        assert!(check_ttl(TTL_MIN).is_ok());
        assert!(check_ttl(TTL_MIN.saturating_sub(Duration::from_millis(1))).is_err());
        assert!(check_ttl(TTL_MAX).is_ok());
        assert!(check_ttl(Duration::MAX).is_err());
    }

    #[test]
    fn lease_of_dead_process_ends_before_last_retry() {
        let pauses = [10, 60, 360].map(Duration::from_secs);
        assert!(DEFAULT_LEASE < pauses[0] + pauses[1]);
        assert!(PROCESS_LEASE_MAX < pauses.iter().sum::<Duration>());
    }
}
