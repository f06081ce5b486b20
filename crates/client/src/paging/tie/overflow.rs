//! A tie overflow: more rows in one unit of the cursor than a page can show.

use std::fmt;

use formsvc_protocol::{FormInstant, Timestamp};

use super::CursorUnit;

/// A unit of the service's cursor, one second or one millisecond, in which more submissions were
/// made than a page can show. Some of them may be missing in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TieOverflow {
    pub(super) unit: CursorUnit,
    /// The first microsecond of the unit, since 1970.
    pub(super) start: i64,
    pub(super) rows: u64,
}

impl TieOverflow {
    /// Returns the length of the unit: a second or a millisecond.
    pub fn unit(self) -> CursorUnit {
        self.unit
    }

    /// Returns the time at which the unit starts.
    pub fn start(self) -> Timestamp {
        FormInstant::from_micros(self.start).to_timestamp()
    }

    /// Returns the number of submissions of the unit that this list yielded before the overflow,
    /// without those yielded before a resume.
    pub fn rows(self) -> u64 {
        self.rows
    }
}

impl fmt::Display for TieOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, start, rows) = (self.unit, self.start(), self.rows);
        let submissions = if rows == 1 { "submission" } else { "submissions" };
        write!(f, "the {unit} `{start}`, of which {rows} {submissions} were received")
    }
}
