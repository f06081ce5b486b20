//! More rows in one unit of the cursor than a page can show.

use formsvc_protocol::{FormInstant, Timestamp};

use super::CursorUnit;

/// A unit of the service's cursor in which more submissions were made than a page can show: some of
/// them may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct TieOverflow {
    unit: CursorUnit,
    start: Timestamp,
    rows: u64,
}

impl TieOverflow {
    /// The unit.
    pub fn unit(&self) -> CursorUnit {
        self.unit
    }

    /// The start of the unit.
    pub fn start(&self) -> &Timestamp {
        &self.start
    }

    /// Submissions of the unit that this list yielded, without those yielded before a resume.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

impl std::fmt::Display for TieOverflow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let submissions = if self.rows == 1 { "submission" } else { "submissions" };
        write!(
            f,
            "the {} `{}`, of which {} {submissions} were received",
            self.unit, self.start, self.rows
        )
    }
}

/// The same as numbers: the start in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitOverflow {
    pub(crate) unit: CursorUnit,
    pub(crate) start: i64,
    pub(crate) rows: u64,
}

impl From<UnitOverflow> for TieOverflow {
    fn from(overflow: UnitOverflow) -> Self {
        let UnitOverflow { unit, start, rows } = overflow;
        Self { unit, start: FormInstant::from_micros(start).to_timestamp(), rows }
    }
}
