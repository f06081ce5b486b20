//! The settings of a follow.

use std::time::Duration;

use formsvc_protocol::{Submission, SubmissionId, Timestamp};

use super::{Follow, SubmissionQuery, SyncPoint};

const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// A longer time could overflow the clock.
const MAX_INTERVAL: Duration = Duration::from_secs(365 * 86_400);

/// The settings of a [`Follow`]. Created by [`FormHandle::follow`](crate::FormHandle::follow).
///
/// Without a start, the follow begins with the submissions that are made from now on. Each of
/// [`last`](Self::last), [`since`](Self::since), [`after`](Self::after) and
/// [`sync_from`](Self::sync_from) replaces the start set before.
#[derive(Clone, Debug)]
#[must_use = "a follow does nothing until its items are read"]
pub struct FollowQuery {
    pub(super) query: SubmissionQuery,
    pub(super) point: SyncPoint,
    pub(super) wanted: Wanted,
    pub(super) interval: Duration,
}

/// The rows of the first pass that are yielded. The others are known from then on.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    All,
    Newest(u64),
    /// The rows before this one in the list, whose time is given in microseconds.
    Before(i64, SubmissionId),
}

impl FollowQuery {
    pub(crate) fn new(query: SubmissionQuery) -> Self {
        // Invalid submissions must not end the stream; they are reported as events.
        let query = query.allow_incomplete(true);
        let (point, wanted) = (SyncPoint::new(), Wanted::Newest(0));
        Self { query, point, wanted, interval: Duration::from_secs(2) }
    }

    /// Sets the time from the start of a request for new submissions to the next one, from 1 ms to a year.
    /// Default 2 s.
    pub fn interval(self, interval: Duration) -> Self {
        Self { interval: interval.clamp(MIN_INTERVAL, MAX_INTERVAL), ..self }
    }

    /// Starts with this many of the newest submissions.
    pub fn last(self, submissions: u64) -> Self {
        Self { point: SyncPoint::new(), wanted: Wanted::Newest(submissions), ..self }
    }

    /// Starts with the submissions made at this time or later.
    pub fn since(self, time: &Timestamp) -> Self {
        Self { point: SyncPoint::since(time), wanted: Wanted::All, ..self }
    }

    /// Starts after a submission, for programs that stored it and no [`SyncPoint`]. If it was deleted,
    /// starts with the submissions made at its time.
    pub fn after(self, created_at: &Timestamp, id: &SubmissionId) -> Self {
        let wanted = Wanted::Before(created_at.unix_micros(), id.clone());
        Self { point: SyncPoint::new(), wanted, ..self }
    }

    /// Starts with the submissions that are new since a sync point.
    pub fn sync_from(self, point: &SyncPoint) -> Self {
        Self { point: point.clone(), wanted: Wanted::All, ..self }
    }

    /// Returns the stream.
    pub fn items(self) -> Follow {
        Follow::new(self)
    }
}

impl Wanted {
    /// Returns whether the next row of the first pass is yielded.
    pub(super) fn contains(&mut self, row: &Submission) -> bool {
        match self {
            Self::All => true,
            Self::Newest(rows) => {
                let is_wanted = *rows > 0;
                *rows = rows.saturating_sub(1);
                is_wanted
            }
            Self::Before(time, id) => {
                let is_before = row.created_at.unix_micros() >= *time && row.id != *id;
                if !is_before {
                    *self = Self::Newest(0);
                }
                is_before
            }
        }
    }
}
