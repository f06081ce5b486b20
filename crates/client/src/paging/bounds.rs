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

/// The rows of a page that are within the bounds: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowRange {
    /// Number of leading rows that are too new.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the list ends after these rows.
    pub(super) ends_list: bool,
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

    /// Checks the rows of a page in order, newest first, until one ends the list.
    pub(super) fn range(&self, rows: &[Submission]) -> RowRange {
        let mut range = RowRange::default();
        for row in rows {
            if self.since.as_ref().is_some_and(|since| row.created_at < *since)
                || self.stop_when.as_ref().is_some_and(|stop| (stop.0)(row))
            {
                range.ends_list = true;
                break;
            }
            range.end += 1;
            if self.until.as_ref().is_some_and(|until| row.created_at >= *until) {
                range.start = range.end;
            }
        }
        range
    }
}
