//! Removals that stop halfway, because their future was dropped: maintenance finishes them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::SubmissionId;
use futures_util::{FutureExt, poll};

use super::world::{Factory, World, answers, new_form, submission};
use crate::admin::new_id;
use crate::store::{
    Commit, DeliveryState, EndpointStatus, Lane, NewSubmission, StagedSubmission, Store,
    StoreError, StoreObserver,
};

/// More deliveries than two steps of a removal cancel.
const DELIVERIES: usize = 1_300;

/// Panics when deliveries were canceled, which drops the future of the removal between two steps.
struct StopsRemoval;

impl StoreObserver for StopsRemoval {
    fn committed(&self, _commit: Commit) {}
    fn accepted(&self, _took: Duration, _ahead: Duration) {}
    fn canceled(&self, _deliveries: u64) {
        panic!("on purpose");
    }
}

/// Takes all steps, as maintenance does.
async fn finish(store: &dyn Store) {
    while store.finish_removals().await.expect("a step") {}
}

pub(super) async fn dropped_endpoint_removal_is_finished(factory: Factory) {
    let world = World::new(factory).await;
    let endpoint = world.add_endpoint(&world.form.id).await;
    let other = world.add_endpoint(&world.form.id).await;
    world.submit_together(DELIVERIES).await;
    world.store.observe(Arc::new(StopsRemoval));
    let removal = AssertUnwindSafe(world.store.remove_endpoint(&endpoint.id));
    removal.catch_unwind().await.expect_err("it stops after its first step");

    let unfinished = async || {
        let deliveries = world.deliveries_of(&world.form.id).await;
        let of = |id| deliveries.iter().filter(move |one| one.endpoint == id);
        let rest = of(endpoint.id.clone()).filter(|one| one.state == DeliveryState::Pending);
        let others = of(other.id.clone()).filter(|one| one.state == DeliveryState::Pending);
        (rest.count(), others.count())
    };
    let (rest, others) = unfinished().await;
    assert!(rest > 0 && rest < DELIVERIES, "{rest}");
    assert_eq!(others, DELIVERIES);

    // The observer stops each step after its commit.
    while AssertUnwindSafe(finish(&*world.store)).catch_unwind().await.is_err() {}
    assert_eq!(unfinished().await, (0, DELIVERIES));
    let removed = world.store.endpoint(&endpoint.id).await.expect("a lookup").expect("found");
    assert_eq!(removed.endpoint.status, EndpointStatus::Removed);
    let due: Vec<_> = world.due().await.iter().map(|due| due.lane).collect();
    assert_eq!(due, [Lane::Fresh], "the other endpoint's");
    assert!(!world.store.finish_removals().await.expect("a step"), "nothing is left");
}

pub(super) async fn dropped_form_removal_is_finished(factory: Factory) {
    let world = World::new(factory).await;
    let new = new_form(&world.user.id);
    let staged = world.store.stage_form(new.clone()).await.expect("staged");
    let row = |_| StagedSubmission {
        id: SubmissionId::from_bits(new_id()),
        at: None,
        answers: answers("{}"),
    };
    // More than one step removes.
    let rows: Vec<_> = (0..6_000).map(row).collect();
    for rows in rows.chunks(3_000) {
        world.store.stage_submissions(&staged, rows.to_vec()).await.expect("staged");
    }
    let mut removal = world.store.discard_staged(&staged);
    assert!(poll!(&mut removal).is_pending());
    drop(removal);
    // The first step is carried out all the same.
    while world.store.stage_submissions(&staged, Vec::new()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    finish(&*world.store).await;
    // Its ids are free again.
    let form = world.store.add_form(new).await.expect("the form is gone");
    let last = rows.last().expect("many").id.clone();
    let again = NewSubmission { id: last, ..submission(&form.id, "{}") };
    world.store.submit(again).await.expect("its submissions are gone");
}

pub(super) async fn given_up_import_is_removed(factory: Factory) {
    let world = World::new(factory).await;
    let staged = world.store.stage_form(new_form(&world.user.id)).await.expect("staged");
    finish(&*world.store).await;
    world.store.stage_submissions(&staged, Vec::new()).await.expect("it goes on");
    world.clock.advance(3_600_000_001);
    finish(&*world.store).await;
    let gone = world.store.publish_staged(&staged).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
}
