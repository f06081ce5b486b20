//! Result of a statement that takes a key.

use std::time::Duration;

use tokio_postgres::Row;

use super::error::inbox_error;
use crate::inbox::claim::KeyState;
use crate::inbox::{Claim, InboxError};

/// Maximum number of attempts of a statement if its row changes while it runs.
pub(super) const ATTEMPTS: usize = 8;
/// `retry_after` of a key if its row changed during every attempt.
pub(super) const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Result of a statement that takes a key.
#[derive(Debug, PartialEq)]
pub(super) enum TakeResult {
    /// The caller has the key.
    Taken { fence: i64 },
    /// The key is claimed, queued or handled.
    Blocked(Claim),
    /// The row changed while the statement ran: repeat it.
    Changed,
}

impl TakeResult {
    /// Reads the columns fence, state, and milliseconds until the state expires.
    pub(super) fn read(row: Option<&Row>) -> Result<Self, InboxError> {
        let Some(row) = row else { return Ok(Self::Changed) };
        let columns = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        let (fence, state, remaining) = columns().map_err(inbox_error)?;
        Ok(Self::decide(fence, state, remaining))
    }

    fn decide(fence: Option<i64>, state: Option<i16>, remaining: Option<i64>) -> Self {
        if let Some(fence) = fence {
            return Self::Taken { fence };
        }
        let state = match state {
            Some(0) => KeyState::Claimed,
            Some(1) => KeyState::Queued,
            Some(2) => KeyState::Handled,
            _ => KeyState::Released,
        };
        state.blocks_claim(remaining.unwrap_or_default()).map_or(Self::Changed, Self::Blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_read_by_its_state() {
        let in_flight = Claim::InFlight { retry_after: Duration::from_millis(5) };
        for (row, expected) in [
            ((Some(7), None, None), TakeResult::Taken { fence: 7 }),
            ((None, Some(0), Some(5)), TakeResult::Blocked(in_flight)),
            ((None, Some(0), Some(0)), TakeResult::Changed),
            ((None, Some(1), None), TakeResult::Blocked(Claim::Duplicate)),
            ((None, Some(2), Some(1)), TakeResult::Blocked(Claim::Duplicate)),
            ((None, Some(2), Some(-1)), TakeResult::Changed),
            ((None, Some(3), Some(9)), TakeResult::Changed),
        ] {
            assert_eq!(TakeResult::decide(row.0, row.1, row.2), expected);
        }
    }
}
