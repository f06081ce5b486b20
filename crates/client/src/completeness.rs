//! Whether a list is complete, and why it may not be.

use std::fmt;

use formsvc_protocol::{FormInstant, Timestamp};
use serde::{Deserialize, Serialize};

/// Why a list continues by the service's own cursors, so that its result is not proven complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallbackReason {
    /// The service refused a cursor that it had not issued.
    CursorRefused,
    /// The service ignored a cursor that it had not issued.
    CursorIgnored,
    /// The last rows of a page were deleted before the next page was read.
    RowsDeleted,
    /// The service's cursor is not the time of the last row.
    CursorNotTime,
}

/// Whether a list contains every submission that the service has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Completeness {
    /// No submission between the first and the last one read is missing, except those that were
    /// committed after their page was read.
    ///
    /// Each page but the first began with a submission that was known before, or the client saw that
    /// the service honours cursors that it had not issued. This proves that nothing is missing if the
    /// service keeps these rules of SPEC §4:
    ///
    /// - The list is newest first, and two responses never contain two submissions in different orders,
    ///   not even if they share a time.
    /// - A response begins with the newest submission that is older than the request's cursor, also if
    ///   the service had not issued that cursor. The service may cut the cursor, the times or both to
    ///   a second or a millisecond before it compares them.
    /// - No submission between the first and the last one of a response is left out.
    /// - `has_more` is false only on the page with the oldest submission.
    /// - `created_at` is the time by which the list is ordered, in full or cut.
    /// - An id always has the same time and content.
    #[default]
    Proven,
    /// Submissions that share a time could be missing: see [`FallbackReason`]. Also if more of them
    /// share a microsecond than a page can show.
    Unproven,
    /// More submissions share a unit of the cursor than a page can show: see [`TieOverflow`]. Or
    /// submissions were left out that violate the API: see
    /// [`SkippedItem`](crate::event::SkippedItem).
    Incomplete,
}

impl Completeness {
    /// A stable lower-case name: `proven`, `unproven` or `incomplete`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Unproven => "unproven",
            Self::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The precision of a service's cursors: rows within one unit are not distinguished by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CursorUnit {
    /// One second.
    Second,
    /// One millisecond.
    Millisecond,
}

impl CursorUnit {
    pub(crate) fn micros(self) -> i64 {
        match self {
            Self::Second => 1_000_000,
            Self::Millisecond => 1_000,
        }
    }

    /// The first microsecond of the unit that a time lies in.
    pub(crate) fn floor(self, time: i64) -> i64 {
        time.saturating_sub(time.rem_euclid(self.micros()))
    }
}

impl fmt::Display for CursorUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Millisecond => "millisecond",
        })
    }
}

/// A unit of the service's cursor, one second or one millisecond, in which more submissions were
/// made than a page can show. Some of them may be missing in the list. Or a time that more than 1,000,000
/// submissions share: repeated ones are then not recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TieOverflow {
    pub(crate) unit: CursorUnit,
    /// The first microsecond of the unit, since 1970.
    pub(crate) start: i64,
    pub(crate) rows: u64,
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
