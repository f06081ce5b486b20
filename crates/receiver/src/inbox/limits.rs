//! What an inbox takes, and how long it remembers.

use std::time::Duration;

use super::{InboxError, InboxErrorKind};

/// Longest key, in bytes. Those of the service have at most 128.
pub const KEY_MAX: usize = 256;
/// Longest payload that a queue keeps, in bytes: 8 MiB.
pub const PAYLOAD_MAX: usize = 8 << 20;
/// Shortest lease: 1 ms.
pub const LEASE_MIN: Duration = Duration::from_millis(1);
/// Longest lease: a day.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A lease for handlers that answer within the 10 s that the sender waits (SPEC §6): 30 s. What a process
/// that died had claimed is handled again by the sender's second retry, about 70 s later, at the latest.
///
/// A lease must end before the sender's last retry, some 7 minutes after its first attempt, or what a process
/// that died had claimed is never handled. The service waits as long as a `Retry-After` of up to an hour asks,
/// so leases of up to an hour are safe where [`InFlight`](super::Claim::InFlight) is answered with one.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// Longest lease of [`process_once`](crate::process_once): 5 minutes. What a process that died had claimed
/// must be free again before the sender's last retry, some 7 minutes after its first attempt, or it is never
/// handled. What takes longer belongs in a [`Queue`](super::Queue), which no sender waits for.
pub const PROCESS_LEASE_MAX: Duration = Duration::from_secs(300);
/// How long a durable store remembers what was handled, unless told otherwise: 30 days. The sender's own
/// retries end sooner, see [`TTL_MIN`]; what is sent again by hand comes days later.
pub const DEFAULT_TTL: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The least that a store can be told to remember: 4 hours. The sender tries four times (SPEC §6), each for
/// up to 10 s, and a `Retry-After` can put each retry off by an hour at most; a mark that ended before the
/// last retry would let it be handled twice.
pub const TTL_MIN: Duration = Duration::from_secs(4 * 3_600);
/// The most: 10 years.
pub const TTL_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

pub(super) fn check_key(key: &str) -> Result<(), InboxError> {
    match key.len() {
        1..=KEY_MAX => Ok(()),
        _ => Err(InboxErrorKind::Key.into()),
    }
}

/// The lease in milliseconds.
pub(super) fn check_lease(lease: Duration) -> Result<i64, InboxError> {
    if (LEASE_MIN..=LEASE_MAX).contains(&lease) {
        Ok(super::clock::millis(lease))
    } else {
        Err(InboxErrorKind::Lease.into())
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) fn check_payload(payload: &[u8]) -> Result<(), InboxError> {
    if payload.len() > PAYLOAD_MAX { Err(InboxErrorKind::Payload.into()) } else { Ok(()) }
}

/// The time to live in milliseconds.
pub(super) fn check_ttl(ttl: Duration) -> Result<i64, InboxError> {
    if (TTL_MIN..=TTL_MAX).contains(&ttl) {
        return Ok(super::clock::millis(ttl));
    }
    let why = format!("a time to live of `{ttl:?}` is not between 4 hours and 10 years");
    Err(InboxError::with_source(InboxErrorKind::Setup, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_memory_outlasts_the_senders_retries() {
        let (attempts, limit, longest_pause) =
            (4, Duration::from_secs(10), Duration::from_secs(3_600));
        assert!(TTL_MIN > limit * attempts + longest_pause * (attempts - 1));
        assert!(check_ttl(TTL_MIN).is_ok());
        assert!(check_ttl(TTL_MIN.saturating_sub(Duration::from_millis(1))).is_err());
        assert!(check_ttl(TTL_MAX).is_ok());
        assert!(check_ttl(Duration::MAX).is_err());
    }

    #[test]
    fn what_a_dead_process_had_claimed_is_free_before_the_last_retry() {
        let pauses = [10, 60, 360].map(Duration::from_secs);
        assert!(DEFAULT_LEASE < pauses[0] + pauses[1]);
        assert!(PROCESS_LEASE_MAX < pauses.iter().sum::<Duration>());
    }

    #[test]
    fn leases_and_keys_have_ends() {
        for lease in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
            assert!(check_lease(lease).is_err(), "{lease:?}");
        }
        assert_eq!(check_lease(LEASE_MAX).unwrap(), 86_400_000);
        assert!(check_key("").is_err());
        assert!(check_key(&"k".repeat(KEY_MAX)).is_ok());
        assert!(check_key(&"k".repeat(KEY_MAX + 1)).is_err());
    }
}
