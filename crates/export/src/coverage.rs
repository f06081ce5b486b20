//! Decides which submissions of a form are stored, and which list to read next. Pure.
//!
//! A list is read newest first, and a run may end after any page. The stored rows are therefore a set of
//! disjoint time intervals, each with the resume token of its lower end. A run reads from the newest
//! row down until it meets an interval, then continues from the lower end of that interval, and so on
//! until the oldest wanted time is reached. Then one interval is left.
//!
//! Guarantee: every submission with a time within an interval is stored, also one that is
//! committed up to 5 minutes after its `created_at`. For this, an interval ends 5 minutes before the
//! service read the first page of the walk: all rows before that time were committed, and in the list.
//! Later rows are stored but not covered, so that the next run reads them again. A row that was older than
//! 5 minutes when it was read is not read again. The second of the last row of a page is not covered until
//! the page below it is stored, because the service's cursors may have whole seconds.

use formsvc_client::{Completeness, ResumeToken, Timestamp};

/// Time after its `created_at` within which a submission may be committed, in microseconds.
const OVERLAP: i64 = 5 * 60 * SECOND;

const SECOND: i64 = 1_000_000;

/// A time interval of which every submission is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// In microseconds since 1970.
    pub(crate) newest: i64,
    /// In microseconds since 1970; `i64::MIN` at the end of the list.
    pub(crate) oldest: i64,
    /// Text of the resume token that continues below.
    pub(crate) resume: String,
    pub(crate) completeness: Completeness,
}

/// The intervals of a form, newest first; they neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(Vec<Interval>);

impl Interval {
    /// Returns the newest time that is covered; `None` for a list without submissions.
    pub fn newest(&self) -> Option<Timestamp> {
        timestamp(self.newest)
    }

    /// Returns the oldest time that is covered; `None` at the end of the list.
    pub fn oldest(&self) -> Option<Timestamp> {
        timestamp(self.oldest)
    }

    /// Returns whether submissions could be missing.
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Reads an interval that a database returned: its newest and oldest time, the text of its token
    /// and its completeness. The error is a reason.
    pub(crate) fn from_stored(
        (newest, oldest): (i64, i64),
        resume: String,
        completeness: &str,
    ) -> Result<Self, String> {
        let token: Result<ResumeToken, _> = resume.parse();
        token.map_err(|error| error.to_string())?;
        let completeness = [Completeness::Proven, Completeness::Unproven, Completeness::Incomplete]
            .into_iter()
            .find(|known| known.as_str() == completeness)
            .ok_or_else(|| format!("the completeness `{completeness}` is unknown"))?;
        Ok(Self { newest, oldest, resume, completeness })
    }

    fn touches(&self, other: &Self) -> bool {
        self.oldest <= other.newest.saturating_add(1)
            && other.oldest <= self.newest.saturating_add(1)
    }
}

impl Coverage {
    /// Returns the intervals, newest first.
    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// Returns true if every submission since this time is covered; `None` is the end of the list.
    pub fn is_complete_since(&self, time: Option<&Timestamp>) -> bool {
        self.reaches(time.map_or(i64::MIN, Timestamp::unix_micros))
    }

    /// Returns true if the newest interval reaches down to this time, so that no gap is left above it.
    pub(crate) fn reaches(&self, since: i64) -> bool {
        self.0.first().is_some_and(|newest| newest.oldest <= since)
    }

    /// Adds an interval and joins it with those that it touches. An empty one changes nothing. Returns
    /// true if the coverage has changed.
    pub(crate) fn add(&mut self, added: Interval) -> bool {
        if added.oldest > added.newest {
            return false;
        }
        let (touching, mut rest): (Vec<_>, Vec<_>) =
            self.0.iter().cloned().partition(|known| known.touches(&added));
        rest.push(touching.into_iter().fold(added, join));
        rest.sort_by_key(|interval| std::cmp::Reverse(interval.newest));
        let has_changed = self.0 != rest;
        self.0 = rest;
        has_changed
    }
}

/// Joins two intervals. If both end at the same time, the token of the first one is kept.
fn join(first: Interval, second: Interval) -> Interval {
    let (newest, oldest) = (first.newest.max(second.newest), first.oldest.min(second.oldest));
    let completeness = first.completeness.max(second.completeness);
    let lower = if second.oldest < first.oldest { second } else { first };
    Interval { newest, oldest, completeness, resume: lower.resume }
}

/// The part of the list that one walk has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WalkRange {
    /// The newest time that is covered; `None` before the first page.
    newest: Option<i64>,
    /// The oldest time down to which every row was read.
    pub(crate) oldest: i64,
}

/// How a run continues after a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AfterPage {
    /// Request the next page of the walk.
    Continue,
    /// The walk met an interval: a walk below this one, the newest, closes the next gap.
    Below(Interval),
    /// The oldest wanted time is reached.
    Finished,
}

impl WalkRange {
    /// Starts at the newest row.
    pub(crate) fn from_newest() -> Self {
        Self { newest: None, oldest: i64::MAX }
    }

    /// Continues below an interval.
    pub(crate) fn below(interval: &Interval) -> Self {
        Self { newest: Some(interval.newest), oldest: interval.oldest }
    }

    /// Takes a page: the time of its first and of its last row, and whether the list ends with it.
    /// `read_at` is when the service read the first page of the walk. The interval ends with the second of
    /// the newest row at the latest, so that a clock that is ahead (of this machine, without `Date`) by more
    /// than 5 minutes hides at most the rest of that second.
    pub(crate) fn extend(&mut self, times: Option<(i64, i64)>, is_last: bool, read_at: i64) {
        let newest = self.newest.get_or_insert(read_at.saturating_sub(OVERLAP));
        let had_no_row = self.oldest == i64::MAX;
        if let Some((first, last)) = times {
            if had_no_row {
                *newest = second_above(first).min(*newest);
            }
            self.oldest = second_above(last).min(self.oldest);
        } else if is_last && had_no_row {
            *newest = i64::MIN;
        }
        if is_last {
            self.oldest = i64::MIN;
        }
    }

    /// The interval to record; empty while all rows are newer than the overlap.
    pub(crate) fn interval(&self, resume: String, completeness: Completeness) -> Interval {
        let newest = self.newest.unwrap_or(i64::MIN);
        Interval { newest, oldest: self.oldest, resume, completeness }
    }

    /// Decides after a page was recorded in this coverage.
    pub(crate) fn after_page(&self, coverage: &Coverage, since: i64) -> AfterPage {
        if self.oldest <= since {
            return AfterPage::Finished;
        }
        let has_met = |part: &Interval| part.oldest < self.oldest && self.oldest <= part.newest;
        match coverage.0.first() {
            _ if !coverage.0.iter().any(has_met) => AfterPage::Continue,
            Some(newest) if newest.oldest > since => AfterPage::Below(newest.clone()),
            _ => AfterPage::Finished,
        }
    }
}

/// Returns a time in microseconds since 1970 as a timestamp; `None` outside the years that one can have.
pub(crate) fn timestamp(micros: i64) -> Option<Timestamp> {
    Timestamp::from_unix_nanos(i128::from(micros) * 1_000)
}

/// Returns the end of the second of a time.
fn second_above(time: i64) -> i64 {
    time.div_euclid(SECOND).saturating_add(1).saturating_mul(SECOND)
}

#[cfg(test)]
mod tests;
