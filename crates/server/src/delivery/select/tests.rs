//! Turns, caps and halves.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const A: EndpointNo = EndpointNo(1);
const B: EndpointNo = EndpointNo(2);
const C: EndpointNo = EndpointNo(3);

fn board(in_all: u32, per_endpoint: u32) -> Board {
    Board::new(Slots { in_all, per_endpoint })
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
    board.end(A, true, Reached::InTime);
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
        board.end(wants[0].endpoint, false, Reached::InTime);
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
        board.end(A, false, Reached::NotInTime);
    }
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 1)]);
    board.begin(A, false);
    board.end(A, false, Reached::Unknown);
    assert_eq!(board.choose(now), [want(A, Lane::Fresh, 1)]);
    board.begin(A, false);
    board.end(A, false, Reached::InTime);
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
    board.update(&[want(A, Lane::Late, 4)], &[], now + pause);
    assert!(board.choose(now + pause).is_empty());
}

#[test]
fn a_blocked_endpoint_is_left_alone_and_said_so_once() {
    let now = Instant::now();
    let (mut board, until) = (board(100, 4), now + Duration::from_secs(60));
    board.refresh(&[due(A, Lane::Fresh), due(B, Lane::Fresh)], now);
    assert!(board.block(A, until));
    assert!(!board.block(A, until));
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
