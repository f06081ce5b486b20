//! What an attempt to take a row came to.

use std::time::Duration;

use tokio_postgres::Row;

use crate::inbox::InboxError;

/// How often a row is tried that changes while it is looked at.
pub(super) const TRIES: usize = 8;
/// When to come back to one that changed each time.
pub(super) const BUSY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// It is the caller's.
    Taken { fence: i64 },
    /// It was handled or is queued.
    Known,
    /// Somebody has it.
    Claimed { left: Duration },
    /// It changed while it was looked at.
    Changed,
}

impl Answer {
    pub(super) fn read(row: Option<&Row>) -> Result<Self, InboxError> {
        let Some(row) = row else { return Ok(Self::Changed) };
        Ok(Self::of(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
    }

    fn of(fence: Option<i64>, state: Option<i16>, left: Option<i64>) -> Self {
        match (fence, state, left) {
            (Some(fence), ..) => Self::Taken { fence },
            (None, Some(1), _) | (None, Some(2), Some(1..)) => Self::Known,
            (None, Some(0), Some(left @ 1..)) => {
                Self::Claimed { left: Duration::from_millis(left.unsigned_abs()) }
            }
            // Free by now, yet not taken.
            (None, ..) => Self::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_told_from_what_no_longer_is() {
        let rows = [
            ((Some(7), None, None), Answer::Taken { fence: 7 }),
            ((None, Some(0), Some(5)), Answer::Claimed { left: Duration::from_millis(5) }),
            ((None, Some(0), Some(0)), Answer::Changed),
            ((None, Some(1), None), Answer::Known),
            ((None, Some(2), Some(1)), Answer::Known),
            ((None, Some(2), Some(-1)), Answer::Changed),
            ((None, Some(3), Some(9)), Answer::Changed),
        ];
        for ((fence, state, left), answer) in rows {
            assert_eq!(Answer::of(fence, state, left), answer);
        }
    }
}
