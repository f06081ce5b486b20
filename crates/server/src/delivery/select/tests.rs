//! Turns, caps and halves.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const A: EndpointNo = EndpointNo(1);
const B: EndpointNo = EndpointNo(2);
const C: EndpointNo = EndpointNo(3);
/// What an attempt takes where nothing is claimed ahead.
const SLOW: Duration = Duration::from_secs(1);

fn board(in_all: u32, per_endpoint: u32) -> Board {
    Board::new(Slots { in_all, per_endpoint }, true)
}

fn due(endpoint: EndpointNo, lane: Lane) -> Due {
    Due { endpoint, lane, after: Duration::ZERO, overdue: Duration::ZERO }
}

fn want(endpoint: EndpointNo, lane: Lane, count: u32) -> Want {
    Want { endpoint, lane, count }
}

/// All wants begin; all that was due still is.
fn begin_all(board: &mut Board, wants: &[Want]) {
    for want in wants {
        for _ in 0..want.count {
            board.begin(want.endpoint, want.lane != Lane::Fresh);
        }
    }
}

#[test]
fn slots_are_shared_evenly_and_what_is_left_goes_round() {
    let now = Instant::now();
    let mut board = board(10, 8);
    board.refresh(&[due(A, Lane::Fresh), due(B, Lane::Fresh), due(C, Lane::Fresh)], now);
    assert_eq!(
        board.choose(now),
        [want(A, Lane::Fresh, 4), want(B, Lane::Fresh, 3), want(C, Lane::Fresh, 3)]
    );
}

#[test]
fn an_endpoint_never_has_more_than_its_cap() {
    let now = Instant::now();
    let mut board = board(100, 4);
    board.refresh(&[due(A, Lane::Fresh), due(A, Lane::Late)], now);
    let wants = board.choose(now);
    assert_eq!(wants, [want(A, Lane::Late, 2), want(A, Lane::Fresh, 2)]);
    begin_all(&mut board, &wants);
    assert!(board.choose(now).is_empty());
    assert_eq!(board.next_due(now), None, "what is due waits for a slot, not for a time");
    board.end(A, true, Reached::InTime, SLOW);
    assert_eq!(board.choose(now).iter().map(|want| want.count).sum::<u32>(), 1);
}

#[test]
fn the_last_slot_goes_to_each_endpoint_in_turn() {
    let now = Instant::now();
    let mut board = board(1, 4);
    board.refresh(&[due(A, Lane::Fresh), due(B, Lane::Fresh), due(C, Lane::Fresh)], now);
    let mut order = Vec::new();
    for _ in 0..6 {
        let wants = board.choose(now);
        begin_all(&mut board, &wants);
        order.push(wants[0].endpoint);
        board.served(wants[0].endpoint);
        board.end(wants[0].endpoint, false, Reached::InTime, SLOW);
    }
    assert_eq!(order, [A, B, C, A, B, C]);
}

#[test]
fn retries_have_half_of_the_slots_at_most() {
    let now = Instant::now();
    let mut board = board(8, 8);
    board.refresh(&[due(A, Lane::Late), due(B, Lane::Leased), due(C, Lane::Late)], now);
    let wants = board.choose(now);
    assert_eq!(wants.iter().map(|want| want.count).sum::<u32>(), 4);
    begin_all(&mut board, &wants);
    assert!(board.choose(now).is_empty());
    board.announce(&BTreeSet::from([(C, Lane::Fresh)]), now);
    assert_eq!(board.choose(now), [want(C, Lane::Fresh, 4)]);
}

#[test]
fn of_one_slot_whoever_waits_longest_has_it() {
    let now = Instant::now();
    let (mut board, second) = (board(2, 1), Duration::from_secs(1));
    let old = |lane| Due { overdue: second, ..due(A, lane) };
    board.refresh(&[due(A, Lane::Fresh), old(Lane::Late)], now);
    assert_eq!(board.choose(now), [want(A, Lane::Late, 1)]);
    board.refresh(&[old(Lane::Fresh), due(A, Lane::Late)], now);
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 1)]);
}

#[test]
fn five_timeouts_leave_one_attempt_until_one_is_answered() {
    let now = Instant::now();
    let mut board = board(100, 4);
    board.refresh(&[due(A, Lane::Fresh)], now);
    for _ in 0..5 {
        board.begin(A, false);
        board.end(A, false, Reached::NotInTime, SLOW);
    }
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 1)]);
    board.begin(A, false);
    board.end(A, false, Reached::Unknown, SLOW);
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 1)]);
    board.begin(A, false);
    board.end(A, false, Reached::InTime, SLOW);
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 4)]);
}

#[test]
fn what_is_due_later_is_taken_then() {
    let (now, pause) = (Instant::now(), Duration::from_secs(10));
    let mut board = board(100, 4);
    board.put_off(A, now + pause);
    board.put_off(A, now + 2 * pause);
    assert!(board.choose(now).is_empty());
    assert_eq!(board.next_due(now), Some(now + pause));
    assert_eq!(board.choose(now + pause), [want(A, Lane::Late, 4)]);
    board.ask(&[want(A, Lane::Late, 4)]);
    assert!(board.choose(now + pause).is_empty());
}

#[test]
fn blocked_endpoint_is_not_chosen_until_its_time() {
    let now = Instant::now();
    let (mut board, until) = (board(100, 4), now + Duration::from_secs(60));
    board.refresh(&[due(A, Lane::Fresh), due(B, Lane::Fresh)], now);
    board.block(A, until);
    assert_eq!(board.choose(now), [want(B, Lane::Fresh, 4)]);
    assert_eq!(board.next_due(now), Some(until));
    assert_eq!(board.choose(until).len(), 2);
}

proptest! {
    #[test]
    fn no_choice_exceeds_a_cap_and_no_slot_stays_free_in_vain(
        in_all in 1u32..40,
        per_endpoint in 1u32..10,
        fronts in prop::collection::vec((0i64..12, 0usize..3), 0..20),
        busy in prop::collection::vec((0i64..12, any::<bool>()), 0..20),
    ) {
        let now = Instant::now();
        let mut board = board(in_all, per_endpoint);
        for (endpoint, late) in busy {
            let room = board.room(EndpointNo(endpoint)) > 0 && board.under_way() < in_all;
            if room && (!late || board.late_in_all < (in_all / 2).max(1)) {
                board.begin(EndpointNo(endpoint), late);
            }
        }
        let fronts: Vec<_> =
            fronts.into_iter().map(|(no, lane)| due(EndpointNo(no), Lane::ALL[lane])).collect();
        board.refresh(&fronts, now);
        let (before, late_before) = (board.under_way(), board.late_in_all);
        let wants = board.choose(now);
        begin_all(&mut board, &wants);
        prop_assert!(board.under_way() <= in_all);
        prop_assert!(board.late_in_all <= (in_all / 2).max(1).max(late_before));
        for count in board.under_way.values() {
            prop_assert!(*count <= per_endpoint);
        }
        let fresh_waits = fronts.iter().any(|due| due.lane == Lane::Fresh && board.room(due.endpoint) > 0);
        if fresh_waits {
            prop_assert_eq!(board.under_way(), in_all, "from {}", before);
        }
    }
}

/// A board of 64 slots with an endpoint that answers within a time, all of whose four slots are in use.
fn busy(pace: Duration) -> (Board, Instant) {
    let (mut board, now) = (board(64, 4), Instant::now());
    board.refresh(&[due(A, Lane::Fresh)], now);
    begin_all(&mut board, &[want(A, Lane::Fresh, 4)]);
    board.end(A, false, Reached::InTime, pace);
    board.begin(A, false);
    (board, now)
}

#[test]
fn a_quick_endpoint_has_claimed_ahead_what_lasts_for_a_moment() {
    for (pace, ahead) in
        [(100, AHEAD_MAX), (1_000, 200), (10_000, 20), (50_000, 4), (100_000, 2), (200_000, 1)]
    {
        let (board, now) = busy(Duration::from_micros(pace));
        assert_eq!(board.choose_ahead(now), [want(A, Lane::Fresh, ahead)], "{pace} µs");
    }
    let (board, now) = busy(Duration::from_micros(200_001));
    assert!(board.choose_ahead(now).is_empty());
}

#[test]
fn more_is_claimed_once_half_of_what_is_at_hand_is_used_up() {
    let (mut board, now) = busy(Duration::from_millis(10));
    (0..20).for_each(|_| board.hold(A));
    for left in (11..20).rev() {
        board.let_go(A);
        assert!(board.choose_ahead(now).is_empty(), "{left} are at hand");
    }
    board.let_go(A);
    assert_eq!(board.choose_ahead(now), [want(A, Lane::Fresh, 10)]);
}

#[test]
fn what_is_at_hand_takes_the_slots_that_come_free() {
    let (mut board, now) = busy(Duration::from_millis(10));
    (0..20).for_each(|_| board.hold(A));
    board.end(A, false, Reached::InTime, Duration::from_millis(10));
    assert!(board.choose_ahead(now).is_empty());
    assert!(board.may_begin(A));
    board.begin(A, false);
    assert!(!board.may_begin(A));
}

type Change = fn(&mut Board);

#[test]
fn nothing_is_claimed_ahead_where_it_might_wait() {
    let begin = |board: &mut Board, count| {
        begin_all(board, &[want(B, Lane::Fresh, count)]);
    };
    let mut few = busy(Duration::from_millis(1));
    begin(&mut few.0, 27);
    assert_eq!(few.0.choose_ahead(few.1).len(), 1, "more than half of the slots are free");
    begin(&mut few.0, 1);
    assert!(few.0.choose_ahead(few.1).is_empty(), "half of them are");
    let changes: [(&str, Change); 5] = [
        ("something late is due", |board| board.put_off(A, Instant::now())),
        ("it did not answer in time", |board| {
            board.end(A, false, Reached::NotInTime, Duration::from_secs(10));
            board.begin(A, false);
        }),
        ("it was at hand for too long", |board| board.slowed(A)),
        ("it is left alone", |board| {
            board.block(A, Instant::now() + Duration::from_secs(60));
        }),
        ("the store cannot tell whether it may still go", |board| board.may_claim_ahead = false),
    ];
    for (why, change) in changes {
        let (mut board, _) = busy(Duration::from_millis(1));
        assert_eq!(board.choose_ahead(Instant::now()).len(), 1);
        change(&mut board);
        assert!(board.choose_ahead(Instant::now()).is_empty(), "{why}");
    }
    let (mut board, now) = busy(Duration::from_millis(1));
    board.ask(&[want(A, Lane::Fresh, 4)]);
    (0..4).for_each(|_| board.end(A, false, Reached::InTime, Duration::from_millis(1)));
    board.announce(&BTreeSet::from([(A, Lane::Fresh)]), now);
    assert!(board.choose_ahead(now).is_empty(), "it had nothing to do meanwhile");
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 4)]);
}

#[test]
fn what_is_claimed_ahead_for_all_has_an_end() {
    let (mut board, now) = (board(64, 4), Instant::now());
    let endpoints = [A, B, C, EndpointNo(4), EndpointNo(5)];
    board.refresh(&endpoints.map(|endpoint| due(endpoint, Lane::Fresh)), now);
    for endpoint in endpoints {
        begin_all(&mut board, &[want(endpoint, Lane::Fresh, 4)]);
        board.end(endpoint, false, Reached::InTime, Duration::from_micros(100));
        board.begin(endpoint, false);
    }
    let wants = board.choose_ahead(now);
    assert_eq!(wants.iter().map(|want| want.count).sum::<u32>(), AHEAD_IN_ALL);
    assert!(wants.iter().all(|want| want.count <= AHEAD_MAX));
}

#[test]
fn who_made_an_attempt_makes_the_next_while_slots_are_plenty() {
    let pace = Duration::from_millis(1);
    let (mut board, _) = busy(pace);
    assert!(!board.may_go_on(A), "all slots of its endpoint are in use");
    board.end(A, false, Reached::InTime, pace);
    assert!(board.may_go_on(A));
    begin_all(&mut board, &[want(B, Lane::Fresh, 28)]);
    assert!(board.may_go_on(A), "more than half of the slots are free");
    begin_all(&mut board, &[want(B, Lane::Fresh, 1)]);
    assert!(!board.may_go_on(A), "half of them are");
}

#[test]
fn an_endpoint_has_work_when_something_can_be_claimed_or_begun_for_it() {
    let pace = Duration::from_millis(10);
    let (mut board, now) = busy(pace);
    assert!(board.has_work(A, now), "something is to be claimed ahead");
    (0..20).for_each(|_| board.hold(A));
    assert!(!board.has_work(A, now), "it has no slot, and enough at hand");
    board.put_off(A, now);
    assert!(!board.has_work(A, now), "what is late has no slot either");
    board.end(A, false, Reached::InTime, pace);
    assert!(board.has_work(A, now), "what is at hand may begin");
    (0..20).for_each(|_| board.let_go(A));
    assert!(board.has_work(A, now), "something is due, and there is room for it");
    board.ask(&[want(A, Lane::Fresh, 1), want(A, Lane::Late, 1)]);
    assert!(!board.has_work(A, now), "nothing is due");
    board.put_off(A, now + Duration::from_secs(1));
    assert!(!board.has_work(A, now), "nothing is due yet");
}

type Hear = fn(&mut Board, Instant);

#[test]
fn what_is_heard_of_a_lane_while_it_is_asked_is_not_forgotten() {
    let pause = Duration::from_secs(1);
    let heard: [(&str, Hear); 3] = [
        ("announced", |board, now| board.announce(&BTreeSet::from([(A, Lane::Fresh)]), now)),
        ("put off", |board, now| board.put_off(A, now)),
        ("looked at", |board, now| board.refresh(&[due(A, Lane::Fresh)], now)),
    ];
    for (what, hear) in heard {
        let (mut board, now) = (board(8, 4), Instant::now());
        board.refresh(&[due(A, Lane::Fresh), due(A, Lane::Late)], now);
        let wants = board.choose(now);
        board.ask(&wants);
        assert!(board.choose(now).is_empty(), "nothing is asked for twice");
        hear(&mut board, now);
        board.found(&[], now);
        assert_eq!(board.choose(now).len(), 1, "{what}");
    }
    let (mut board, now) = (board(8, 4), Instant::now());
    board.refresh(&[due(A, Lane::Fresh)], now);
    board.put_off(A, now + pause);
    let wants = board.choose(now);
    let asked = board.ask(&wants);
    board.unanswered(asked);
    assert_eq!(board.choose(now), wants, "a claim that failed is made again");
    assert_eq!(board.next_due(now), Some(now + pause));
}
