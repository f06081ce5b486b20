//! One range of time, and the walker in it.

use std::collections::VecDeque;

use formsvc_protocol::{Cursor, Pagination};

use super::pace::Pace;
use crate::pager::{Next, Turn, Walk};

/// A page, as far as the planner looks at it.
pub(crate) trait Answer {
    /// Id and time in microseconds of each row, newest first.
    fn rows(&self) -> impl Iterator<Item = (&str, i64)> + Clone;
    /// Where the service's list goes on.
    fn pagination(&self) -> &Pagination;
}

/// A page to hand on.
#[derive(Debug)]
pub(crate) struct Out<P> {
    pub(crate) page: P,
    /// The rows of it that count, and whether the list can go on after them.
    pub(crate) turn: Turn,
    /// Where to go on after it.
    pub(crate) next: Next,
}

/// What stands at an end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// This row.
    Row { id: String, time: i64 },
    /// The end of the list.
    End,
}

/// How far a range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has asked for any of it.
    Waiting,
    /// A walker is in it.
    Open,
    /// It was read down to its lower end.
    Done,
    /// It cannot be read further; what was read of it counts.
    Failed,
}

/// What is known of the seam between a range and the one below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// Nothing yet.
    Open,
    /// What its two sides saw differs; the upper or the lower is to be asked again.
    Differs { upper: bool },
    /// It is being asked again, by this request.
    Asked { request: u64, upper: bool },
    /// Both sides saw the same row.
    Holds,
}

/// The rows from `lo` up to, but without, `hi`, in milliseconds since 1970.
#[derive(Debug)]
pub(super) struct Range<P> {
    pub(super) hi: i64,
    pub(super) lo: i64,
    pub(super) state: State,
    pub(super) walk: Walk,
    /// The request under way.
    pub(super) request: Option<u64>,
    /// The cursor of the last request, and of the one whose answer came last.
    pub(super) asked: Option<Cursor>,
    /// What its first answer began with.
    pub(super) first: Option<Edge>,
    /// What its last answer showed below `lo`.
    pub(super) below: Option<Edge>,
    /// The seam with the range below.
    pub(super) seam: Seam,
    pub(super) queue: VecDeque<Out<P>>,
    /// Whether rows of it were handed on.
    pub(super) handed_on: bool,
    pub(super) pace: Pace,
    /// The millisecond of the oldest row seen.
    pub(super) at: Option<i64>,
}

impl<P> Range<P> {
    /// A range that nobody reads yet.
    pub(super) fn waiting(lo: i64, hi: i64) -> Self {
        Self::new(lo, hi, State::Waiting, Walk::default())
    }

    pub(super) fn new(lo: i64, hi: i64, state: State, walk: Walk) -> Self {
        Self {
            hi,
            lo,
            state,
            walk,
            request: None,
            asked: None,
            first: None,
            below: None,
            seam: Seam::Open,
            queue: VecDeque::new(),
            handed_on: false,
            pace: Pace::default(),
            at: None,
        }
    }

    /// Whether an answer has come from it.
    pub(super) fn is_known(&self) -> bool {
        self.first.is_some()
    }
}

impl Edge {
    pub(super) fn of(row: (&str, i64)) -> Self {
        Self::Row { id: row.0.to_owned(), time: row.1 }
    }

    /// Whether it lies above another: a row is newer, or the other is the end.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Row { time, .. }, Self::Row { time: other, .. }) => time > other,
            (Self::Row { .. }, Self::End) => true,
            (Self::End, _) => false,
        }
    }
}
