//! Tests of coverage: a model of a service, and of runs that share a store.

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
    let read_at = 1_000 * SECOND;
    walk.extend(Some((999 * SECOND, 900 * SECOND)), false, read_at);
    let mut coverage = Coverage::default();
    coverage.add(walk.interval(String::new(), Completeness::Proven));
    assert_eq!(coverage.intervals(), []);
    walk.extend(Some((899 * SECOND, 600 * SECOND + 1)), false, read_at);
    coverage.add(walk.interval(String::new(), Completeness::Proven));
    assert_eq!(coverage.intervals(), [interval(700 * SECOND, 601 * SECOND, "")]);
}

#[test]
fn rows_older_than_the_overlap_are_covered_at_once() {
    let mut walk = WalkRange::from_newest();
    // Before the first page with rows, an empty one was read.
    walk.extend(None, false, 1_000 * SECOND);
    walk.extend(Some((700 * SECOND - 1, 699 * SECOND)), false, 1_000 * SECOND);
    assert_eq!(walk.interval(String::new(), Completeness::Proven).newest, 700 * SECOND);
    walk.extend(Some((698 * SECOND, 697 * SECOND)), true, 1_000 * SECOND);
    let read = walk.interval(String::new(), Completeness::Proven);
    assert_eq!((read.newest, read.oldest), (700 * SECOND, i64::MIN));
}

#[test]
fn wrong_clock_covers_no_time_after_the_newest_row() {
    for (read_at, newest) in [(99_000, 11), (10, 10 - 300)] {
        let mut walk = WalkRange::from_newest();
        walk.extend(Some((10 * SECOND, 9 * SECOND)), true, read_at * SECOND);
        let read = walk.interval(String::new(), Completeness::Proven);
        assert_eq!(read.newest, newest * SECOND);
    }
}

#[test]
fn row_of_the_future_does_not_raise_the_covered_time() {
    let mut walk = WalkRange::from_newest();
    let read_at = 1_000 * SECOND;
    let times = Some((read_at + 9_000 * SECOND, 10 * SECOND));
    walk.extend(times, true, read_at);
    assert_eq!(walk.interval(String::new(), Completeness::Proven).newest, read_at - OVERLAP);
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

/// A run: its walk, when the first page was read, and the instant that the walk's last row had.
struct Run {
    since: i64,
    walk: WalkRange,
    read_at: Option<i64>,
    position: i64,
    is_done: bool,
}

impl Run {
    fn start(since: i64) -> Self {
        let walk = WalkRange::from_newest();
        Self { since, walk, read_at: None, position: i64::MAX, is_done: false }
    }

    /// Reads the pages of a complete run; returns their number.
    fn complete(model: &mut Model) -> usize {
        let mut run = Self::start(i64::MIN);
        let mut pages = 0;
        while !run.is_done {
            run.step(model);
            pages += 1;
            assert!(pages < 1_000, "the run does not end");
        }
        pages
    }

    /// Reads one page.
    fn step(&mut self, model: &mut Model) {
        let visible = |row: &&Row| row.committed <= model.now && row.instant < self.position;
        let older: Vec<Row> = model.service.iter().rev().filter(visible).copied().collect();
        let page = &older[..older.len().min(PAGE)];
        let times = page.first().zip(page.last()).map(|(f, l)| (f.instant, l.instant));
        // `Date` has whole seconds.
        let read_at = *self.read_at.get_or_insert(model.now - model.now.rem_euclid(SECOND));
        self.walk.extend(times, page.len() == older.len(), read_at);
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
    // Pauses and delays in microseconds: a burst, within a second, within the overlap, beyond it.
    let span = prop_oneof![0..3_i64, 0..3 * SECOND, 0..OVERLAP, 0..4 * OVERLAP];
    let event = prop_oneof![
        4 => (span, prop_oneof![Just(0), 0..=OVERLAP, Just(OVERLAP)])
            .prop_map(|(pause, late)| Event::Arrive { pause, late }),
        4 => (0..2_usize, 0..3_usize).prop_map(|(run, since)| Event::Step { run, since }),
        1 => (0..2_usize).prop_map(|run| Event::Kill { run }),
    ];
    prop::collection::vec(event, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Nothing is covered that is not stored, at any time; after a run that ends by itself
    /// everything that was committed when it began is stored; and rows that were older than the
    /// overlap when they were read are not read again.
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
        Run::complete(&mut model);
        let committed = |row: &&Row| row.committed <= model.now;
        let missing: Vec<_> = model.service.iter().filter(committed)
            .filter(|row| !model.stored.contains(row)).collect();
        prop_assert!(missing.is_empty(), "{missing:?}");
        prop_assert_eq!(model.coverage.intervals().len(), 1);
        prop_assert!(model.coverage.reaches(i64::MIN));
        model.now += 2 * OVERLAP;
        Run::complete(&mut model);
        prop_assert_eq!(Run::complete(&mut model), 1);
    }
}
