//! Chooses the cursor of each request so that rows that share a unit of the service's cursor are not
//! lost. Pure: rows and cursors in, decisions out.
//!
//! A service with cursors of milliseconds (or seconds) cuts the time of the last row to that
//! unit and responds with strictly older rows. The rows that share the last row's unit and did not fit
//! on the page are then dropped. To prevent this, the walk replaces such a cursor by one of its own:
//!
//! | Strategy | When | Cursor sent | The response must begin with |
//! |---|---|---|---|
//! | as is | the cursor is not the time of the last row | the service's | any row |
//! | next unit | the page begins above the last row's unit | the start of the next unit | a known row of the unit |
//! | just above | the whole page lies in one unit, or the cursor has a part below the unit | just above the last row | a known row |
//! | checked | "just above" failed | the service's | a row of the unit |
//!
//! If "next unit" fails, the service refuses or ignores foreign cursors, or rows were deleted, and the
//! walk falls back to the service's cursor. If "checked" fails, rows of the unit may be missing: a tie
//! overflow. A resumed walk does not know whether the page before lay in one unit. If other rows share the
//! last row's time, it tries "just above" first, else "next unit".

mod cursor;
mod strategy;

use formsvc_protocol::{Cursor, FormInstant, Pagination};

use crate::completeness::{Completeness, CursorUnit, FallbackReason, TieOverflow};
use cursor::{cursor_like, instant_of};
use strategy::{CursorStrategy, UnitStart, just_above};

/// The decision about one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its rows count.
    Accept,
    /// Its rows do not count; the request is repeated with another cursor.
    Retry,
    /// The same, with the service's cursor.
    FallBack(FallbackReason),
    /// Rows of a unit may be missing before its rows.
    Overflow(TieOverflow),
}

/// A row as the decisions see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenRow {
    pub(crate) time: i64,
    /// Whether the walk has yielded it before.
    pub(crate) known: bool,
}

/// The tie-safe part of a walk.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "five independent facts about the service")]
pub(crate) struct TieGuard {
    strategy: CursorStrategy,
    /// Strategies to try when the response to this one is rejected, the next one last.
    alternatives: Vec<CursorStrategy>,
    /// The cursor to send instead of the service's.
    own: Option<Cursor>,
    /// The service's cursor of the last page with rows.
    service: Option<Cursor>,
    /// Time of the last row.
    oldest: i64,
    /// Whether all times seen are whole seconds.
    whole_seconds: bool,
    /// Whether a cursor was seen that is its row's time cut to the second.
    cut_to_seconds: bool,
    /// Whether a cursor was seen that has a part below the second.
    cursor_has_millis: bool,
    /// Whether the service was seen to honour a cursor that it had not issued.
    honours_cursors: bool,
    /// Whether the walk uses the service's cursors for good.
    off: bool,
    /// The first reason why the result is not proven complete.
    unproven: Option<FallbackReason>,
    allow_incomplete: bool,
    /// The last second and the last millisecond, with the rows yielded of each.
    counts: [(i64, u64); 2],
    overflows: Vec<TieOverflow>,
}

const UNITS: [CursorUnit; 2] = [CursorUnit::Second, CursorUnit::Millisecond];

impl TieGuard {
    /// Starts at the newest row, or at a cursor that is used as it is.
    pub(crate) fn new() -> Self {
        Self {
            strategy: CursorStrategy::AsIs,
            alternatives: Vec::new(),
            own: None,
            service: None,
            oldest: i64::MAX,
            whole_seconds: true,
            cut_to_seconds: false,
            cursor_has_millis: false,
            honours_cursors: false,
            off: false,
            unproven: None,
            allow_incomplete: false,
            counts: [(i64::MIN, 0); 2],
            overflows: Vec::new(),
        }
    }

    /// Starts at a cursor of the service, after a row of this time, which `tied` rows share.
    pub(crate) fn resume(cursor: &Cursor, oldest: i64, tied: u64) -> Self {
        let mut guard = Self::new();
        guard.oldest = oldest;
        guard.service = Some(cursor.clone());
        let Some(instant) = instant_of(cursor) else {
            guard.unproven = Some(FallbackReason::CursorNotTime);
            return guard;
        };
        // A single time that is a whole second fits either unit.
        let units = UNITS.map(|unit| UnitStart::of(unit, oldest));
        let mut steps: Vec<_> = units
            .into_iter()
            .filter(|unit| unit.start == instant)
            .map(CursorStrategy::NextUnit)
            .collect();
        if let Some((unit, _)) = steps.last().and_then(|step| step.unit_and_bound()) {
            let just_above = just_above(unit, instant, oldest);
            // The page before did not lie in one millisecond if its last row is alone in it.
            steps.insert(if tied == 1 { 0 } else { steps.len() }, just_above);
            guard.try_in_turn(steps);
        } else if units[1].contains(instant) {
            guard.set_strategy(just_above(units[1], instant, oldest));
        }
        guard
    }

    pub(crate) fn allow_incomplete(&mut self, allow: bool) {
        self.allow_incomplete = allow;
    }

    /// The cursor to send instead of the service's.
    pub(crate) fn own(&self) -> Option<&Cursor> {
        self.own.as_ref()
    }

    /// Whether the next page with rows must begin with a known one.
    pub(crate) fn expects_known_row(&self) -> bool {
        self.strategy.own_instant().is_some()
    }

    /// The service's cursor to return to when a response does not count.
    pub(crate) fn service(&self) -> Option<&Cursor> {
        self.service.as_ref()
    }

    pub(crate) fn overflows(&self) -> &[TieOverflow] {
        &self.overflows
    }

    pub(crate) fn completeness(&self) -> Completeness {
        match self.unproven {
            _ if !self.overflows.is_empty() => Completeness::Incomplete,
            Some(_) => Completeness::Unproven,
            None => Completeness::Proven,
        }
    }

    /// Judges a response by its rows, newest first.
    pub(crate) fn judge(
        &mut self,
        mut rows: impl Iterator<Item = SeenRow> + Clone,
        has_more: bool,
    ) -> Verdict {
        let Some((unit, bound)) = self.strategy.unit_and_bound() else { return Verdict::Accept };
        // A service may repeat the row before the cursor; one known row above the bound is dropped.
        let early = rows.clone().take_while(|row| row.time >= bound).take(2);
        let (early, early_known) = early.fold((0, true), |(n, all), row| (n + 1, all && row.known));
        let obeyed = early == 0 || early == 1 && early_known;
        let Some(first) = rows.clone().nth(early) else {
            // The response that an empty page leads to is judged instead.
            let leads_on = early == 0 && has_more;
            return if leads_on { Verdict::Accept } else { self.reject() };
        };
        let begins_in_unit = unit.contains(first.time);
        let shows_known = rows.clone().any(|row| row.known && unit.contains(row.time));
        let leads_on = !has_more || rows.clone().any(|row| !row.known || row.time < unit.start);
        let fills_page = rows.all(|row| unit.contains(row.time));
        let accepted = match self.strategy {
            CursorStrategy::AsIs => true,
            CursorStrategy::NextUnit(_) => {
                // An unknown row that is newer than the last one would break the order.
                let trusted = self.honours_cursors || shows_known;
                let continues = first.known || first.time <= self.oldest && trusted;
                obeyed && (leads_on || fills_page) && begins_in_unit && continues
            }
            CursorStrategy::JustAbove { .. } => obeyed && first.known && leads_on,
            CursorStrategy::Checked(_) => first.known || begins_in_unit,
        };
        if !accepted {
            return self.reject();
        }
        self.honours_cursors |= self.own.is_some();
        // The cursor of the next millisecond failed before, so the service cuts cursors to seconds.
        let seconds = matches!(self.strategy, CursorStrategy::NextUnit(unit) if unit.unit == CursorUnit::Second);
        self.cut_to_seconds |= seconds && !self.whole_seconds;
        Verdict::Accept
    }

    /// The service refused the request; `None` unless it carried a cursor of the walk's own.
    pub(crate) fn refused(&mut self) -> Option<Verdict> {
        self.own.as_ref()?;
        Some(self.try_next().unwrap_or_else(|| {
            self.off = true;
            self.fall_back(FallbackReason::CursorRefused)
        }))
    }

    fn reject(&mut self) -> Verdict {
        if let Some(retry) = self.try_next() {
            return retry;
        }
        if let CursorStrategy::Checked(unit) = self.strategy {
            return self.overflow(unit);
        }
        if self.honours_cursors {
            return self.fall_back(FallbackReason::RowsDeleted);
        }
        self.off = true;
        self.fall_back(FallbackReason::CursorIgnored)
    }

    fn try_next(&mut self) -> Option<Verdict> {
        let next = self.alternatives.pop()?;
        self.set_strategy(next);
        Some(Verdict::Retry)
    }

    fn fall_back(&mut self, reason: FallbackReason) -> Verdict {
        self.set_strategy(CursorStrategy::AsIs);
        if self.mark_unproven(reason) { Verdict::FallBack(reason) } else { Verdict::Retry }
    }

    /// Returns whether this is the first reason.
    fn mark_unproven(&mut self, reason: FallbackReason) -> bool {
        let is_first = self.unproven.is_none();
        self.unproven.get_or_insert(reason);
        is_first
    }

    fn overflow(&mut self, unit: UnitStart) -> Verdict {
        let count = UNITS.iter().position(|of| *of == unit.unit).map(|at| self.counts[at]);
        let rows = count.map_or(0, |(start, rows)| if start == unit.start { rows } else { 0 });
        let overflow = TieOverflow { unit: unit.unit, start: unit.start, rows };
        if self.allow_incomplete {
            self.overflows.push(overflow);
        }
        Verdict::Overflow(overflow)
    }

    /// Returns the overflow of a time that more rows share than are recognized when they are repeated;
    /// `None` if it was allowed before.
    pub(crate) fn too_many_rows(&mut self, time: i64, rows: u64) -> Option<TieOverflow> {
        let UnitStart { unit, start } = UnitStart::of(CursorUnit::Millisecond, time);
        let overflow = TieOverflow { unit, start, rows };
        if self.allow_incomplete {
            if self.overflows.last().is_some_and(|last| last.start == start) {
                return None;
            }
            self.overflows.push(overflow);
        }
        Some(overflow)
    }

    /// Whether the rows after an overflow count.
    pub(crate) fn continues_after_overflow(&self) -> bool {
        self.allow_incomplete
    }

    /// Chooses the strategy for the page after an accepted one. `all` are the times of its rows, `new`
    /// those of its new rows. Returns the reason if from now on the result is not proven complete.
    pub(crate) fn advance(
        &mut self,
        all: impl Iterator<Item = i64> + Clone,
        new: impl Iterator<Item = i64>,
        pagination: &Pagination,
    ) -> Option<FallbackReason> {
        new.for_each(|time| self.count(time));
        self.own = None;
        let (Some(last), Some(cursor)) = (all.clone().last(), &pagination.next_cursor) else {
            return None;
        };
        self.whole_seconds &= all.clone().all(|time| CursorUnit::Second.floor(time) == time);
        let row_before = std::mem::replace(&mut self.oldest, last);
        self.service = Some(cursor.clone());
        let before = std::mem::replace(&mut self.strategy, CursorStrategy::AsIs);
        self.alternatives.clear();
        if self.off {
            return None;
        }
        let instant = instant_of(cursor);
        let [second, milli] = UNITS.map(|unit| UnitStart::of(unit, last));
        if let Some(instant) = instant {
            self.cut_to_seconds |= instant == second.start && instant != milli.start;
            self.cursor_has_millis |= CursorUnit::Second.floor(instant) != instant;
        }
        // A service that has sent a cursor with milliseconds does not cut its cursors to seconds.
        let seconds = !self.cursor_has_millis && (self.whole_seconds || self.cut_to_seconds);
        let unit = if seconds { second } else { milli };
        let Some(instant) = instant.filter(|instant| unit.contains(*instant)) else {
            let reason = FallbackReason::CursorNotTime;
            return self.mark_unproven(reason).then_some(reason);
        };
        if instant != unit.start {
            self.set_strategy(just_above(unit, instant, last));
            return None;
        }
        let bound = before.unit_and_bound().map_or(i64::MAX, |(_, bound)| bound);
        let mut counted = all.skip_while(|time| *time >= bound);
        // A page of one row may be the first of its unit: the next request has room for two rows.
        let is_full = before != CursorStrategy::AsIs
            || counted.clone().nth(1).is_some()
            || unit.contains(row_before);
        if is_full && counted.all(|time| unit.contains(time)) {
            self.try_in_turn(vec![CursorStrategy::Checked(unit), just_above(unit, instant, last)]);
        } else if unit == milli && instant == second.start && !self.cursor_has_millis {
            // The unit is not settled: by chance the last row was made at a whole second.
            self.try_in_turn(vec![
                CursorStrategy::NextUnit(second),
                CursorStrategy::NextUnit(milli),
            ]);
        } else {
            self.set_strategy(CursorStrategy::NextUnit(unit));
        }
        None
    }

    fn count(&mut self, time: i64) {
        for (unit, (start, rows)) in UNITS.iter().zip(&mut self.counts) {
            if *start != unit.floor(time) {
                (*start, *rows) = (unit.floor(time), 0);
            }
            *rows += 1;
        }
    }

    /// Uses the last of these strategies, and the ones before it when its response is rejected.
    fn try_in_turn(&mut self, strategies: Vec<CursorStrategy>) {
        self.alternatives = strategies;
        if let Some(first) = self.alternatives.pop() {
            self.set_strategy(first);
        }
    }

    fn set_strategy(&mut self, strategy: CursorStrategy) {
        self.strategy = strategy;
        let own = strategy.own_instant().zip(self.service.as_ref());
        self.own =
            own.map(|(instant, service)| cursor_like(service, FormInstant::from_micros(instant)));
    }
}

#[cfg(test)]
mod tests;
