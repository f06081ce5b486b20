//! The ways to request the next page, and the units of the service's cursors.

use crate::completeness::CursorUnit;

/// How the next page is requested, and how its response must begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorStrategy {
    AsIs,
    NextUnit(UnitStart),
    JustAbove { unit: UnitStart, bound: i64 },
    Checked(UnitStart),
}

/// A unit on the time line, by its first microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitStart {
    pub(super) unit: CursorUnit,
    pub(super) start: i64,
}

impl UnitStart {
    pub(super) fn of(unit: CursorUnit, time: i64) -> Self {
        Self { unit, start: unit.floor(time) }
    }

    pub(super) fn contains(self, time: i64) -> bool {
        self.unit.floor(time) == self.start
    }

    pub(super) fn end(self) -> i64 {
        self.start.saturating_add(self.unit.micros())
    }
}

impl CursorStrategy {
    /// The unit of the last row, and the instant that the response's rows must be older than.
    pub(super) fn unit_and_bound(self) -> Option<(UnitStart, i64)> {
        match self {
            Self::AsIs => None,
            Self::NextUnit(unit) | Self::Checked(unit) => Some((unit, unit.end())),
            Self::JustAbove { unit, bound } => Some((unit, bound)),
        }
    }

    /// The instant of the cursor to send; `None` for the service's own.
    pub(super) fn own_instant(self) -> Option<i64> {
        match self {
            Self::AsIs | Self::Checked(_) => None,
            Self::NextUnit(unit) => Some(unit.end()),
            Self::JustAbove { bound, .. } => Some(bound),
        }
    }
}

/// Asks for the rows from the last one on, which lies in this unit.
pub(super) fn just_above(unit: UnitStart, cursor: i64, last: i64) -> CursorStrategy {
    let shown = CursorUnit::Millisecond.floor(last);
    let bound = if cursor >= shown {
        cursor.saturating_add(1)
    } else {
        // The cursor was cut further than the time that the row shows.
        shown.saturating_add(CursorUnit::Millisecond.micros())
    };
    CursorStrategy::JustAbove { unit, bound }
}
