//! The caller's limits of a list: a time range and a stop condition. Pure.

use std::fmt;
use std::sync::Arc;

use formsvc_protocol::{Submission, Timestamp};

/// The caller's stop condition.
#[derive(Clone)]
pub(super) struct StopWhen(pub(super) Arc<dyn Fn(&Submission) -> bool + Send + Sync>);

impl fmt::Debug for StopWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopWhen")
    }
}

/// The bounds of a list; none by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) stop_when: Option<StopWhen>,
}

/// The place of a row relative to the bounds of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowPlace {
    TooNew,
    Within,
    /// The list ends before this row.
    End,
}

impl Bounds {
    /// Returns the broken rule if no time can lie within the bounds.
    pub(super) fn check(&self) -> Result<(), String> {
        match (&self.since, &self.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(format!("`since` is `{since}`, which is not before `until`, `{until}`"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the place of a row with this time, in microseconds since 1970. To be called for each row in
    /// order, newest first, until one ends the list. `row` is `None` if the row cannot be used; the stop
    /// condition then does not apply.
    pub(super) fn place(&self, time: i64, row: Option<&Submission>) -> RowPlace {
        let stops = |stop: &StopWhen| row.is_some_and(|row| (stop.0)(row));
        if self.stop_when.as_ref().is_some_and(stops)
            || self.since.as_ref().is_some_and(|since| time < since.unix_micros())
        {
            RowPlace::End
        } else if self.until.as_ref().is_some_and(|until| time >= until.unix_micros()) {
            RowPlace::TooNew
        } else {
            RowPlace::Within
        }
    }
}
