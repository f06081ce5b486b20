//! The order of submissions, and pages through them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formsvc_protocol::FormInstant;

use super::world::{Factory, NOW, World, ids, submission};

/// 64 submit at the same time; whoever is told an instant can rely on all earlier ones being there.
pub(super) async fn commit_order_is_instant_order(factory: Factory) {
    let world = World::new(factory).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (store, form) = (Arc::clone(&world.store), world.form.id.clone());
        tasks.spawn(async move {
            let mut mine = Vec::new();
            for _ in 0..20 {
                let done = store.submit(submission(&form, "{}")).await.expect("accepted");
                mine.push(done);
            }
            assert!(mine.is_sorted_by(|a, b| a.instant < b.instant), "a later call is later");
            mine
        });
    }
    // A reader that stops at the newest row it has seen must never find an older one it has not.
    let mut seen = Vec::new();
    while seen.len() < 64 * 20 {
        let rows = world.walk(None, 100).await;
        let behind = &ids(&rows)[rows.len() - seen.len()..];
        assert!(behind.iter().copied().eq(&seen), "a row appeared behind one that was read before");
        seen = rows.into_iter().map(|row| row.id).collect();
        world.clock.advance(1_000);
    }
    let mut all = tasks.join_all().await.concat();
    all.sort_by_key(|accepted| accepted.instant);
    assert!(all.is_sorted_by(|a, b| a.instant < b.instant), "instants are unique");
    all.reverse();
    let expected: Vec<_> = all.iter().map(|accepted| &accepted.id).collect();
    assert_eq!(ids(&world.walk(None, 100).await), expected);
}

pub(super) async fn ten_thousand_of_one_millisecond_page_without_loss_or_repeat(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    let mut made = world.submit_together(10_000).await;
    made.sort_by_key(|accepted| std::cmp::Reverse(accepted.instant));
    let made: Vec<_> = made.iter().map(|accepted| &accepted.id).collect();

    let done = Arc::new(AtomicBool::new(false));
    let arriving = tokio::spawn({
        let (world, done) = (Arc::clone(&world), Arc::clone(&done));
        async move {
            while !done.load(Ordering::SeqCst) {
                world.submit("{}").await;
            }
        }
    });
    for limit in [3, 25, 100] {
        let rows = world.walk(None, limit).await;
        let unique: HashSet<_> = rows.iter().map(|row| &row.id).collect();
        assert_eq!(unique.len(), rows.len(), "a row came twice");
        let arrived = rows.len() - made.len();
        assert!(ids(&rows)[arrived..] == made[..], "a row was lost or out of order");
    }
    done.store(true, Ordering::SeqCst);
    arriving.await.expect("submissions were accepted all the time");
}

pub(super) async fn a_clock_that_steps_back_does_not_take_the_form_with_it(factory: Factory) {
    let world = World::new(factory).await;
    let mut made = Vec::new();
    for step in [0, 5_000_000, -60_000_000, 1, -3_600_000_000, 90_000_000, 0, 4_000_000_000] {
        world.clock.advance(step);
        made.push(world.submit("{}").await);
    }
    assert!(made.is_sorted_by(|a, b| a.instant < b.instant));
    made.reverse();
    let expected: Vec<_> = made.iter().map(|accepted| &accepted.id).collect();
    assert_eq!(ids(&world.walk(None, 3).await), expected);
}

pub(super) async fn a_cursor_is_any_instant(factory: Factory) {
    let world = World::new(factory).await;
    for _ in 0..3 {
        world.submit("{}").await;
        world.clock.advance(10_000);
    }
    let all = world.walk(None, 100).await;
    let after = async |micros| {
        let rows = world.walk(Some(FormInstant::from_micros(micros)), 2).await;
        rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    let from = |first: usize| all[first..].iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    assert_eq!(after(i64::MAX).await, from(0), "after everything");
    assert_eq!(after(NOW + 20_001).await, from(0), "just after the newest");
    assert_eq!(after(NOW + 20_000).await, from(1), "at the newest");
    assert_eq!(after(NOW + 15_000).await, from(1), "between two");
    assert_eq!(after(NOW + 1).await, from(2), "just after the oldest");
    assert_eq!(after(NOW).await, from(3), "at the oldest");
    assert_eq!(after(i64::MIN).await, from(3), "before everything");
    let empty = world.page(Some(FormInstant::MIN), 25).await;
    assert_eq!((empty.len, empty.last, empty.has_more), (0, None, false));
}

pub(super) async fn each_form_has_a_clock_of_its_own(factory: Factory) {
    let world = World::new(factory).await;
    for _ in 0..5 {
        world.submit("{}").await;
    }
    let other = world.add_form().await;
    let first = world.submit_to(&other.id, r#"{"other":1}"#).await.expect("accepted");
    assert_eq!(first.instant.micros(), NOW);
    let page = world.page_of(&world.user.id, &other.id, None, 100).await.expect("a page");
    assert_eq!((page.len, page.has_more), (1, false), "forms do not mix");
    assert_eq!(world.walk(None, 100).await.len(), 5);
}
