//! Reading on so that rows which share a millisecond are not lost, even on a service whose cursor
//! has only milliseconds. Pure; what pages look like goes in, the next cursor comes out.
//!
//! Such a service cuts the time of the last row to milliseconds and answers with rows strictly
//! older, so the other rows of that millisecond are dropped. Three ways to ask prevent it:
//!
//! | How | Cursor | Must begin with |
//! |---|---|---|
//! | over | one millisecond above the oldest row's | a row of that millisecond that is known |
//! | just above | the service's cursor plus a microsecond, when a whole page lay in one millisecond | a row that is known, which shows that nothing lies between |
//! | as it says | the service's cursor, when the one just above was of no use | a row of that millisecond |
//!
//! An answer "over" that does not begin so comes from a service that does not take cursors of
//! others, and the walk goes back to the service's cursors for good; once the service was seen to
//! take them, its own cursor must confirm that, since rows may have been deleted. An answer "as it
//! says" that does not begin so shows a tie storm: rows of the millisecond may be missing.

mod storm;

use formsvc_protocol::{Cursor, FormInstant, Pagination};

pub(crate) use storm::Storm;
pub use storm::{OnTieStorm, TieStorm};

const MICROS_PER_MS: i64 = 1_000;

/// Why a list goes on by the service's cursors alone, although it was asked for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallbackReason {
    /// The service refused a cursor that it had not issued.
    CursorRefused,
    /// The answer to a cursor that the service had not issued was not what lies before it.
    CursorMistreated,
}

/// How the next page is asked for, and the rows its answer must begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// By the service's cursor, and nothing is expected.
    Plain,
    /// One millisecond above this one.
    Over(i64),
    /// Just above the last row, which lies in this millisecond.
    JustAbove { ms: i64, bound: i64 },
    /// By the service's cursor, after a page that lay wholly in this millisecond.
    AsItSays(i64),
    /// By the service's cursor, to see whether the answer "over" was right: no row that is known was
    /// in it. They were deleted, or it was no answer to that cursor.
    Confirm,
}

impl Ask {
    /// The millisecond that is read on from, and the instant that rows must be older than.
    fn ms_and_bound(self) -> Option<(i64, i64)> {
        match self {
            Self::Plain | Self::Confirm => None,
            Self::Over(ms) | Self::AsItSays(ms) => Some((ms, bound_over(ms))),
            Self::JustAbove { ms, bound } => Some((ms, bound)),
        }
    }
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its rows count.
    Good,
    /// They do not; the walk asks in another way.
    Again,
    /// They do not, and the walk goes on by the service's cursors for good.
    FellBack(FallbackReason),
    /// Rows of a millisecond may be missing before them.
    Storm(Storm),
}

/// The state of a walk that keeps ties.
#[derive(Debug)]
pub(crate) struct TieSafe {
    ask: Ask,
    /// What is sent instead of the service's cursor.
    own: Option<Cursor>,
    /// The service's cursor of the page before it.
    service: Option<Cursor>,
    /// Whether the page before it lay wholly in one millisecond.
    whole: bool,
    /// Whether the service was seen to take a cursor that it had not issued.
    checked: bool,
    /// The first row of the answer that is to be confirmed.
    unconfirmed: Option<String>,
    off: bool,
    on_storm: OnTieStorm,
    /// The oldest millisecond, and the rows handed on of it.
    counted: (i64, u64),
    storms: Vec<TieStorm>,
}

/// A row as it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'r> {
    pub(crate) id: &'r str,
    pub(crate) time: i64,
    pub(crate) known: bool,
}

impl TieSafe {
    /// For a walk that stands at this cursor of the service, after a row of this time.
    pub(crate) fn new(on_storm: OnTieStorm, cursor: Option<&Cursor>, oldest: Option<i64>) -> Self {
        let mut state = Self {
            ask: Ask::Plain,
            own: None,
            service: None,
            whole: false,
            checked: false,
            unconfirmed: None,
            off: false,
            on_storm,
            counted: (0, 0),
            storms: Vec::new(),
        };
        state.stand_at(cursor, oldest);
        state
    }

    /// The walk stands at this cursor of the service, after a row of this time.
    pub(crate) fn stand_at(&mut self, cursor: Option<&Cursor>, oldest: Option<i64>) {
        (self.ask, self.own, self.whole) = (Ask::Plain, None, false);
        let (Some(cursor), Some(oldest), false) = (cursor, oldest, self.off) else { return };
        let ms = millisecond(oldest);
        self.service = Some(cursor.clone());
        // A cursor finer than a millisecond may stand in the midst of more rows than a page.
        match within(cursor, ms).filter(|micros| *micros != ms.saturating_mul(MICROS_PER_MS)) {
            Some(micros) => self.just_above(ms, micros),
            None => self.over(ms),
        }
    }

    /// The cursor to send instead of the service's.
    pub(crate) fn own(&self) -> Option<&Cursor> {
        self.own.as_ref()
    }

    /// The service's cursor to go back to, when an answer does not count.
    pub(crate) fn service(&self) -> Option<&Cursor> {
        self.service.as_ref()
    }

    /// The milliseconds that could not be proven complete.
    pub(crate) fn storms(&self) -> &[TieStorm] {
        &self.storms
    }

    /// Judges an answer by its rows, newest first.
    pub(crate) fn judge<'r>(
        &mut self,
        mut rows: impl Iterator<Item = Judged<'r>> + Clone,
        has_more: bool,
    ) -> Verdict {
        if self.ask == Ask::Confirm {
            return self.confirm(rows.clone().next(), has_more);
        }
        let Some((ms, bound)) = self.ask.ms_and_bound() else { return Verdict::Good };
        // One row that is repeated from the page before is a fault of another kind.
        let early = rows.clone().take_while(|row| row.time >= bound).take(2);
        let (early, early_known) = early.fold((0, true), |(n, all), row| (n + 1, all && row.known));
        let obeyed = early == 0 || early == 1 && early_known;
        let Some(first) = rows.clone().nth(early) else {
            return self.judge_without_rows(obeyed && early == 0, ms, has_more);
        };
        let meets = first.known && millisecond(first.time) == ms;
        // A walk that was resumed may know a whole page, and is led on by its older rows.
        let leads_on = rows.clone().any(|row| !row.known || millisecond(row.time) < ms);
        let idle = has_more && !leads_on;
        let whole = rows.all(|row| millisecond(row.time) == ms);
        match self.ask {
            Ask::Plain | Ask::Confirm => Verdict::Good,
            Ask::Over(_) if !obeyed || idle && !whole => {
                self.fall_back(FallbackReason::CursorMistreated)
            }
            Ask::Over(_) if meets => {
                self.checked = true;
                Verdict::Good
            }
            // Other rows of the millisecond were deleted.
            Ask::Over(_) if self.checked && millisecond(first.time) == ms => Verdict::Good,
            Ask::Over(_) => self.doubt(Some(first.id)),
            Ask::JustAbove { .. } if obeyed && first.known && !idle => Verdict::Good,
            Ask::JustAbove { .. } => self.ask_otherwise(ms),
            Ask::AsItSays(_) if first.known || millisecond(first.time) == ms => Verdict::Good,
            Ask::AsItSays(_) => self.storm(ms),
        }
    }

    fn judge_without_rows(&mut self, empty: bool, ms: i64, has_more: bool) -> Verdict {
        if empty && has_more {
            // The page that this one leads to is judged.
            return Verdict::Good;
        }
        match self.ask {
            Ask::Over(_) => self.doubt(None),
            Ask::JustAbove { .. } => self.ask_otherwise(ms),
            Ask::Plain | Ask::Confirm => Verdict::Good,
            Ask::AsItSays(_) => self.storm(ms),
        }
    }

    /// An answer "over" has no row that is known, and this first row.
    fn doubt(&mut self, first: Option<&str>) -> Verdict {
        if !self.checked {
            return self.fall_back(FallbackReason::CursorMistreated);
        }
        self.unconfirmed = first.map(str::to_owned);
        (self.ask, self.own) = (Ask::Confirm, None);
        Verdict::Again
    }

    fn confirm(&mut self, first: Option<Judged<'_>>, has_more: bool) -> Verdict {
        let leads_on = first.is_none() && has_more;
        if leads_on || first.map(|row| row.id) == self.unconfirmed.as_deref() {
            return Verdict::Good;
        }
        self.fall_back(FallbackReason::CursorMistreated)
    }

    /// The service refused the request; `None` when that was not because of a cursor of our own.
    pub(crate) fn refused(&mut self) -> Option<Verdict> {
        self.own.as_ref()?;
        Some(match self.ask {
            Ask::JustAbove { ms, .. } => self.ask_otherwise(ms),
            _ => self.fall_back(FallbackReason::CursorRefused),
        })
    }

    fn fall_back(&mut self, why: FallbackReason) -> Verdict {
        self.off = true;
        (self.ask, self.own) = (Ask::Plain, None);
        Verdict::FellBack(why)
    }

    /// The cursor just above the last row was of no use.
    fn ask_otherwise(&mut self, ms: i64) -> Verdict {
        if self.whole {
            (self.ask, self.own) = (Ask::AsItSays(ms), None);
        } else {
            self.over(ms);
        }
        Verdict::Again
    }

    fn storm(&mut self, ms: i64) -> Verdict {
        let rows = if self.counted.0 == ms { self.counted.1 } else { 0 };
        let storm = Storm { ms, rows };
        if self.on_storm == OnTieStorm::Report {
            self.storms.push(storm.into());
        }
        Verdict::Storm(storm)
    }

    /// Whether the rows after a tie storm count.
    pub(crate) fn goes_on_after_storms(&self) -> bool {
        self.on_storm == OnTieStorm::Report
    }

    /// A page counted, and there is more: sees to the next. `fresh` are the times of its new rows,
    /// `all` those of all its rows.
    pub(crate) fn advance(
        &mut self,
        all: impl Iterator<Item = i64> + Clone,
        fresh: impl Iterator<Item = i64>,
        pagination: &Pagination,
    ) {
        for time in fresh {
            let ms = millisecond(time);
            let before = if self.counted.0 == ms { self.counted.1 } else { 0 };
            self.counted = (ms, before + 1);
        }
        self.own = None;
        let (Some(last), Some(next)) = (all.clone().last(), &pagination.next_cursor) else {
            return;
        };
        if self.off {
            return;
        }
        self.service = Some(next.clone());
        let ms = millisecond(last);
        let bound = self.ask.ms_and_bound().map_or(i64::MAX, |(_, bound)| bound);
        // A row repeated from above does not count.
        self.whole = all.skip_while(|time| *time >= bound).all(|time| millisecond(time) == ms);
        match within(next, ms) {
            _ if !self.whole => self.over(ms),
            Some(micros) if micros.saturating_add(1) < bound_over(ms) => {
                self.just_above(ms, micros);
            }
            _ => self.ask = Ask::AsItSays(ms),
        }
    }

    fn over(&mut self, ms: i64) {
        self.ask = Ask::Over(ms);
        self.own = Some(cursor_at(bound_over(ms)));
    }

    fn just_above(&mut self, ms: i64, micros: i64) {
        let bound = micros.saturating_add(1);
        self.ask = Ask::JustAbove { ms, bound };
        self.own = Some(cursor_at(bound));
    }
}

/// The millisecond that a time in microseconds lies in.
pub(crate) fn millisecond(micros: i64) -> i64 {
    micros.div_euclid(MICROS_PER_MS)
}

/// The cursor of an instant in microseconds.
pub(crate) fn cursor_at(micros: i64) -> Cursor {
    FormInstant::from_micros(micros).to_cursor()
}

/// The instant above all of a millisecond.
fn bound_over(ms: i64) -> i64 {
    ms.saturating_add(1).saturating_mul(MICROS_PER_MS)
}

/// The instant of a cursor, if it is one and lies in this millisecond.
fn within(cursor: &Cursor, ms: i64) -> Option<i64> {
    let micros = FormInstant::parse_cursor(cursor.as_str()).ok()?.micros();
    (millisecond(micros) == ms).then_some(micros)
}

#[cfg(test)]
mod tests;
