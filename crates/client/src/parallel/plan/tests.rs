//! The planner against services in memory.

use proptest::prelude::*;

use super::service::*;
use super::*;

fn all(service: &Service) -> Vec<String> {
    service.rows.iter().map(|row| format!("sub_{row}")).collect()
}

const DAY: i64 = 86_400_000_000;

/// Numbers that look random, always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 20).unwrap() % bound
    }
}

/// Lists of so many rows, from very even to very uneven, by name; with how many times as fast they are
/// read by sixteen walkers, in order and as it comes.
fn shapes(rows: i64) -> Vec<(&'static str, [usize; 2], Vec<i64>)> {
    let mut random = Random(7);
    let mut list = |name, speed, time: &mut dyn FnMut(i64, &mut Random) -> i64| {
        (name, speed, (0..rows).map(|n| time(n, &mut random)).collect::<Vec<_>>())
    };
    let mut clock = 0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a shape")]
    let growth = |n: i64| (((n + 1) as f64).log2() * 1e12) as i64 + n;
    vec![
        list("even", [11, 11], &mut |n, _| n * 1_000_000),
        list("at random", [11, 11], &mut |_, random| random.below(365 * DAY)),
        list("by day, nine to five", [10, 10], &mut |_, random| {
            random.below(200) * DAY + DAY * 9 / 24 + random.below(DAY / 3)
        }),
        list("two bursts, years apart", [10, 11], &mut |n, random| {
            (n % 2) * 3_000 * DAY + random.below(DAY / 24)
        }),
        list("growing exponentially", [10, 11], &mut |n, _| growth(n)),
        list("shrinking exponentially", [5, 11], &mut |n, _| -growth(n)),
        list("campaigns of 300", [3, 5], &mut |n, random| {
            (n / 300) * 3 * DAY + random.below(DAY / 48)
        }),
        list("three pages a working day", [10, 10], &mut |n, _| {
            n / 300 * DAY + n * 7_919 % 300 * DAY / 900
        }),
        list("ten pages a week", [8, 8], &mut |n, random| {
            (n / 1_000) * 7 * DAY + random.below(2 * DAY)
        }),
        list("another pace every 500", [4, 9], &mut |n, random| {
            clock +=
                1 + random.below(1_000_000) * [1, 30, 1_000][usize::try_from(n / 500 % 3).unwrap()];
            clock
        }),
        list("a burst of a second in a year", [5, 11], &mut |n, random| {
            if n % 3 == 0 { random.below(365 * DAY) } else { 200 * DAY + n * 33 }
        }),
        list("all in one millisecond but two", [1, 1], &mut |n, _| {
            if n < 2 { n * DAY } else { 100 * DAY + n % 1_000 }
        }),
    ]
}

#[test]
fn thirty_thousand_rows_cost_few_requests_and_a_tenth_of_the_rounds() {
    for ordered in [true, false] {
        for (name, [in_order, as_it_comes], rows) in shapes(30_000) {
            let service = Service::new(Kind::Exact, &rows, 100);
            let all = all(&service);
            let least = all.len().div_ceil(100);
            let out = Run::new(service, settings(16, 100, ordered)).in_rounds();
            assert_eq!(out.finish, Some(Finish::End), "{name}");
            assert!(out.once() && out.ids.len() == all.len(), "{name}: {}", out.ids.len());
            assert!(!ordered || out.ids == all, "{name}");
            assert!(out.notices.is_empty(), "{name}: {:?}", out.notices);
            let (requests, rounds) = (out.requests, out.rounds);
            let told =
                format!("{name}, {ordered}: {requests} of {least} requests, {rounds} rounds");
            assert!(requests * 100 <= least * 115, "{told}");
            assert!(out.held <= 8 * 16 + 1 && out.under_way <= 16, "{told}, {} held", out.held);
            // In order, rows that begin to come thick find the room taken by pages further down.
            let speed = if ordered { in_order } else { as_it_comes };
            assert!(rounds * speed <= least, "{told}");
        }
    }
}

fn any_rows() -> impl Strategy<Value = Vec<i64>> {
    // Bursts of rows at few times, some of them in one millisecond, and gaps of any size.
    let burst = (0_i64..40, 0_u32..5, prop::collection::vec(0_i64..30, 1..12));
    prop::collection::vec(burst, 0..12).prop_map(|bursts| {
        let rows = bursts.into_iter().flat_map(|(at, scale, rows)| {
            let step = 10_i64.pow(scale);
            rows.into_iter().map(move |row| at * 1_000_000 + row * step)
        });
        rows.collect()
    })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    (
        2_usize..6,
        2_usize..7,
        any::<bool>(),
        1_usize..12,
        1_usize..4,
        prop::option::of(0_i64..40_000),
    )
        .prop_map(|(walkers, page, ordered, held, range_pages, begins)| Settings {
            held,
            range_pages,
            begins: begins.unwrap_or(i64::MIN),
            ..settings(walkers, page, ordered)
        })
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_row_comes_once_whatever_the_order_of_answers(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        let service = Service::new(Kind::Exact, &rows, settings.page);
        let all = all(&service);
        let (held, walkers, ordered) = (settings.held, settings.walkers, settings.ordered);
        let out = Run::new(service, settings).at_random(&choices, |_, _| {});
        prop_assert_eq!(out.finish, Some(Finish::End));
        prop_assert!(out.notices.is_empty(), "{:?}", out.notices);
        prop_assert!(out.held <= held + 1, "{} of {}", out.held, held);
        prop_assert!(out.under_way <= walkers);
        if ordered {
            prop_assert_eq!(out.ids, all);
        } else {
            prop_assert_eq!(sorted(out.ids), sorted(all));
        }
    }

    #[test]
    fn a_service_that_takes_no_cursor_of_others_is_read_whole(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        kind in prop::sample::select(vec![Kind::Refusing, Kind::Newest, Kind::Empty]),
    ) {
        let service = Service::new(kind, &rows, settings.page);
        let all = all(&service);
        let out = Run::new(service, settings).at_random(&choices, |_, _| {});
        prop_assert_eq!(out.finish, Some(Finish::End));
        prop_assert!(out.notices.len() <= 1, "{:?}", out.notices);
        prop_assert_eq!(out.ids, all, "one walker gives the order");
    }

    #[test]
    fn a_service_that_goes_astray_later_loses_no_row_in_silence(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        after in 1_usize..6,
        how in 0..3,
    ) {
        let kind = match how {
            0 => Kind::Tiring { after },
            1 => Kind::Skipping { after },
            _ => Kind::Forgetful { after },
        };
        // No row at a whole millisecond, so no cursor of the service is also one of ours.
        let rows: Vec<_> = rows.into_iter().map(|row| row + 7).collect();
        let service = Service::new(kind, &rows, settings.page);
        let all = all(&service);
        let ordered = settings.ordered;
        let newest = service.rows.first().copied();
        let out = Run::new(service, settings).at_random(&choices, |_, _| {});
        prop_assert!(out.once());
        // What is not older than the cursor shows itself at once, not at the seam.
        let why = |why| out.notices.contains(&Notice::FellBack(why));
        prop_assert!(how != 2 || newest.is_none() || !why(FallbackReason::SeamBroken));
        match out.finish {
            Some(Finish::End) if ordered => prop_assert_eq!(out.ids, all),
            Some(Finish::End) => prop_assert_eq!(sorted(out.ids), sorted(all)),
            Some(Finish::SeamBroken(_)) => prop_assert!(!ordered),
            finish => prop_assert!(false, "{:?}", finish),
        }
    }

    #[test]
    fn rows_that_tie_are_kept_by_walkers_that_keep_ties(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        kind in prop::sample::select(vec![Kind::Millis, Kind::Exact]),
    ) {
        let settings = Settings { ties: Some(OnTieStorm::Fail), ..settings };
        let service = Service::new(kind, &rows, settings.page);
        let (all, ordered) = (all(&service), settings.ordered);
        let crowd = service.rows.chunk_by(|a, b| a.div_euclid(1_000) == b.div_euclid(1_000));
        let crowd = crowd.map(<[i64]>::len).max().unwrap_or(0);
        let page = settings.page;
        let out = Run::new(service, settings).at_random(&choices, |_, _| {});
        prop_assert!(out.once());
        match (out.finish, out.fault) {
            (Some(Finish::End), None) if ordered => prop_assert_eq!(out.ids, all),
            (Some(Finish::End), None) => prop_assert_eq!(sorted(out.ids), sorted(all)),
            (Some(Finish::Fault), Some(Then::Failed(Fault::TieStorm(_)))) => {
                prop_assert!(kind == Kind::Millis && crowd >= page, "{}", crowd);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn rows_that_stay_come_once_while_others_come_and_go(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        goes in prop::collection::vec((0_usize..60, any::<prop::sample::Index>()), 0..6),
        comes in prop::collection::vec(0_usize..60, 0..6),
    ) {
        let service = Service::new(Kind::Exact, &rows, settings.page);
        let (all, ordered) = (all(&service), settings.ordered);
        let (held, walkers) = (settings.held, settings.walkers);
        let mut deleted = Vec::new();
        let mut newest = 1_000 * DAY;
        let out = Run::new(service, settings).at_random(&choices, |step, service| {
            for (at, row) in &goes {
                if *at == step && !service.rows.is_empty() {
                    let row = service.rows.remove(row.index(service.rows.len()));
                    deleted.push(format!("sub_{row}"));
                }
            }
            for at in &comes {
                if *at == step {
                    newest += 1_000;
                    service.rows.insert(0, newest);
                }
            }
        });
        prop_assert!(out.once());
        // Seams that are asked about again need walkers and room too.
        prop_assert!(out.under_way <= walkers && out.held <= held + 1, "{:?}", out);
        let stayed: Vec<_> = all.iter().filter(|id| !deleted.contains(id)).cloned().collect();
        match out.finish {
            Some(Finish::End) => {
                let read: Vec<_> = out.ids.iter().filter(|id| stayed.contains(id)).cloned().collect();
                if ordered {
                    prop_assert_eq!(read, stayed);
                } else {
                    prop_assert_eq!(sorted(read), sorted(stayed));
                }
            }
            Some(Finish::SeamBroken(_)) => prop_assert!(!ordered && !deleted.is_empty()),
            finish => prop_assert!(false, "{:?}", finish),
        }
    }

    #[test]
    fn a_list_resumed_anywhere_goes_on_without_loss_or_repeat(
        rows in any_rows(),
        settings in any_settings(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        stops in prop::collection::vec(0_usize..12, 1..5),
        ties in any::<bool>(),
    ) {
        let ties = ties.then_some(OnTieStorm::Fail);
        let settings = Settings { ordered: true, ties, ..settings };
        let mut service = Service::new(Kind::Exact, &rows, settings.page);
        let (all, mut ids) = (all(&service), Vec::new());
        let (mut place, mut seen, mut oldest) = (None, Vec::<String>::new(), None);
        for stop in stops {
            let walk = || match &place {
                None => Walk::start(None),
                Some(place) => {
                    let place: &crate::pager::Place = place;
                    Walk::resume(place.clone(), seen.iter().map(String::as_str), oldest)
                }
            };
            let mut run = Run::resumed(service, settings.clone(), walk(), walk());
            for choice in choices.iter().take(stop * 4).chain([&0, &0, &0]) {
                if run.send() > 0 && choice % 3 != 0 {
                    run.answer(usize::from(choice / 3));
                } else {
                    run.take();
                }
            }
            ids.append(&mut run.out.ids);
            if run.planner.finish().is_some() {
                break;
            }
            let known: Vec<String> = run.walk.known().map(str::to_owned).collect();
            oldest = run.walk.known_oldest(run.walk.oldest());
            place = Some(run.walk.place());
            seen = known;
            service = run.service;
        }
        let once: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(once.len(), ids.len());
        prop_assert!(all.starts_with(&ids), "{:?} of {:?}", ids, all);
    }
}

#[test]
fn a_request_that_fails_ends_the_list_after_the_newer_rows() {
    let rows: Vec<i64> = (0..1_000).map(|n| n * 1_000_000).collect();
    let service = Service::new(Kind::Exact, &rows, 10);
    let all = all(&service);
    let mut run = Run::new(service, settings(4, 10, true));
    let mut failed = None;
    while run.send() > 0 {
        if failed.is_none() && run.planner.ranges.len() > 4 && run.under_way.len() == 4 {
            let request = run.under_way.pop().unwrap();
            run.planner.failed(request.id);
            failed = Some(request.id);
            continue;
        }
        run.answer(0);
        while run.take() {}
    }
    assert_eq!(run.planner.finish(), failed.map(Finish::Request));
    assert!(run.out.ids.len() > 100 && all.starts_with(&run.out.ids));
}

#[test]
fn a_slow_consumer_stops_the_walkers() {
    let rows: Vec<i64> = (0..10_000).map(|n| n * 1_000_000).collect();
    let settings = Settings { held: 12, ..settings(4, 10, true) };
    for ordered in [true, false] {
        let settings = Settings { ordered, ..settings.clone() };
        let mut run = Run::new(Service::new(Kind::Exact, &rows, 10), settings);
        for _ in 0..100 {
            if run.send() > 0 {
                run.answer(0);
            }
        }
        assert_eq!(run.send(), 0);
        assert!(run.out.requests <= 14, "{}", run.out.requests);
    }
}

#[test]
fn the_end_of_the_form_saves_requests_below_it() {
    let rows: Vec<i64> = (0..3_000).map(|n| n * 1_000_000).collect();
    let run = |begins| {
        let settings = Settings { begins, ..settings(16, 100, true) };
        Run::new(Service::new(Kind::Exact, &rows, 100), settings).in_rounds()
    };
    let (guessing, knowing) = (run(i64::MIN), run(0));
    assert!(knowing.requests < guessing.requests, "{} {}", knowing.requests, guessing.requests);
    // A wrong hint loses nothing.
    assert_eq!(run(2_000_000).ids, guessing.ids);
}

#[test]
fn nothing_below_the_floor_is_asked_for() {
    let rows: Vec<i64> = (0..10_000).map(|n| n * 1_000_000).collect();
    let settings = Settings { floor: 7_000_000, ..settings(8, 100, true) };
    let out = Run::new(Service::new(Kind::Exact, &rows, 100), settings).in_rounds();
    assert_eq!((out.finish, out.ids.len()), (Some(Finish::Floor), 3_000));
    assert!(out.requests <= 36, "{}", out.requests);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Among the answers are some of a good service, so that ranges are opened.
    #[test]
    fn whatever_is_answered_the_list_ends_and_no_row_in_order_comes_twice(
        rows in any_rows(),
        settings in any_settings(),
        ties in prop::option::of(Just(OnTieStorm::Report)),
        answers in prop::collection::vec(
            (0_u8..8, prop::collection::vec(0_i64..40_000_000, 0..6), any::<bool>(), 0_i64..40_000_000),
            1..60,
        ),
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let settings = Settings { ties, ..settings };
        let ordered = settings.ordered;
        let mut service = Service::new(Kind::Exact, &rows, settings.page);
        let mut planner: Planner<Page> = Planner::new(settings, Walk::start(None));
        let (mut walk, mut ids) = (Walk::start(None), Vec::new());
        let (mut under_way, mut answers) = (Vec::<Request>::new(), answers.into_iter());
        for step in 0.. {
            prop_assert!(step < 5_000, "it does not end");
            under_way.retain(|request| {
                let wanted = planner.wants(request.id);
                if !wanted {
                    planner.dropped();
                }
                wanted
            });
            under_way.extend(planner.requests());
            let mut taken = false;
            while let Some(out) = planner.next() {
                taken = true;
                let rows = out.page.rows().take(out.turn.rows).enumerate();
                let again = &out.turn.duplicates;
                let rows: Vec<_> =
                    rows.map(|(at, (id, time))| (id, time, again.contains(&at))).collect();
                // What is left to the walk that records: rows that come again, or out of order.
                let recorded = walk.record(rows.iter().copied(), out.next);
                let rows = rows.into_iter().enumerate().filter(|(at, row)| {
                    !row.2 && (!ordered || *at < recorded.rows && !recorded.duplicates.contains(at))
                });
                if ordered && matches!(recorded.then, Then::Failed(_)) {
                    return Ok(());
                }
                ids.extend(rows.map(|(_, (id, ..))| id.to_owned()));
            }
            if under_way.is_empty() {
                if taken {
                    continue;
                }
                break;
            }
            let choice = usize::from(choices[step % choices.len()]);
            let request = under_way.remove(choice % under_way.len());
            let page = match answers.next() {
                Some((0, rows, has_more, next)) => Some(Page::of(&rows, Some(next), has_more)),
                Some((1, mut rows, has_more, next)) => {
                    rows.sort_unstable_by_key(|row| -row);
                    Some(Page::of(&rows, Some(next), has_more))
                }
                Some((2, _, true, _)) => None,
                _ => service.answer(request.cursor.as_ref()),
            };
            match page {
                Some(page) => planner.arrived(request.id, page),
                None if planner.refused(request.id) => {}
                None => planner.failed(request.id),
            }
        }
        prop_assert!(planner.finish().is_some(), "{:?}", planner);
        let once: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert!(!ordered || once.len() == ids.len(), "{:?}", ids);
    }
}

/// Reads a list of which a row is deleted that one side of a seam has seen, and the other not yet.
fn with_a_row_deleted_at_a_seam(seen_by_upper: bool) -> (Outcome, Vec<String>) {
    let rows: Vec<i64> = (0..2_000).map(|n| n * 1_000_000).collect();
    let service = Service::new(Kind::Exact, &rows, 10);
    let all = all(&service);
    let mut run = Run::new(service, settings(4, 10, true));
    let mut deleted = None;
    while run.send() > 0 {
        let seam =
            run.planner.ranges.windows(2).find_map(|pair| match (&pair[0].below, &pair[1].first) {
                (Some(Edge::Row { id, .. }), None) if seen_by_upper => Some(id.clone()),
                (None, Some(Edge::Row { id, .. })) if !seen_by_upper => Some(id.clone()),
                _ => None,
            });
        if let (Some(id), None) = (seam, &deleted) {
            run.service.rows.retain(|row| format!("sub_{row}") != id);
            deleted = Some(id);
        }
        // The first range's answers come first, so that it is done before the next has one.
        let first = run.planner.ranges[0].request;
        let at = run.under_way.iter().position(|request| Some(request.id) == first);
        run.answer(if seen_by_upper { at.unwrap_or(0) } else { 0 });
        while run.take() {}
    }
    run.out.finish = run.planner.finish();
    let deleted = deleted.expect("there was such a seam");
    (run.out, all.into_iter().filter(|id| *id != deleted).collect())
}

#[test]
fn a_row_deleted_at_a_seam_is_no_reason_to_fall_back() {
    for seen_by_upper in [true, false] {
        let (out, stayed) = with_a_row_deleted_at_a_seam(seen_by_upper);
        assert_eq!((out.finish, &out.notices[..]), (Some(Finish::End), &[][..]), "{seen_by_upper}");
        let read: Vec<_> = out.ids.into_iter().filter(|id| stayed.contains(id)).collect();
        assert_eq!(read, stayed);
    }
}

#[test]
fn seams_asked_about_again_take_walkers_and_room_from_the_others() {
    let rows: Vec<i64> = (0..3_000).map(|n| n * 1_000_000).collect();
    for has_room in [true, false] {
        let mut run = Run::new(Service::new(Kind::Exact, &rows, 10), settings(6, 10, true));
        while run.planner.ranges.len() < 6 {
            run.send();
            run.answer(0);
        }
        run.answer(0);
        let before = run.planner.in_flight;
        assert!(before + 2 <= 6 && run.planner.ranges.len() > 5, "two walkers are free");
        if !has_room {
            run.planner.settings.held = run.planner.held();
        }
        for range in &mut run.planner.ranges[..5] {
            range.seam = Seam::Differs { upper: true };
        }
        let asked = run.planner.requests().len();
        assert_eq!(asked, if has_room { 6 - before } else { 1 }, "one for the first seam");
    }
}
