//! Decides which submissions of a form are stored, and which list to read next. Pure.
//!
//! A list is read newest first, and a run may end after any page. The stored rows are therefore a set of
//! disjoint time intervals, each with the resume token of its lower end. A run reads from the newest
//! row down until it meets an interval, then continues from the lower end of that interval, and so on
//! until the oldest wanted time is reached. Then one interval is left.
//!
//! Guarantee: every submission whose time lies within an interval is stored, also one that is
//! committed up to 5 minutes after its `created_at`. For this, an interval ends 5 minutes before the
//! newest row that the walk received. Later rows are stored but not covered, so that the next run reads
//! them again. The second of the last row of a page is not covered until the page below it is
//! stored, because the service's cursors may have whole seconds.

use formsvc_client::{Completeness, ResumeToken};

/// Time after its `created_at` within which a submission may be committed, in microseconds.
pub(crate) const OVERLAP: i64 = 5 * 60 * SECOND;

const SECOND: i64 = 1_000_000;

/// A time interval of which every submission is stored. Times are in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// The newest time that is covered.
    pub newest: i64,
    /// The oldest time that is covered; `i64::MIN` at the end of the list.
    pub oldest: i64,
    /// Text of the resume token that continues below.
    pub resume: String,
    /// Whether submissions could be missing.
    pub completeness: Completeness,
}

/// The intervals of a form, newest first; they neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(Vec<Interval>);

impl Interval {
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

    /// Returns true if the newest interval reaches down to this time, so that no gap is left above it.
    pub fn reaches(&self, since: i64) -> bool {
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
    /// The newest time that is covered; `None` before the first row.
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

    /// Takes a page that was received at `now`: the time of its first and of its last row, and whether the
    /// list ends with it. If the time of its newest row is after `now`, because a clock is wrong, the
    /// interval ends at `now`: later runs must still read the submissions that are made between both times.
    pub(crate) fn extend(&mut self, times: Option<(i64, i64)>, is_last: bool, now: i64) {
        if let Some((first, last)) = times {
            self.newest.get_or_insert_with(|| first.min(now).saturating_sub(OVERLAP));
            let second_above = last.div_euclid(SECOND).saturating_add(1).saturating_mul(SECOND);
            self.oldest = self.oldest.min(second_above);
        }
        if is_last {
            self.newest.get_or_insert(i64::MIN);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const PAGE: usize = 4;

    fn interval(newest: i64, oldest: i64, resume: &str) -> Interval {
        let completeness = Completeness::Proven;
        Interval { newest, oldest, resume: resume.to_owned(), completeness }
    }

    fn coverage(intervals: &[Interval]) -> Coverage {
        let mut coverage = Coverage::default();
        for interval in intervals {
            coverage.add(interval.clone());
        }
        coverage
    }

    #[test]
    fn touching_intervals_are_joined_with_the_lower_token() {
        let joined = coverage(&[interval(9, 5, "a"), interval(20, 10, "b")]);
        assert_eq!(joined.intervals(), [interval(20, 5, "a")]);
        let apart = coverage(&[interval(8, 5, "a"), interval(20, 10, "b")]);
        assert_eq!(apart.intervals(), [interval(20, 10, "b"), interval(8, 5, "a")]);
        let bridged = coverage(&[interval(8, 5, "a"), interval(20, 10, "b"), interval(9, 9, "c")]);
        assert_eq!(bridged.intervals(), [interval(20, 5, "a")]);
        let later = coverage(&[interval(8, 5, "a"), interval(8, 5, "b")]);
        assert_eq!(later.intervals(), [interval(8, 5, "b")]);
    }

    #[test]
    fn join_keeps_the_worse_completeness() {
        let unproven = Interval { completeness: Completeness::Unproven, ..interval(9, 5, "a") };
        let joined = coverage(&[unproven, interval(20, 8, "b")]);
        assert_eq!(joined.intervals()[0].completeness, Completeness::Unproven);
    }

    #[test]
    fn rows_of_the_overlap_are_not_covered() {
        let mut walk = WalkRange::from_newest();
        walk.extend(Some((1_000 * SECOND, 900 * SECOND)), false, i64::MAX);
        let mut coverage = Coverage::default();
        coverage.add(walk.interval(String::new(), Completeness::Proven));
        assert_eq!(coverage.intervals(), []);
        walk.extend(Some((899 * SECOND, 600 * SECOND + 1)), false, i64::MAX);
        coverage.add(walk.interval(String::new(), Completeness::Proven));
        assert_eq!(coverage.intervals(), [interval(700 * SECOND, 601 * SECOND, "")]);
    }

    #[test]
    fn row_of_the_future_does_not_raise_the_covered_time() {
        let mut walk = WalkRange::from_newest();
        let now = 1_000 * SECOND;
        let times = Some((now + 9_000 * SECOND, 10 * SECOND));
        walk.extend(times, true, now);
        assert_eq!(walk.interval(String::new(), Completeness::Proven).newest, now - OVERLAP);
    }

    #[test]
    fn empty_list_reaches_every_time() {
        let mut walk = WalkRange::from_newest();
        walk.extend(None, false, 0);
        assert_eq!(walk.after_page(&Coverage::default(), 0), AfterPage::Continue);
        walk.extend(None, true, 0);
        assert_eq!(walk.after_page(&Coverage::default(), i64::MIN), AfterPage::Finished);
        let coverage = coverage(&[walk.interval(String::new(), Completeness::Proven)]);
        assert!(coverage.reaches(i64::MIN));
    }

    /// A row of the model's service: its time, and the time of its commit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Row {
        instant: i64,
        committed: i64,
    }

    /// The model: a service, a clock, and a store that runs share.
    #[derive(Default)]
    struct Model {
        now: i64,
        service: BTreeSet<Row>,
        stored: BTreeSet<Row>,
        coverage: Coverage,
    }

    /// A run: its walk, and the instant that the walk's last row had.
    struct Run {
        since: i64,
        walk: WalkRange,
        position: i64,
        is_done: bool,
    }

    impl Run {
        fn start(since: i64) -> Self {
            let walk = WalkRange::from_newest();
            Self { since, walk, position: i64::MAX, is_done: false }
        }

        /// Reads one page.
        fn step(&mut self, model: &mut Model) {
            let visible = |row: &&Row| row.committed <= model.now && row.instant < self.position;
            let older: Vec<Row> = model.service.iter().rev().filter(visible).copied().collect();
            let page = &older[..older.len().min(PAGE)];
            let times = page.first().zip(page.last()).map(|(f, l)| (f.instant, l.instant));
            self.walk.extend(times, page.len() == older.len(), model.now);
            self.position = times.map_or(self.position, |(_, last)| last);
            model.stored.extend(page);
            let resume = self.position.to_string();
            model.coverage.add(self.walk.interval(resume, Completeness::Proven));
            match self.walk.after_page(&model.coverage, self.since) {
                AfterPage::Continue => {}
                AfterPage::Finished => self.is_done = true,
                AfterPage::Below(interval) => {
                    self.walk = WalkRange::below(&interval);
                    self.position = interval.resume.parse().unwrap();
                }
            }
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// Time passes, and a row is made now that is committed this much later.
        Arrive { pause: i64, late: i64 },
        /// One of the two runs reads a page; starts it if it does not run.
        Step { run: usize, since: usize },
        /// One of the two runs is killed.
        Kill { run: usize },
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        // Pauses and delays in microseconds: within a second, within the overlap, beyond it.
        let span = prop_oneof![0..3 * SECOND, 0..OVERLAP, 0..4 * OVERLAP];
        let event = prop_oneof![
            4 => (span, prop_oneof![Just(0), 0..=OVERLAP])
                .prop_map(|(pause, late)| Event::Arrive { pause, late }),
            4 => (0..2_usize, 0..3_usize).prop_map(|(run, since)| Event::Step { run, since }),
            1 => (0..2_usize).prop_map(|run| Event::Kill { run }),
        ];
        prop::collection::vec(event, 1..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Nothing is covered that is not stored, at any time; and after a run that ends by itself
        /// everything that was committed when it began is stored.
        #[test]
        fn covered_rows_are_stored_and_a_run_completes(events in events()) {
            let mut model = Model { now: 1_000 * OVERLAP, ..Model::default() };
            let sinces = [i64::MIN, model.now + OVERLAP, model.now + 9 * OVERLAP];
            let mut runs: [Option<Run>; 2] = [None, None];
            for event in events {
                match event {
                    Event::Arrive { pause, late } => {
                        model.now += pause + 1;
                        let row = Row { instant: model.now, committed: model.now + late };
                        model.service.insert(row);
                    }
                    Event::Step { run, since } => {
                        let slot = &mut runs[run];
                        let running = slot.get_or_insert_with(|| Run::start(sinces[since]));
                        running.step(&mut model);
                        if running.is_done {
                            *slot = None;
                        }
                    }
                    Event::Kill { run } => runs[run] = None,
                }
                for interval in model.coverage.intervals() {
                    // Also rows that are committed later.
                    let covered = |row: &&Row| {
                        interval.oldest <= row.instant && row.instant <= interval.newest
                    };
                    for row in model.service.iter().filter(covered) {
                        prop_assert!(model.stored.contains(row), "{row:?} of {interval:?}");
                    }
                }
            }
            let mut last = Run::start(i64::MIN);
            let mut pages = 0;
            while !last.is_done {
                last.step(&mut model);
                pages += 1;
                prop_assert!(pages < 1_000, "the run does not end");
            }
            let committed = |row: &&Row| row.committed <= model.now;
            let missing: Vec<_> = model.service.iter().filter(committed)
                .filter(|row| !model.stored.contains(row)).collect();
            prop_assert!(missing.is_empty(), "{missing:?}");
            prop_assert_eq!(model.coverage.intervals().len(), 1);
            prop_assert!(model.coverage.reaches(i64::MIN));
        }
    }
}
