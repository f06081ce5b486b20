//! Removing what is old: exactly that, in steps, and nobody notices otherwise.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{FormId, SubmissionId};

use super::worker::{MICROSECOND, Queue, attempt, of_form};
use super::world::{Factory, World, add_user, answers, ids, new_form, parse, submission};
use crate::admin::new_id;
use crate::store::{
    Claimed, DeliveryState, Idempotency, Lane, NewSpam, NewSubmission, Prunable, PruneCursor,
    PruneRequest, Settlement, SpamRequest, Store, StoreError, Verdict,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// All steps; how many rows, in how many steps.
async fn walk(store: &dyn Store, what: &Prunable, age: Duration, dry: bool) -> (u64, usize) {
    let (mut count, mut steps, mut after) = (0, 0, PruneCursor::default());
    loop {
        let request = PruneRequest { what: what.clone(), age, after, dry };
        let pruned = store.prune(request).await.expect("a step");
        (count, steps) = (count + pruned.count, steps + 1);
        let Some(next) = pruned.next else { return (count, steps) };
        assert_ne!(next, after, "it goes on");
        after = next;
    }
}

impl World {
    /// Removes what is old, after a dry run that has to count the same and change nothing.
    async fn prune(&self, what: &Prunable, age: Duration) -> u64 {
        let seen = self.all_there_is().await;
        let (expected, _) = walk(&*self.store, what, age, true).await;
        assert_eq!(self.all_there_is().await, seen, "a dry run changes nothing");
        let (count, _) = walk(&*self.store, what, age, false).await;
        assert_eq!(count, expected, "a dry run counts what is removed");
        assert_eq!(walk(&*self.store, what, age, false).await.0, 0, "and nothing is left of it");
        count
    }

    /// What can be seen of the world's form.
    async fn all_there_is(&self) -> String {
        let deliveries = self.deliveries_of(&self.form.id).await;
        let mut details = Vec::new();
        for delivery in &deliveries {
            details.push(self.detail(delivery.key).await);
        }
        let spam = SpamRequest { form: self.form.id.clone(), after: None, limit: 10_000 };
        let spam = self.store.spam(spam).await.expect("a list");
        let totals = self.store.form_totals(&self.user.id).await.expect("totals");
        format!("{:?} {details:?} {spam:?} {totals:?}", self.walk(None, 100).await)
    }

    async fn total(&self) -> u64 {
        self.store.form_totals(&self.user.id).await.expect("totals")[0].1
    }
}

fn submissions_of(form: &FormId) -> Prunable {
    Prunable::Submissions(form.clone())
}

pub(super) async fn old_submissions_are_removed_and_pages_go_over_the_hole(factory: Factory) {
    let world = World::new(factory).await;
    let mut made = Vec::new();
    for n in 0..250 {
        world.pass(Duration::from_secs(1));
        made.push(world.submit(&format!("{{\"n\":{n}}}")).await);
    }
    let other = world.add_form().await.id;
    world.submit_to(&other, "{}").await.expect("accepted");
    let all = world.walk(None, 100).await;
    let what = submissions_of(&world.form.id);
    assert_eq!(world.prune(&what, DAY).await, 0, "nothing is so old");
    // Exactly as old is not older.
    world.pass(DAY.saturating_sub(Duration::from_secs(50)));
    assert_eq!(world.prune(&what, DAY).await, 199);
    world.pass(MICROSECOND);
    assert_eq!(world.prune(&what, DAY).await, 1);
    for limit in [1, 7, 100] {
        let left = world.walk(None, limit).await;
        assert_eq!(ids(&left), ids(&all[..50]), "in pages of {limit}");
    }
    // From where nothing is any more.
    let page = world.page(Some(made[100].instant), 10).await;
    assert_eq!((page.len, page.has_more), (0, false));
    let page = world.page(Some(made[202].instant), 10).await;
    assert_eq!((page.len, page.has_more), (2, false));
    assert_eq!(ids(&parse(&page)), [&made[201].id, &made[200].id]);
    let totals = world.store.form_totals(&world.user.id).await.expect("totals");
    assert_eq!(totals, [(other, 1), (world.form.id.clone(), 50)]);
}

pub(super) async fn a_form_goes_on_after_the_newest_it_ever_had(factory: Factory) {
    let world = World::new(factory).await;
    let last = world.submit_together(150).await.into_iter().map(|a| a.instant).max();
    world.pass(DAY);
    let what = submissions_of(&world.form.id);
    assert_eq!(walk(&*world.store, &what, Duration::ZERO, false).await.0, 150);
    assert_eq!((world.page(None, 10).await.len, world.total().await), (0, 0));
    // Whatever the clock says, a cursor that somebody kept finds what is new only.
    world.clock.advance(-2 * 24 * 60 * 60 * 1_000_000);
    let next = world.submit("{}").await;
    assert!(Some(next.instant) > last, "{next:?} {last:?}");
    assert_eq!(world.total().await, 1);
    assert_eq!(ids(&world.walk(None, 10).await), [&next.id]);
    let used = world.store.submit(submission(&world.form.id, "{}")).await.expect("accepted");
    assert!(used.instant > next.instant);
}

pub(super) async fn a_submission_on_its_way_is_kept(factory: Factory) {
    let queue = Queue::new(factory, 6).await;
    let world = &queue.world;
    let mut keys = vec![queue.settled(Verdict::Delivered).await];
    keys.push(queue.settled(Verdict::Failed).await);
    let retry = Verdict::Retry { after: Duration::from_secs(1), retries: 1 };
    keys.push(queue.settled(retry).await);
    keys.push(queue.first(Lane::Fresh).await.key);
    // One of those that were finished is asked for again.
    world.store.resend(&keys[1].id()).await.expect("queued");
    world.pass(DAY);
    let what = submissions_of(&world.form.id);
    assert_eq!(world.prune(&what, Duration::ZERO).await, 1);
    let left: Vec<_> = queue.accepted[1..].iter().map(|accepted| &accepted.id).rev().collect();
    assert_eq!(ids(&world.walk(None, 10).await), left);
    assert!(world.store.delivery(&keys[0].id()).await.expect("a lookup").is_none());
    assert_eq!(world.deliveries_of(&world.form.id).await.len(), 5);
    // Also while the resend is under way.
    let late = queue.claim(Lane::Late, 10).await;
    assert_eq!(late.len(), 2);
    assert_eq!(world.prune(&what, Duration::ZERO).await, 0);
    for claimed in &late {
        world.settle(claimed, Verdict::Delivered).await;
    }
    assert_eq!(world.prune(&what, Duration::ZERO).await, 2);
    // What is removed with its endpoint is finished.
    world.store.remove_endpoint(&queue.endpoint.id).await.expect("removed");
    assert_eq!(world.prune(&what, Duration::ZERO).await, 3);
    assert_eq!(world.total().await, 0);
}

pub(super) async fn finished_deliveries_are_removed_by_when_they_finished(factory: Factory) {
    let queue = Queue::new(factory, 5).await;
    let world = &queue.world;
    let early = queue.settled(Verdict::Delivered).await;
    let resent = queue.settled(Verdict::Failed).await;
    world.pass(DAY);
    let late = queue.settled(Verdict::Failed).await;
    let retry = Verdict::Retry { after: Duration::from_secs(1), retries: 1 };
    let retrying = queue.settled(retry).await;
    world.store.resend(&resent.id()).await.expect("queued");
    world.pass(Duration::from_secs(60));
    assert_eq!(world.prune(&Prunable::Deliveries, DAY).await, 1);
    assert!(world.store.delivery(&early.id()).await.expect("a lookup").is_none());
    let claimed = queue.first(Lane::Late).await;
    assert_eq!(claimed.key, resent);
    assert_eq!(world.prune(&Prunable::Deliveries, DAY).await, 0, "it is being attempted");
    world.settle(&claimed, Verdict::Failed).await;
    assert_eq!(world.detail(resent).await.history.len(), 2);
    assert_eq!(world.prune(&Prunable::Deliveries, Duration::from_secs(60)).await, 0);
    world.pass(MICROSECOND);
    assert_eq!(world.prune(&Prunable::Deliveries, Duration::from_secs(60)).await, 1);
    assert!(world.store.delivery(&late.id()).await.expect("a lookup").is_none());
    world.pass(DAY);
    assert_eq!(world.prune(&Prunable::Deliveries, Duration::ZERO).await, 1);
    let left = world.deliveries_of(&world.form.id).await;
    let states: Vec<_> = left.iter().map(|delivery| delivery.state).collect();
    assert_eq!(states, [DeliveryState::Pending, DeliveryState::Retrying]);
    assert_eq!(left[1].key, retrying);
    assert_eq!(world.walk(None, 10).await.len(), 5, "submissions stay");
}

pub(super) async fn attempts_are_removed_by_when_they_began_but_not_the_last(factory: Factory) {
    let queue = Queue::new(factory, 2).await;
    let world = &queue.world;
    let mut key = None;
    for n in 0..4 {
        let lane = if n == 0 { Lane::Fresh } else { Lane::Late };
        let Claimed { key: claimed, lease, .. } = queue.first(lane).await;
        let mut attempt = attempt(500 + n);
        attempt.started_at = (world.clock.clock())();
        let retries = u32::from(n) + 1;
        let verdict = Verdict::Retry { after: Duration::ZERO, retries };
        let settlement =
            Settlement { key: claimed, lease, verdict, attempt: Some(attempt), own_fault: false };
        world.store.settle(vec![settlement]).await.expect("settled");
        key = Some(claimed);
        world.pass(DAY);
    }
    let key = key.expect("it was claimed");
    let before = world.detail(key).await;
    assert_eq!(world.prune(&Prunable::Attempts, 3 * DAY).await, 1, "as old is not older");
    let after = world.detail(key).await;
    assert_eq!((&after.record, &after.history[..]), (&before.record, &before.history[1..]));
    assert_eq!(world.prune(&Prunable::Attempts, Duration::ZERO).await, 2);
    let after = world.detail(key).await;
    assert_eq!((&after.record, &after.history[..]), (&before.record, &before.history[3..]));
    // It goes on as it would have.
    let claimed = queue.first(Lane::Late).await;
    assert_eq!((claimed.attempts, claimed.retries), (4, 4));
    world.settle(&claimed, Verdict::Delivered).await;
    let detail = world.detail(key).await;
    assert_eq!((detail.record.attempts, detail.history.len()), (5, 2));
}

pub(super) async fn old_spam_is_removed_of_all_forms(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let theirs = world.store.add_form(new_form(&other.id)).await.expect("added").id;
    let spam = async |form: &FormId| {
        let id = SubmissionId::from_bits(new_id());
        let new = NewSpam { id, form: form.clone(), answers: answers("{}") };
        world.store.keep_spam(new).await.expect("kept");
    };
    for form in [&world.form.id, &theirs, &world.form.id] {
        spam(form).await;
    }
    world.pass(DAY);
    spam(&world.form.id).await;
    assert_eq!(world.prune(&Prunable::Spam, DAY).await, 0);
    world.pass(MICROSECOND);
    assert_eq!(world.prune(&Prunable::Spam, DAY).await, 3);
    spam(&world.form.id).await;
    let list = |form: &FormId| SpamRequest { form: form.clone(), after: None, limit: 10 };
    let kept = world.store.spam(list(&world.form.id)).await.expect("a list");
    assert_eq!(kept.len(), 2);
    assert!(world.store.spam(list(&theirs)).await.expect("a list").is_empty());
}

pub(super) async fn a_repeat_of_what_was_removed_is_new(factory: Factory) {
    let world = World::new(factory).await;
    let keyed = |key, fingerprint| {
        let idempotency = Idempotency { key: [key; 32], fingerprint: [fingerprint; 32] };
        NewSubmission { idempotency: Some(idempotency), ..submission(&world.form.id, "{}") }
    };
    let submit = async |new| world.store.submit(new).await.expect("accepted");
    let first = submit(keyed(1, 1)).await;
    submit(keyed(2, 1)).await;
    world.pass(Duration::from_secs(60));
    let kept = submit(keyed(3, 1)).await;
    let what = submissions_of(&world.form.id);
    assert_eq!(world.prune(&what, Duration::from_secs(30)).await, 2);
    // Also one that came with other answers.
    let (again, other) = (submit(keyed(1, 1)).await, submit(keyed(2, 2)).await);
    assert!(!again.repeated && !other.repeated && again.id != first.id);
    assert!(submit(keyed(1, 1)).await.repeated);
    assert_eq!(submit(keyed(3, 1)).await.id, kept.id);
    assert_eq!(world.total().await, 3);
}

pub(super) async fn removing_goes_in_steps_beside_others(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    world.add_endpoint(&world.form.id).await;
    world.submit_together(700).await;
    world.pass(DAY);
    let what = submissions_of(&world.form.id);
    // Nothing of this is finished: looked at, and kept.
    let (count, steps) = walk(&*world.store, &what, Duration::ZERO, false).await;
    assert!(count == 0 && steps > 3, "{count} in {steps} steps");
    let queue = world.store.endpoints(&world.form.id).await.expect("a list");
    world.store.remove_endpoint(&queue[0].id).await.expect("removed");
    let pruning = |world: &Arc<World>| {
        let (world, what) = (Arc::clone(world), what.clone());
        tokio::spawn(async move { walk(&*world.store, &what, DAY / 2, false).await.0 })
    };
    // Two at once, and visitors.
    let (one, two) = (pruning(&world), pruning(&world));
    let made = world.submit_together(200).await;
    let (one, two) = (one.await.expect("ran"), two.await.expect("ran"));
    assert_eq!(one + two, 700, "each row was removed by one of them");
    assert_eq!((world.walk(None, 100).await.len(), world.total().await), (made.len(), 200));
    assert!(world.store.deliveries(of_form(&world.form.id)).await.expect("a list").is_empty());
}

pub(super) async fn of_a_form_that_is_not_there_nothing_is_removed(factory: Factory) {
    let world = World::new(factory).await;
    let staged = world.store.stage_form(new_form(&world.user.id)).await.expect("staged");
    for id in [staged.id, FormId::new("frm_unknown").expect("a valid id")] {
        for dry in [true, false] {
            let what = submissions_of(&id);
            let after = PruneCursor::default();
            let request = PruneRequest { what, age: Duration::ZERO, after, dry };
            let refused = world.store.prune(request).await;
            assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
        }
    }
}
