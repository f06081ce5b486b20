//! The walk against services in memory, each with its own idea of a cursor.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::pager::walk::{Fault, Notice, Place, Then, Walk};

/// How a service reads cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Issues and takes instants to the microsecond.
    Exact,
    /// Stores, issues and compares milliseconds.
    Millis,
    /// The same, but a cursor is not cut before it is compared.
    MillisFineCompare,
    /// Knows microseconds, but issues milliseconds.
    CutCursor,
    /// Exact, but takes only what it issued.
    Refusing,
    /// Exact, but answers with the newest page to what it did not issue.
    Newest,
    /// Exact, but answers with an empty last page to what it did not issue.
    Empty,
}

/// A list by instants in microseconds, newest first.
#[derive(Clone, Debug)]
struct Service {
    kind: Kind,
    rows: Vec<i64>,
    limit: usize,
    /// Every page but the first has an empty one before it.
    empty_pages: bool,
}

type Answer = (Vec<(String, i64)>, Pagination);

impl Service {
    fn new(kind: Kind, rows: &[i64], limit: usize) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|row| -row);
        rows.dedup();
        Self { kind, rows, limit, empty_pages: false }
    }

    fn cut(row: i64) -> i64 {
        row - row.rem_euclid(1_000)
    }

    fn issues(&self, row: i64) -> Cursor {
        match self.kind {
            Kind::Millis | Kind::MillisFineCompare | Kind::CutCursor => cursor_at(Self::cut(row)),
            _ => cursor_at(row),
        }
    }

    /// `None`: 400.
    fn answer(&self, cursor: Option<&Cursor>) -> Option<Answer> {
        let issued = cursor.is_none_or(|c| self.rows.iter().any(|row| self.issues(*row) == *c));
        let bound = match (self.kind, issued) {
            (Kind::Refusing, false) => return None,
            (Kind::Newest, false) => i64::MAX,
            (Kind::Empty, false) => i64::MIN,
            _ => cursor.map_or(i64::MAX, |cursor| {
                FormInstant::parse_cursor(cursor.as_str()).unwrap().micros()
            }),
        };
        if let (true, Some(cursor)) = (self.empty_pages, cursor)
            && let Some(usual) = cursor.as_str().strip_suffix('Z')
            && usual.len() < "2026-01-01T00:00:00.000000000".len()
        {
            let next_cursor = Some(Cursor::new(format!("{usual:0<29}Z")));
            return Some((Vec::new(), Pagination { next_cursor, has_more: true }));
        }
        let older = |row: &&i64| match self.kind {
            Kind::Millis => Self::cut(**row) < Self::cut(bound),
            Kind::MillisFineCompare => Self::cut(**row) < bound,
            _ => **row < bound,
        };
        let mut rows: Vec<i64> =
            self.rows.iter().filter(older).take(self.limit + 1).copied().collect();
        let has_more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let next_cursor = rows.last().map(|row| self.issues(*row));
        let rows = rows.into_iter().map(|row| (format!("sub_{row}"), Self::cut(row))).collect();
        Some((rows, Pagination { next_cursor, has_more }))
    }
}

/// What a walk came to.
#[derive(Clone, Debug, Default)]
struct Outcome {
    ids: Vec<String>,
    requests: usize,
    notices: Vec<Notice>,
    ended: Option<Then>,
    reported: Vec<TieStorm>,
}

fn run(service: &Service, mut walk: Walk, stop_after: usize) -> (Outcome, Walk) {
    let mut out = Outcome::default();
    while out.ids.len() < stop_after {
        out.requests += 1;
        assert!(out.requests < 5_000, "it does not end: {service:?}");
        let Some((rows, pagination)) = service.answer(walk.cursor()) else {
            let turn = walk.refused().expect("only cursors of others are refused");
            out.notices.extend(turn.notice);
            continue;
        };
        let views = rows.iter().map(|(id, time)| (id.as_str(), *time));
        let turn = walk.turn(views, &pagination);
        let kept = rows[..turn.rows].iter().enumerate();
        let fresh = kept.filter(|(at, _)| !turn.duplicates.contains(at));
        out.ids.extend(fresh.map(|(_, (id, _))| id.clone()));
        out.notices.extend(turn.notice);
        if !matches!(turn.then, Then::More | Then::Again) {
            out.ended = Some(turn.then);
            break;
        }
    }
    out.reported = walk.storms().to_vec();
    (out, walk)
}

fn read(service: &Service, on_storm: OnTieStorm) -> Outcome {
    run(service, Walk::start(None).tie_safe(on_storm), usize::MAX).0
}

fn all(service: &Service) -> Vec<String> {
    service.rows.iter().map(|row| format!("sub_{row}")).collect()
}

/// Rows of each millisecond.
fn crowds(rows: &[i64]) -> BTreeMap<i64, usize> {
    let mut crowds = BTreeMap::new();
    for row in rows {
        *crowds.entry(millisecond(*row)).or_default() += 1;
    }
    crowds
}

fn any_rows() -> impl Strategy<Value = Vec<i64>> {
    // Few milliseconds, and few microseconds in them, of which the first is often taken.
    let row = (0_i64..6, prop_oneof![Just(0_i64), 0_i64..9]);
    prop::collection::vec(row.prop_map(|(ms, micros)| ms * 1_000 + micros), 0..40)
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Exact,
        Kind::Millis,
        Kind::MillisFineCompare,
        Kind::CutCursor,
        Kind::Refusing,
        Kind::Newest,
        Kind::Empty,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_row_comes_once_or_a_tie_storm_is_told(
        rows in any_rows(), kind in any_kind(), limit in 2_usize..=6, empty_pages in any::<bool>(),
    ) {
        let empty_pages = empty_pages && kind == Kind::Exact;
        let service = Service { empty_pages, ..Service::new(kind, &rows, limit) };
        let out = read(&service, OnTieStorm::Fail);
        let all = all(&service);
        match out.ended {
            Some(Then::End) => prop_assert_eq!(&out.ids, &all),
            Some(Then::Failed(Fault::TieStorm(storm))) => {
                prop_assert!(all.starts_with(&out.ids), "{:?}", out.ids);
                let crowd = crowds(&service.rows)[&storm.ms];
                prop_assert!(crowd >= limit, "{} in {}", crowd, storm.ms);
                prop_assert!(!matches!(kind, Kind::Exact), "a false alarm: {:?}", storm);
            }
            ended => prop_assert!(false, "{:?}", ended),
        }
        if !matches!(kind, Kind::Refusing | Kind::Newest | Kind::Empty) {
            let fell = out.notices.iter().any(|notice| matches!(notice, Notice::FellBack(_)));
            prop_assert!(!fell, "{:?}", out.notices);
        }
    }

    #[test]
    fn what_is_reported_is_all_that_may_be_missing(
        rows in any_rows(), kind in any_kind(), limit in 2_usize..=6,
    ) {
        let service = Service::new(kind, &rows, limit);
        let out = read(&service, OnTieStorm::Report);
        prop_assert_eq!(out.ended, Some(Then::End));
        let mut once = out.ids.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), out.ids.len());
        let reported: Vec<i64> =
            out.reported.iter().map(|storm| millisecond(storm.created_at().unix_micros())).collect();
        for row in &service.rows {
            prop_assert!(
                out.ids.contains(&format!("sub_{row}")) || reported.contains(&millisecond(*row)),
                "{} is missing, reported {:?}", row, reported,
            );
        }
        let storms = out.notices.iter().filter(|n| matches!(n, Notice::Storm(_))).count();
        prop_assert_eq!(storms, reported.len());
    }

    #[test]
    fn a_walk_resumed_at_any_page_loses_and_repeats_nothing(
        rows in any_rows(),
        kind in any_kind(),
        limit in 2_usize..=6,
        stops in prop::collection::vec(1_usize..12, 1..5),
    ) {
        let service = Service::new(kind, &rows, limit);
        let whole = read(&service, OnTieStorm::Fail);
        let (mut ids, mut ended) = (Vec::new(), None);
        let mut walk = Walk::start(None);
        for stop in stops.into_iter().chain([usize::MAX]) {
            let (out, after) = run(&service, walk.tie_safe(OnTieStorm::Fail), stop);
            ids.extend(out.ids);
            ended = out.ended;
            if ended.is_some() {
                break;
            }
            let seen: Vec<String> = after.known().map(str::to_owned).collect();
            let seen_oldest = after.known_oldest(after.oldest());
            let Place { cursor, oldest } = after.place();
            walk = Walk::resume(
                Place { cursor, oldest },
                seen.iter().map(String::as_str),
                seen_oldest,
            );
        }
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), ids.len(), "{:?}", ids);
        if ended == Some(Then::End) {
            prop_assert_eq!(&ids, &all(&service));
        }
        if kind == Kind::Exact {
            prop_assert_eq!(ended, whole.ended);
        }
    }

    #[test]
    fn it_costs_about_a_row_a_page(count in 0_usize..80, limit in 2_usize..=9) {
        let rows: Vec<i64> = (0..).take(count).map(|n: i64| n * 1_000).collect();
        for kind in [Kind::Exact, Kind::Millis] {
            let out = read(&Service::new(kind, &rows, limit), OnTieStorm::Fail);
            prop_assert_eq!(out.ids.len(), count);
            // The first page gives as many rows as it has, each other one less.
            let least = 1 + count.saturating_sub(limit).div_ceil(limit - 1);
            prop_assert_eq!(out.requests, least);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Among the answers are some of a good service, so that it gets anywhere.
    #[test]
    fn whatever_is_answered_no_row_comes_twice_and_the_walk_ends(
        rows in any_rows(),
        limit in 2_usize..=5,
        fails in any::<bool>(),
        answers in prop::collection::vec(
            (0_u8..7, prop::collection::vec(0_i64..6_000, 0..5), any::<bool>(), 0_i64..6_000),
            0..40,
        ),
    ) {
        let service = Service::new(Kind::Exact, &rows, limit);
        let on_storm = if fails { OnTieStorm::Fail } else { OnTieStorm::Report };
        let mut walk = Walk::start(None).tie_safe(on_storm);
        let (mut ids, mut answers) = (Vec::new(), answers.into_iter());
        for step in 0.. {
            prop_assert!(step < 1_000, "it does not end");
            let answer = match answers.next() {
                Some((0, mut rows, has_more, next)) => {
                    rows.sort_unstable_by_key(|row| -row);
                    let rows = rows.iter().map(|row| (format!("sub_{row}"), Service::cut(*row)));
                    let pagination = Pagination { next_cursor: Some(cursor_at(next)), has_more };
                    Some((rows.collect(), pagination))
                }
                Some((1, ..)) => None,
                _ => service.answer(walk.cursor()),
            };
            let Some((rows, pagination)) = answer else {
                match walk.refused() {
                    Some(turn) => prop_assert_eq!(turn.then, Then::Again),
                    None => break,
                }
                continue;
            };
            let turn = walk.turn(rows.iter().map(|(id, time)| (id.as_str(), *time)), &pagination);
            let kept = rows[..turn.rows].iter().enumerate();
            ids.extend(kept.filter(|(at, _)| !turn.duplicates.contains(at)).map(|row| row.1.0.clone()));
            if !matches!(turn.then, Then::More | Then::Again) {
                break;
            }
        }
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), ids.len(), "{:?}", ids);
    }
}

/// Three rows share a millisecond, and a page ends among them.
const TIED: [i64; 6] = [5_000, 4_000, 3_002, 3_001, 3_000, 2_000];

#[test]
fn without_it_a_service_of_milliseconds_loses_rows() {
    let service = Service::new(Kind::Millis, &TIED, 3);
    let (plain, _) = run(&service, Walk::start(None), usize::MAX);
    assert_eq!(plain.ended, Some(Then::End));
    assert_eq!(plain.ids, ["sub_5000", "sub_4000", "sub_3002", "sub_2000"], "and nobody knows");
    let safe = read(&Service { limit: 4, ..service }, OnTieStorm::Fail);
    assert_eq!(safe.ids, all(&Service::new(Kind::Millis, &TIED, 4)));
}

#[test]
fn a_millisecond_that_fills_a_page_is_told_with_the_rows_read_of_it() {
    let service = Service::new(Kind::Millis, &TIED, 3);
    let out = read(&service, OnTieStorm::Fail);
    assert_eq!(out.ended, Some(Then::Failed(Fault::TieStorm(Storm { ms: 3, rows: 3 }))));
    let out = read(&service, OnTieStorm::Report);
    assert_eq!(out.reported[0].created_at().as_str(), "1970-01-01T00:00:00.003Z");
    assert_eq!((out.reported.len(), out.reported[0].rows()), (1, 3));
    assert_eq!(out.ids, all(&service), "by chance the page held all of them");
}

#[test]
fn a_millisecond_of_any_size_is_walked_where_the_cursor_is_finer() {
    let rows: Vec<i64> = (7_000..7_900).chain([9_000, 1_000]).collect();
    let service = Service::new(Kind::Exact, &rows, 10);
    let out = read(&service, OnTieStorm::Fail);
    assert_eq!((out.ended, out.ids), (Some(Then::End), all(&service)));
    assert!(out.notices.is_empty());
}

#[test]
fn a_service_that_takes_no_cursor_of_others_is_read_by_its_own() {
    let rows: Vec<i64> = (0..20).map(|n| n * 2_000).collect();
    for (kind, why) in [
        (Kind::Refusing, FallbackReason::CursorRefused),
        (Kind::Newest, FallbackReason::CursorMistreated),
        (Kind::Empty, FallbackReason::CursorMistreated),
    ] {
        let service = Service::new(kind, &rows, 4);
        let out = read(&service, OnTieStorm::Fail);
        assert_eq!((out.ended, &out.ids), (Some(Then::End), &all(&service)), "{kind:?}");
        assert_eq!(out.notices, [Notice::FellBack(why)], "once");
        assert_eq!(out.requests, 5 + 1, "the one in vain");
    }
}

#[test]
fn a_row_deleted_between_two_pages_is_no_mistreatment_once_the_service_was_checked() {
    let rows: Vec<i64> = (0..9).map(|n| n * 1_000).collect();
    let mut service = Service::new(Kind::Millis, &rows, 3);
    let mut walk = Walk::start(None).tie_safe(OnTieStorm::Fail);
    let mut ids = Vec::new();
    for page in 0..5 {
        let (rows, pagination) = service.answer(walk.cursor()).unwrap();
        if page == 1 {
            // The last row of this page goes.
            service.rows.retain(|row| *row != 4_000);
        }
        let turn = walk.turn(rows.iter().map(|(id, time)| (id.as_str(), *time)), &pagination);
        assert_eq!(turn.notice, None);
        let fresh =
            rows[..turn.rows].iter().enumerate().filter(|(at, _)| !turn.duplicates.contains(at));
        ids.extend(fresh.map(|(_, (_, time))| time / 1_000));
    }
    assert_eq!(ids, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn an_empty_answer_is_no_end_before_the_services_own_cursor_says_so() {
    // By chance the first cursor of ours is one that the service issues too.
    let service = Service::new(Kind::Empty, &[5_000, 4_000, 1, 0], 2);
    let out = read(&service, OnTieStorm::Fail);
    assert_eq!((out.ended, &out.ids), (Some(Then::End), &all(&service)));
    assert_eq!(out.notices, [Notice::FellBack(FallbackReason::CursorMistreated)]);
}
