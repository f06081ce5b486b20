use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A page: the rows by number, and where the list goes on. A row's number gives its id, and its
/// time, which three rows share.
#[derive(Clone, Debug)]
struct Page {
    rows: Vec<u32>,
    next: Option<u8>,
    has_more: bool,
}

fn time(row: u32) -> i64 {
    -i64::from(row / 3)
}

fn page(rows: &[u32], next: u8) -> Page {
    Page { rows: rows.to_vec(), next: Some(next), has_more: true }
}

fn last(rows: &[u32]) -> Page {
    Page { rows: rows.to_vec(), next: None, has_more: false }
}

fn turn(walk: &mut Walk, page: &Page) -> (Vec<u32>, Then) {
    let ids: Vec<String> = page.rows.iter().map(|row| format!("sub_{row}")).collect();
    let rows = ids.iter().map(String::as_str).zip(page.rows.iter().map(|row| time(*row)));
    let next_cursor = page.next.map(|next| Cursor::new(next.to_string()));
    let turn = walk.turn(rows, &Pagination { next_cursor, has_more: page.has_more });
    let kept = page.rows[..turn.rows].iter().copied().enumerate();
    let kept = kept.filter(|(at, _)| !turn.duplicates.contains(at)).map(|(_, row)| row).collect();
    (kept, turn.then)
}

/// Feeds pages until the walk wants no more of them.
fn walk(pages: &[Page]) -> (Vec<u32>, Then) {
    let mut walk = Walk::start(None);
    let mut all = Vec::new();
    for page in pages {
        let (rows, then) = turn(&mut walk, page);
        all.extend(rows);
        if then != Then::More {
            return (all, then);
        }
    }
    (all, Then::More)
}

fn any_page() -> impl Strategy<Value = Page> {
    let rows = prop::collection::vec(0_u32..30, 0..8);
    let sorted = any::<bool>();
    (rows, sorted, prop::option::weighted(0.95, any::<u8>()), prop::bool::weighted(0.9)).prop_map(
        |(mut rows, sorted, next, has_more)| {
            if sorted {
                rows.sort_unstable();
            }
            Page { rows, next, has_more }
        },
    )
}

/// A list as a clumsy but honest service pages it: some pages empty, some repeating the end of
/// the page before.
fn clumsy_list() -> impl Strategy<Value = (u32, Vec<Page>)> {
    let cuts = prop::collection::vec((0_u32..7, 0_u32..7), 1..40);
    cuts.prop_map(|cuts| {
        let (mut at, mut start_before, mut pages) = (0, 0, Vec::new());
        for (number, (fresh, again)) in (0_u8..).zip(cuts) {
            let from = at.max(again) - again;
            // Only rows of the page before may come again, once there is one.
            let from = from.max(start_before);
            if fresh > 0 {
                pages.push(page(&(from..at + fresh).collect::<Vec<_>>(), number));
                (start_before, at) = (from, at + fresh);
            } else {
                pages.push(page(&[], number));
            }
        }
        pages.push(last(&[]));
        (at, pages)
    })
}

proptest! {
    #[test]
    fn whatever_pages_come_no_id_is_repeated_and_none_is_lost(
        pages in prop::collection::vec(any_page(), 1..30),
    ) {
        let (rows, then) = walk(&pages);
        let once: BTreeSet<_> = rows.iter().copied().collect();
        prop_assert_eq!(once.len(), rows.len(), "{:?}", rows);
        if then == Then::End {
            let until = pages.iter().position(|page| !page.has_more).unwrap();
            let all: BTreeSet<_> = pages[..=until].iter().flat_map(|p| p.rows.clone()).collect();
            prop_assert_eq!(once, all);
        }
    }

    #[test]
    fn a_clumsy_but_honest_list_is_read_whole_and_in_order((rows, pages) in clumsy_list()) {
        prop_assert_eq!(walk(&pages), ((0..rows).collect(), Then::End));
    }

    #[test]
    fn resuming_at_any_row_continues_as_if_nothing_had_happened(
        (rows, pages) in clumsy_list(),
        stops in prop::collection::vec(0_usize..12, 1..6),
    ) {
        let mut all = Vec::new();
        let (mut place, mut seen, mut oldest) = (Place::default(), Vec::<String>::new(), None);
        for stop in stops {
            let mut walk = Walk::resume(place.clone(), seen.iter().map(String::as_str), oldest);
            let mut left = stop;
            loop {
                let at = walk.cursor().map_or(0, |c| c.as_str().parse::<usize>().unwrap() + 1);
                let (kept, then) = turn(&mut walk, &pages[at]);
                if kept.len() > left {
                    // Stops within this page.
                    all.extend(&kept[..left]);
                    let handed_on = kept[..left].iter().map(|row| format!("sub_{row}"));
                    let known = walk.known_before().map(str::to_owned);
                    seen = known.chain(handed_on).collect();
                    place = walk.place_before().clone();
                    let last = kept[..left].last().map(|row| time(*row)).or(place.oldest);
                    oldest = walk.known_oldest(last);
                    break;
                }
                left -= kept.len();
                all.extend(kept);
                if then == Then::End {
                    prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
                    return Ok(());
                }
                prop_assert_eq!(then, Then::More);
            }
        }
        let read = u32::try_from(all.len()).unwrap();
        prop_assert_eq!(all, (0..read).collect::<Vec<_>>());
    }
}

#[test]
fn an_empty_page_is_walked_through() {
    let pages = [page(&[0], 1), page(&[], 2), page(&[], 3), last(&[5])];
    assert_eq!(walk(&pages), (vec![0, 5], Then::End));
}

#[test]
fn more_without_a_cursor_is_stuck_after_its_rows() {
    let pages = [page(&[0], 1), Page { rows: vec![3], next: None, has_more: true }];
    assert_eq!(walk(&pages), (vec![0, 3], Then::Failed(Fault::Stuck(Stuck::NoCursor))));
}

#[test]
fn the_cursor_just_asked_with_is_stuck_even_with_new_rows() {
    let pages = [page(&[0], 1), page(&[3], 1)];
    assert_eq!(walk(&pages), (vec![0, 3], Then::Failed(Fault::Stuck(Stuck::Circle))));
}

#[test]
fn a_circle_of_cursors_is_seen_when_it_brings_nothing_new() {
    let pages = [page(&[0], 1), page(&[0], 2), page(&[0], 3), page(&[0], 1)];
    assert_eq!(walk(&pages), (vec![0], Then::Failed(Fault::Stuck(Stuck::Circle))));
}

#[test]
fn a_hundred_pages_without_a_new_row_are_stuck() {
    let idle: Vec<Page> = (1..=150).map(|next| page(&[], next)).collect();
    let mut walk = Walk::start(None);
    let ended = idle.iter().position(|page| turn(&mut walk, page).1 != Then::More);
    assert_eq!(ended, Some(IDLE_PAGES_MAX - 1));
    let mut busy = idle.clone();
    busy[60] = page(&[0], 61);
    let mut walk = Walk::start(None);
    let ended = busy.iter().position(|page| turn(&mut walk, page).1 != Then::More);
    assert_eq!(ended, None.or(Some(60 + IDLE_PAGES_MAX)).filter(|at| *at < busy.len()));
}

#[test]
fn a_row_newer_than_the_one_before_ends_the_walk_after_the_good_rows() {
    let pages = [page(&[6, 7, 0, 9], 1)];
    assert_eq!(walk(&pages), (vec![6, 7], Then::Failed(Fault::OutOfOrder)));
    // Also when it comes a page later.
    let pages = [page(&[6, 7], 1), page(&[9, 0], 2)];
    assert_eq!(walk(&pages), (vec![6, 7, 9], Then::Failed(Fault::OutOfOrder)));
}

#[test]
fn ties_that_span_pages_are_not_repeated() {
    // Rows 3, 4 and 5 share a time; row 3 comes again two pages later.
    let pages = [page(&[0, 3], 1), page(&[4], 2), page(&[5], 3), last(&[3, 4, 6])];
    assert_eq!(walk(&pages), (vec![0, 3, 4, 5, 6], Then::End));
}

#[test]
fn rows_yielded_before_a_stop_are_not_repeated_when_new_ones_push_them_on() {
    // Before the stop the newest page was 10, 11, 12; now 0 and 1 came on top of it.
    let seen = ["sub_10", "sub_11"];
    let mut walk = Walk::resume(Place::default(), seen.into_iter(), Some(time(11)));
    assert_eq!(turn(&mut walk, &page(&[0, 1, 10], 1)), (vec![0, 1], Then::More));
    assert_eq!(turn(&mut walk, &last(&[11, 12, 13])), (vec![12, 13], Then::End));
}

#[test]
fn what_a_resumed_walk_was_told_is_forgotten_once_it_cannot_come_again() {
    let mut walk = Walk::resume(Place::default(), ["sub_0"].into_iter(), Some(time(0)));
    turn(&mut walk, &page(&[0, 3], 1));
    turn(&mut walk, &page(&[6], 2));
    turn(&mut walk, &page(&[9], 3));
    assert_eq!(walk.known().collect::<Vec<_>>(), ["sub_9"]);
}

#[test]
fn a_list_without_end_at_one_time_fills_no_memory() {
    let mut walk = Walk::start(None);
    let mut pages = 0;
    let then = loop {
        let ids: Vec<String> = (0..1_000).map(|n| format!("sub_{pages}_{n}")).collect();
        let rows = ids.iter().map(|id| (id.as_str(), 7));
        let next_cursor = Some(Cursor::new(pages.to_string()));
        let turn = walk.turn(rows, &Pagination { next_cursor, has_more: true });
        pages += 1;
        if turn.then != Then::More {
            break turn.then;
        }
        assert!(pages <= 101, "it goes on");
    };
    assert_eq!((then, pages), (Then::Failed(Fault::Crowd), 101));
    // A token of this place does not forget how many there are.
    let known: Vec<String> = walk.known().map(str::to_owned).collect();
    assert!(known.len() > 100_000 && known.len() <= 101_000);
}
