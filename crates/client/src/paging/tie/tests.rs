//! The walk against services in memory, each with its own handling of cursors.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::paging::walk::PagingWarning;
use crate::paging::walk::{ListPosition, NextStep, PagingError, Walk, WalkState};

/// How a service reads and issues cursors. All show times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Issues and honours instants to the microsecond.
    Exact,
    /// Stores, issues and compares milliseconds.
    Millis,
    /// The same, but a cursor is not cut before it is compared.
    MillisFineCompare,
    /// Knows microseconds, but issues milliseconds.
    CutToMillis,
    /// Stores and compares seconds, shows milliseconds.
    Seconds,
    /// Knows microseconds, but issues seconds.
    CutToSeconds,
    /// The same, and cuts the cursors that it reads.
    CutsBothToSeconds,
    /// Exact, but refuses cursors that it did not issue.
    Refusing,
    /// Exact, but responds with the newest page to cursors that it did not issue.
    Newest,
    /// Exact, but responds with an empty last page to cursors that it did not issue.
    Empty,
}

use Kind::{
    CutToMillis, CutToSeconds, CutsBothToSeconds, Empty, Exact, Millis, MillisFineCompare, Newest,
    Refusing, Seconds,
};

impl Kind {
    const ALL: [Self; 10] = [
        Exact,
        Millis,
        MillisFineCompare,
        CutToMillis,
        Seconds,
        CutToSeconds,
        CutsBothToSeconds,
        Refusing,
        Newest,
        Empty,
    ];

    fn unit(self) -> i64 {
        match self {
            Seconds | CutToSeconds | CutsBothToSeconds => 1_000_000,
            _ => 1_000,
        }
    }

    fn takes_own_cursors_only(self) -> bool {
        matches!(self, Refusing | Newest | Empty)
    }
}

fn cut(time: i64, unit: i64) -> i64 {
    time - time.rem_euclid(unit)
}

/// A list by instants in microseconds, newest first; several rows may share one.
#[derive(Clone, Debug)]
struct Service {
    kind: Kind,
    rows: Vec<i64>,
    limit: u32,
    /// The unit of the times that it shows.
    shown: i64,
    /// Every page but the first has an empty one before it.
    empty_pages: bool,
}

type Answer = (Vec<(String, i64)>, Pagination);

impl Service {
    fn new(kind: Kind, rows: &[i64], limit: u32) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|row| -row);
        Self { kind, rows, limit, shown: 1_000, empty_pages: false }
    }

    /// Whether so many rows share a microsecond that cursors of microseconds lose some. The list is
    /// then unproven.
    fn may_lose(&self) -> bool {
        let most = match self.kind {
            Exact => self.limit.max(2) as usize,
            kind if kind.takes_own_cursors_only() => 2,
            _ => return false,
        };
        crowds(&self.rows, 1).into_values().any(|rows| rows >= most)
    }

    /// The service without rows that it may lose.
    fn without_loss(mut self) -> Self {
        if self.may_lose() {
            self.rows.dedup();
        }
        self
    }

    /// The id of a row by its position.
    fn id(&self, at: usize) -> String {
        let row = self.rows[at];
        let tied = self.rows[..at].iter().filter(|other| **other == row).count();
        if tied == 0 { format!("sub_{row}") } else { format!("sub_{row}_{tied}") }
    }

    fn cursor_of(&self, row: i64) -> Cursor {
        let instant = match self.kind {
            Exact | Refusing | Newest | Empty => row,
            _ => cut(row, self.kind.unit()),
        };
        FormInstant::from_micros(instant).to_cursor()
    }

    /// The response to a request; `None` is status 400.
    fn answer(&self, cursor: Option<&Cursor>, limit: u32) -> Option<Answer> {
        let limit = limit as usize;
        let issued = cursor.is_none_or(|c| self.rows.iter().any(|row| self.cursor_of(*row) == *c));
        let bound = match (self.kind, issued) {
            (Refusing, false) => return None,
            (Newest, false) => i64::MAX,
            (Empty, false) => i64::MIN,
            _ => cursor.map_or(i64::MAX, |cursor| instant_of(cursor).unwrap()),
        };
        if let (true, Some(cursor)) = (self.empty_pages, cursor)
            && let Some(usual) = cursor.as_str().strip_suffix('Z')
            && usual.len() < "2026-01-01T00:00:00.000000000".len()
        {
            let next_cursor = Some(Cursor::new(format!("{usual:0<29}Z")));
            return Some((Vec::new(), Pagination { next_cursor, has_more: true }));
        }
        let unit = self.kind.unit();
        let is_older = |row: i64| match self.kind {
            Millis | Seconds => cut(row, unit) < cut(bound, unit),
            MillisFineCompare => cut(row, unit) < bound,
            CutsBothToSeconds => row < cut(bound, unit),
            _ => row < bound,
        };
        let older = (0..self.rows.len()).filter(|at| is_older(self.rows[*at]));
        let has_more = older.clone().count() > limit;
        let next_cursor = older.clone().take(limit).last().map(|at| self.cursor_of(self.rows[at]));
        let rows = older.take(limit).map(|at| (self.id(at), cut(self.rows[at], self.shown)));
        let rows = rows.collect();
        Some((rows, Pagination { next_cursor, has_more }))
    }
}

/// The result of a walk.
#[derive(Clone, Debug, Default)]
struct Outcome {
    ids: Vec<String>,
    requests: usize,
    warnings: Vec<PagingWarning>,
    ended: Option<NextStep>,
    overflows: Vec<TieOverflow>,
    completeness: Completeness,
}

fn run(service: &Service, mut walk: Walk, stop_after: usize) -> (Outcome, Walk) {
    let mut out = Outcome::default();
    while out.ids.len() < stop_after {
        out.requests += 1;
        assert!(out.requests < 5_000, "it does not end: {service:?}");
        let limit = walk.rows_to_request(service.limit);
        let Some((rows, pagination)) = service.answer(walk.cursor(), limit) else {
            let outcome = walk.retry_refused().expect("only foreign cursors are refused");
            out.warnings.extend(outcome.warning);
            continue;
        };
        let outcome = walk.accept(rows.iter().map(|(id, time)| (&**id, *time)), &pagination);
        out.ids.extend(new_ids(&rows, &outcome));
        out.warnings.extend(outcome.warning);
        if !matches!(outcome.next, NextStep::Continue | NextStep::Retry) {
            out.ended = Some(outcome.next);
            break;
        }
    }
    out.overflows = walk.tie_overflows().to_vec();
    out.completeness = walk.completeness();
    (out, walk)
}

fn new_ids(
    rows: &[(String, i64)],
    outcome: &crate::paging::walk::PageOutcome,
) -> impl Iterator<Item = String> {
    outcome.new_rows.iter().map(|at| rows[*at].0.clone())
}

fn read(service: &Service, allow_incomplete: bool) -> Outcome {
    let mut walk = Walk::new(None);
    walk.set_allow_incomplete(allow_incomplete);
    run(service, walk, usize::MAX).0
}

fn all(service: &Service) -> Vec<String> {
    (0..service.rows.len()).map(|at| service.id(at)).collect()
}

fn has_duplicates(ids: &[String]) -> bool {
    let mut once = ids.to_vec();
    once.sort();
    once.dedup();
    once.len() != ids.len()
}

/// Number of rows in each unit.
fn crowds(rows: &[i64], unit: i64) -> BTreeMap<i64, usize> {
    let mut crowds = BTreeMap::new();
    for row in rows {
        *crowds.entry(cut(*row, unit)).or_default() += 1;
    }
    crowds
}

/// Few seconds, few milliseconds in them, and few microseconds, of which the first is frequent.
fn any_rows() -> impl Strategy<Value = Vec<i64>> {
    let millis = prop_oneof![Just(0_i64), 0_i64..4];
    let row = (0_i64..4, millis, prop_oneof![Just(0_i64), 0_i64..9]);
    let row = row.prop_map(|(s, ms, micros)| s * 1_000_000 + ms * 1_000 + micros);
    // Some forms have only whole seconds.
    prop_oneof![
        prop::collection::vec(row, 0..40),
        prop::collection::vec((0_i64..40).prop_map(|s| s * 1_000_000), 0..40),
    ]
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_row_is_yielded_once_or_overflow_is_reported(
        rows in any_rows(),
        kind in any_kind(),
        limit in 1_u32..=6,
        empty_pages in any::<bool>(),
        shows_seconds in any::<bool>(),
    ) {
        let empty_pages = empty_pages && kind == Exact;
        let shown = if shows_seconds { kind.unit() } else { 1_000 };
        let service = Service { shown, empty_pages, ..Service::new(kind, &rows, limit) };
        let out = read(&service, false);
        let all = all(&service);
        let lost = service.may_lose() && out.completeness == Completeness::Unproven;
        match out.ended {
            Some(NextStep::Finished) => prop_assert!(lost || out.ids == all, "{:?}", out.ids),
            Some(NextStep::Failed(PagingError::TieOverflow(overflow))) => {
                prop_assert!(lost || all.starts_with(&out.ids), "{:?}", out.ids);
                let crowd = crowds(&service.rows, overflow.unit.micros())[&overflow.start];
                prop_assert!(crowd >= limit.max(2) as usize, "{} in {:?}", crowd, overflow);
                prop_assert!((1..=crowd as u64).contains(&overflow.rows));
                prop_assert!(kind != Exact || service.may_lose(), "a false alarm: {:?}", overflow);
            }
            ended => prop_assert!(false, "{:?}", ended),
        }
        if !kind.takes_own_cursors_only() && !service.may_lose() {
            let fell = out.warnings.iter().any(|w| matches!(w, PagingWarning::Fallback(_)));
            prop_assert!(!fell, "{:?}", out.warnings);
        }
    }

    #[test]
    fn allowed_overflows_name_all_missing_rows(
        rows in any_rows(), kind in any_kind(), limit in 1_u32..=6,
    ) {
        let service = Service::new(kind, &rows, limit).without_loss();
        let out = read(&service, true);
        prop_assert_eq!(out.ended, Some(NextStep::Finished));
        prop_assert!(!has_duplicates(&out.ids), "{:?}", out.ids);
        for (id, row) in all(&service).iter().zip(&service.rows) {
            let listed = out.overflows.iter().any(|overflow| {
                let start = overflow.start().unix_micros();
                cut(*row, overflow.unit().micros()) == start
            });
            prop_assert!(
                out.ids.contains(id) || listed,
                "{} is missing, reported {:?}", id, out.overflows,
            );
        }
        let is_overflow = |w: &&PagingWarning| matches!(w, PagingWarning::TieOverflow(_));
        prop_assert_eq!(out.warnings.iter().filter(is_overflow).count(), out.overflows.len());
        let incomplete = out.completeness == Completeness::Incomplete;
        prop_assert_eq!(incomplete, !out.overflows.is_empty());
    }

    #[test]
    fn walk_resumed_at_any_page_yields_each_row_once(
        rows in any_rows(),
        kind in any_kind(),
        limit in 1_u32..=6,
        stops in prop::collection::vec(1_usize..12, 1..5),
    ) {
        let service = Service::new(kind, &rows, limit).without_loss();
        let whole = read(&service, false);
        let (mut ids, mut ended, mut proven) = (Vec::new(), None, true);
        let mut walk = Walk::new(None);
        for stop in stops.into_iter().chain([usize::MAX]) {
            let (out, after) = run(&service, walk, stop);
            ids.extend(out.ids);
            ended = out.ended;
            proven &= out.completeness == Completeness::Proven;
            if ended.is_some() {
                break;
            }
            walk = Walk::resume(after.state());
        }
        prop_assert!(!has_duplicates(&ids), "{:?}", ids);
        // A resumed walk does not know yet that the service cuts cursors to seconds, and may fall back.
        let cuts_to_seconds = matches!(kind, CutToSeconds | CutsBothToSeconds);
        if ended == Some(NextStep::Finished) {
            let lost = cuts_to_seconds && !proven;
            prop_assert!(lost || ids == all(&service), "{:?}", ids);
        }
        prop_assert!(proven || kind.takes_own_cursors_only() || cuts_to_seconds);
        if kind == Exact {
            prop_assert_eq!(ended, whole.ended);
        }
    }

    #[test]
    fn each_page_repeats_one_row(count in 0_usize..80, limit in 2_u32..=9) {
        for (kind, apart) in [(Exact, 1_000), (Millis, 1_000), (Seconds, 1_000_000)] {
            let rows: Vec<i64> = (0..).take(count).map(|n: i64| n * apart).collect();
            let out = read(&Service::new(kind, &rows, limit), false);
            prop_assert_eq!(out.ids.len(), count);
            // The first page has only new rows, each other page one less.
            let limit = limit as usize;
            let least = 1 + count.saturating_sub(limit).div_ceil(limit - 1);
            prop_assert_eq!(out.requests, least);
        }
    }

    /// Some responses come from a good service, so that the walk makes progress.
    #[test]
    fn arbitrary_answers_repeat_no_row_and_end(
        rows in any_rows(),
        limit in 1_u32..=5,
        allow_incomplete in any::<bool>(),
        answers in prop::collection::vec(
            (0_u8..7, prop::collection::vec(0_i64..6_000, 0..5), any::<bool>(), 0_i64..6_000),
            0..40,
        ),
    ) {
        let service = Service::new(Exact, &rows, limit).without_loss();
        let mut walk = Walk::new(None);
        walk.set_allow_incomplete(allow_incomplete);
        let (mut ids, mut answers) = (Vec::new(), answers.into_iter());
        for step in 0.. {
            prop_assert!(step < 1_000, "it does not end");
            let answer = match answers.next() {
                Some((0, mut rows, has_more, next)) => {
                    rows.sort_unstable_by_key(|row| -row);
                    let rows = rows.iter().map(|row| (format!("sub_{row}"), cut(*row, 1_000)));
                    let next_cursor = Some(FormInstant::from_micros(next).to_cursor());
                    Some((rows.collect(), Pagination { next_cursor, has_more }))
                }
                Some((1, ..)) => None,
                _ => service.answer(walk.cursor(), walk.rows_to_request(limit)),
            };
            let Some((rows, pagination)) = answer else {
                match walk.retry_refused() {
                    Some(outcome) => prop_assert_eq!(outcome.next, NextStep::Retry),
                    None => break,
                }
                continue;
            };
            let outcome = walk.accept(rows.iter().map(|(id, time)| (&**id, *time)), &pagination);
            ids.extend(new_ids(&rows, &outcome));
            if !matches!(outcome.next, NextStep::Continue | NextStep::Retry) {
                break;
            }
        }
        prop_assert!(!has_duplicates(&ids), "{:?}", ids);
    }
}

/// Three rows share a millisecond, and a page ends among them.
const TIED: [i64; 6] = [5_000, 4_000, 3_002, 3_001, 3_000, 2_000];

#[test]
fn overflow_names_unit_and_rows_received() {
    let service = Service::new(Millis, &TIED, 3);
    let out = read(&service, false);
    let overflow = TieOverflow { unit: CursorUnit::Millisecond, start: 3_000, rows: 3 };
    assert_eq!(out.ended, Some(NextStep::Failed(PagingError::TieOverflow(overflow))));
    let out = read(&service, true);
    assert_eq!(
        out.overflows[0].to_string(),
        "the millisecond `1970-01-01T00:00:00.003Z`, of which 3 submissions were received"
    );
    assert_eq!(out.completeness, Completeness::Incomplete);
    // One row more fits on the page.
    let out = read(&Service { limit: 4, ..service.clone() }, false);
    assert_eq!((out.ids, out.completeness), (all(&service), Completeness::Proven));
}

#[test]
fn second_cursors_with_millisecond_rows_use_one_second() {
    let rows = [9_100_000, 7_900_000, 7_400_000, 7_300_000, 7_000_000, 2_500_000];
    let service = Service::new(CutsBothToSeconds, &rows, 5);
    let out = read(&service, false);
    assert_eq!((&out.ids, out.completeness), (&all(&service), Completeness::Proven));
    let out = read(&Service { limit: 3, ..service }, false);
    let overflow = TieOverflow { unit: CursorUnit::Second, start: 7_000_000, rows: 3 };
    assert_eq!(out.ended, Some(NextStep::Failed(PagingError::TieOverflow(overflow))));
}

#[test]
fn crowded_millisecond_is_walked_by_finer_cursors() {
    let rows: Vec<i64> = (7_000..7_900).chain([9_000, 1_000]).collect();
    let service = Service::new(Exact, &rows, 10);
    let out = read(&service, false);
    assert_eq!((out.ended, out.ids), (Some(NextStep::Finished), all(&service)));
    assert!(out.warnings.is_empty());
    assert!(out.requests <= 101, "{}", out.requests);
}

#[test]
fn refused_or_ignored_cursors_fall_back_once() {
    let rows: Vec<i64> = (0..20).map(|n| n * 2_000).collect();
    for (kind, reason) in [
        (Refusing, FallbackReason::CursorRefused),
        (Newest, FallbackReason::CursorIgnored),
        (Empty, FallbackReason::CursorIgnored),
    ] {
        let service = Service::new(kind, &rows, 4);
        let out = read(&service, false);
        assert_eq!((out.ended, &out.ids), (Some(NextStep::Finished), &all(&service)), "{kind:?}");
        assert_eq!(out.warnings, [PagingWarning::Fallback(reason)], "once");
        assert_eq!(out.completeness, Completeness::Unproven);
        assert_eq!(out.requests, 5 + 1, "one request is lost");
    }
}

fn ids_of(rows: &[i64]) -> Vec<String> {
    rows.iter().map(|row| format!("sub_{row}")).collect()
}

/// Walks a list of which one row is deleted after a page, counted from 0.
fn read_with_deletion(service: &mut Service, after: usize, deleted: i64) -> Outcome {
    let (mut out, mut walk) = (Outcome::default(), Walk::new(None));
    for page in 0.. {
        let limit = walk.rows_to_request(service.limit);
        let (rows, pagination) = service.answer(walk.cursor(), limit).unwrap();
        if page == after {
            service.rows.retain(|row| *row != deleted);
        }
        let outcome = walk.accept(rows.iter().map(|(id, time)| (&**id, *time)), &pagination);
        out.ids.extend(new_ids(&rows, &outcome));
        out.warnings.extend(outcome.warning);
        if !matches!(outcome.next, NextStep::Continue | NextStep::Retry) {
            out.ended = Some(outcome.next);
            break;
        }
    }
    out.completeness = walk.completeness();
    out
}

#[test]
fn deletion_between_pages_is_unproven_for_one_page() {
    let mut rows: Vec<i64> = (0..9).map(|n| n * 1_000).collect();
    rows.push(1_001);
    // The last row of the second page.
    let out = read_with_deletion(&mut Service::new(Millis, &rows, 3), 1, 4_000);
    let all = ids_of(&[8_000, 7_000, 6_000, 5_000, 4_000, 3_000, 2_000, 1_001, 1_000, 0]);
    assert_eq!((out.ended, out.ids), (Some(NextStep::Finished), all), "later ties are kept");
    assert_eq!(out.warnings, [PagingWarning::Fallback(FallbackReason::RowsDeleted)]);
    assert_eq!(out.completeness, Completeness::Unproven);
}

/// By chance the first cursor is a whole second, so that the unit is not settled.
#[test]
fn deletion_before_unit_is_settled_loses_no_tie() {
    let rows = [6_500_000, 6_000_300, 5_123_900, 5_123_600, 5_123_300, 4_200_000];
    let mut service = Service::new(CutToMillis, &rows, 2);
    let out = read_with_deletion(&mut service, 0, 6_000_300);
    // The three rows of one millisecond do not fit on a page of two.
    let overflow = TieOverflow { unit: CursorUnit::Millisecond, start: 5_123_000, rows: 2 };
    assert_eq!(out.ended, Some(NextStep::Failed(PagingError::TieOverflow(overflow))));
}

#[test]
fn rows_of_one_microsecond_are_kept_or_unproven() {
    let rows = [6_500_123, 6_500_123, 6_500_123, 4_200_000];
    for limit in 1..=4 {
        let service = Service::new(Exact, &rows, limit);
        let out = read(&service, false);
        assert_eq!(out.ended, Some(NextStep::Finished));
        if limit < 4 {
            // The page after a page of known rows only begins after them.
            assert_eq!(out.completeness, Completeness::Unproven, "{limit}");
        } else {
            assert_eq!((out.ids, out.completeness), (all(&service), Completeness::Proven));
        }
    }
    let service = Service::new(Exact, &[6_500_123, 6_500_123, 5_000_001, 4_200_000], 3);
    let service =
        Service { rows: [&[9_000_000, 8_000_000][..], &service.rows].concat(), ..service };
    let out = read(&service, false);
    assert_eq!((out.ids, out.completeness), (all(&service), Completeness::Proven));
}

#[test]
fn empty_answer_is_checked_with_service_cursor() {
    // By chance the first own cursor is one that the service issues too.
    let service = Service::new(Empty, &[5_000, 4_000, 2_000, 0], 2);
    let out = read(&service, false);
    assert_eq!((out.ended, &out.ids), (Some(NextStep::Finished), &all(&service)));
    assert_eq!(out.completeness, Completeness::Unproven);
}

#[test]
fn opaque_cursor_is_used_as_is_and_unproven() {
    let mut walk = Walk::new(None);
    let more = |next: &str| Pagination { next_cursor: Some(Cursor::new(next)), has_more: true };
    let warn = PagingWarning::Fallback(FallbackReason::CursorNotTime);
    for (row, next, warning) in [("sub_1", "a", Some(warn)), ("sub_2", "b", None)] {
        let outcome = walk.accept([(row, 5_000_000)].into_iter(), &more(next));
        assert_eq!((outcome.next, outcome.warning), (NextStep::Continue, warning));
        assert_eq!(walk.cursor().map(Cursor::as_str), Some(next));
    }
    assert_eq!(walk.completeness(), Completeness::Unproven);
}

#[test]
fn walk_resumed_at_opaque_cursor_is_unproven() {
    let position =
        ListPosition { cursor: Some(Cursor::new("a")), oldest: Some(5_000_000), tied: 1 };
    let mut walk = Walk::resume(WalkState { position, ..WalkState::default() });
    assert_eq!(walk.completeness(), Completeness::Unproven);
    let last = Pagination { next_cursor: None, has_more: false };
    assert_eq!(walk.accept([("sub_1", 1_000)].into_iter(), &last).next, NextStep::Finished);
    assert_eq!(walk.completeness(), Completeness::Unproven);
}

/// The service ignores foreign cursors, but the start of the next unit is by chance one of its own.
#[test]
fn walk_resumed_deep_in_a_unit_repeats_no_row() {
    let rows = [3_003_000, 3_002_000, 3_001_000, 3_000_007, 3_000_006, 3_000_002, 3_000_000, 0];
    let service = Service::new(Newest, &rows, 1);
    let (first, walk) = run(&service, Walk::new(None), 7);
    let (rest, _) = run(&service, Walk::resume(walk.state()), usize::MAX);
    assert!(!has_duplicates(&[first.ids, rest.ids.clone()].concat()), "{:?}", rest.ids);
    assert!(matches!(rest.ended, Some(NextStep::Failed(PagingError::TieOverflow(_)))));
}

#[test]
fn walk_resumed_after_a_lone_row_needs_no_probe() {
    let rows: Vec<i64> = (0..40).map(|row| row * 7_000_000 + 123_000).collect();
    for kind in [Exact, Millis, MillisFineCompare, CutToMillis] {
        let service = Service::new(kind, &rows, 5);
        let (first, walk) = run(&service, Walk::new(None), 13);
        let (rest, _) = run(&service, Walk::resume(walk.state()), usize::MAX);
        assert_eq!([first.ids, rest.ids].concat(), all(&service));
        assert_eq!(first.requests + rest.requests, read(&service, false).requests, "{kind:?}");
    }
}
