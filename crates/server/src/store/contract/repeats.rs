//! Idempotency keys: a repeat is answered like the first, and kept once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{FormId, FormStatus, SubmissionId};
use tokio::task::JoinSet;

use super::worker::MICROSECOND;
use super::world::{Factory, NOW, World, submission};
use crate::admin::new_id;
use crate::store::{Accepted, FormChange, Idempotency, NewSubmission, Revision, StoreError};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn keyed(form: &FormId, key: u16, fingerprint: u8) -> NewSubmission {
    let mut digest = [7; 32];
    digest[..2].copy_from_slice(&key.to_be_bytes());
    let idempotency = Idempotency { key: digest, fingerprint: [fingerprint; 32] };
    NewSubmission { idempotency: Some(idempotency), ..submission(form, "{}") }
}

async fn submit(world: &World, new: NewSubmission) -> Accepted {
    world.store.submit(new).await.expect("accepted")
}

/// Rows of the world's form.
async fn rows(world: &World) -> usize {
    world.walk(None, 100).await.len()
}

pub(super) async fn a_repeat_is_told_what_the_first_was_told(factory: Factory) {
    let world = World::new(factory).await;
    let (form, other) = (&world.form.id, world.add_form().await.id);
    world.add_endpoint(form).await;
    let first = submit(&world, keyed(form, 1, 1)).await;
    assert!(!first.repeated);
    world.pass(Duration::from_secs(60));
    let told = Accepted { repeated: true, ..first.clone() };
    for _ in 0..3 {
        assert_eq!(submit(&world, keyed(form, 1, 1)).await, told);
    }
    // Also a repeat of the very same call.
    let again = NewSubmission { id: first.id.clone(), ..keyed(form, 1, 1) };
    assert_eq!(submit(&world, again).await, told);
    assert_eq!((rows(&world).await, world.deliveries_of(form).await.len()), (1, 1));

    for fingerprint in [0, 2] {
        let refused = world.store.submit(keyed(form, 1, fingerprint)).await;
        assert!(matches!(refused, Err(StoreError::KeyReused)), "{refused:?}");
    }
    // Another key, no key, and another form are something new.
    assert!(!submit(&world, keyed(form, 2, 1)).await.repeated);
    assert!(!submit(&world, submission(form, "{}")).await.repeated);
    assert!(!submit(&world, keyed(&other, 1, 9)).await.repeated);
    assert!(submit(&world, keyed(&other, 1, 9)).await.repeated);
    assert_eq!(rows(&world).await, 3);
}

pub(super) async fn a_repeat_is_answered_though_the_form_was_closed(factory: Factory) {
    let world = World::new(factory).await;
    let form = &world.form.id;
    let first = submit(&world, keyed(form, 1, 1)).await;
    world.store.set_form_status(form, FormStatus::Closed).await.expect("closed");
    let again = submit(&world, keyed(form, 1, 1)).await;
    assert_eq!((again.id, again.instant, again.repeated), (first.id, first.instant, true));
    let refused = world.store.submit(keyed(form, 2, 1)).await;
    assert!(matches!(refused, Err(StoreError::Closed { .. })), "{refused:?}");
    world.store.set_form_status(form, FormStatus::Published).await.expect("opened");
    assert!(!submit(&world, keyed(form, 2, 9)).await.repeated, "a refused one used no key");
}

/// The world's form, as it is now.
async fn revision(world: &World) -> Revision {
    let met = world.store.public_form(&world.form.public_id).await.expect("a lookup");
    met.expect("the form is there").revision
}

async fn change_title(world: &World, title: &str) -> Revision {
    let change = FormChange { title: Some(title.into()), ..FormChange::default() };
    world.store.change_form(&world.form.id, change).await.expect("changed");
    revision(world).await
}

pub(super) async fn answers_checked_by_a_form_as_it_was_are_refused(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    let form = &world.form.id;
    world.add_endpoint(form).await;
    let checked_by = |revision| NewSubmission { revision, ..submission(form, "{}") };
    let first = revision(&world).await;
    submit(&world, checked_by(Some(first))).await;
    let second = change_title(&world, "Other").await;
    world.store.set_form_status(form, FormStatus::Closed).await.expect("closed");
    let third = revision(&world).await;
    world.store.set_form_status(form, FormStatus::Published).await.expect("opened");
    let fourth = revision(&world).await;
    for old in [first, second, third] {
        assert_ne!(old, fourth);
        let refused = world.store.submit(checked_by(Some(old))).await;
        let Err(StoreError::Changed { form: told }) = refused else { panic!("{refused:?}") };
        assert_eq!(told, world.form.id);
    }
    assert_eq!((rows(&world).await, world.deliveries_of(form).await.len()), (1, 1));

    // Each for itself, also of those that wait together.
    let mut tasks = JoinSet::new();
    for n in 0..60_usize {
        let (world, revision) = (Arc::clone(&world), [Some(fourth), Some(first), None][n % 3]);
        let new = checked_by(revision);
        tasks.spawn(async move { (revision == Some(first), world.store.submit(new).await) });
    }
    for (is_old, outcome) in tasks.join_all().await {
        match outcome {
            Err(StoreError::Changed { .. }) => assert!(is_old),
            outcome => assert!(!is_old && outcome.is_ok(), "{outcome:?}"),
        }
    }
    assert_eq!((rows(&world).await, world.deliveries_of(form).await.len()), (41, 41));
    // What is told of is the change, for nobody knows what the form as it is now would say.
    world.store.set_form_status(form, FormStatus::Closed).await.expect("closed");
    let refused = world.store.submit(checked_by(Some(fourth))).await;
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    let refused = world.store.submit(checked_by(Some(revision(&world).await))).await;
    assert!(matches!(refused, Err(StoreError::Closed { .. })), "{refused:?}");
}

pub(super) async fn a_repeat_is_answered_though_the_form_was_changed(factory: Factory) {
    let world = World::new(factory).await;
    let form = &world.form.id;
    let old = Some(revision(&world).await);
    let first = submit(&world, NewSubmission { revision: old, ..keyed(form, 1, 1) }).await;
    let new = Some(change_title(&world, "Other").await);
    for revision in [old, new, None] {
        let again = submit(&world, NewSubmission { revision, ..keyed(form, 1, 1) }).await;
        assert_eq!((again.id, again.repeated), (first.id.clone(), true));
    }
    // Other answers may be the same ones by the form as it is now.
    let refused = world.store.submit(NewSubmission { revision: old, ..keyed(form, 1, 2) }).await;
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    let refused = world.store.submit(NewSubmission { revision: new, ..keyed(form, 1, 2) }).await;
    assert!(matches!(refused, Err(StoreError::KeyReused)), "{refused:?}");
    // One that was refused used no key.
    let refused = world.store.submit(NewSubmission { revision: old, ..keyed(form, 2, 1) }).await;
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    assert!(!submit(&world, NewSubmission { revision: new, ..keyed(form, 2, 9) }).await.repeated);
    assert_eq!(rows(&world).await, 2);
}

pub(super) async fn concurrent_repeats_make_one_submission(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    world.add_endpoint(&world.form.id).await;
    let mut tasks = JoinSet::new();
    for n in 0..200_u16 {
        let world = Arc::clone(&world);
        tasks.spawn(async move { (n % 4, submit(&world, keyed(&world.form.id, n % 4, 1)).await) });
    }
    let outcomes = tasks.join_all().await;
    assert_eq!(outcomes.iter().filter(|(_, accepted)| !accepted.repeated).count(), 4);
    let told: BTreeSet<(u16, SubmissionId)> =
        outcomes.into_iter().map(|(key, accepted)| (key, accepted.id)).collect();
    assert_eq!(told.len(), 4, "all repeats of a key were told of the same one");
    assert_eq!(rows(&world).await, 4);
    assert_eq!(world.deliveries_of(&world.form.id).await.len(), 4);
}

pub(super) async fn a_key_is_forgotten_after_a_day(factory: Factory) {
    let world = World::new(factory).await;
    let form = &world.form.id;
    let first = submit(&world, keyed(form, 1, 1)).await;
    world.pass(DAY);
    assert_eq!(submit(&world, keyed(form, 1, 1)).await.id, first.id, "a day is not over");
    world.pass(MICROSECOND);
    let next = submit(&world, keyed(form, 1, 2)).await;
    assert!(!next.repeated && next.id != first.id);
    // From here on the key stands for the new one.
    world.pass(DAY);
    assert_eq!(submit(&world, keyed(form, 1, 2)).await.id, next.id);
    let refused = world.store.submit(keyed(form, 1, 1)).await;
    assert!(matches!(refused, Err(StoreError::KeyReused)), "{refused:?}");
    assert_eq!(rows(&world).await, 2);
}

pub(super) async fn forgetting_takes_old_keys_only_and_no_submission(factory: Factory) {
    const OLD: u16 = 1_200;
    let world = Arc::new(World::new(factory).await);
    assert!(!world.store.forget_idempotency_keys().await.expect("nothing to forget"));
    let mut tasks = JoinSet::new();
    for n in 0..OLD {
        let world = Arc::clone(&world);
        tasks.spawn(async move { submit(&world, keyed(&world.form.id, n, 1)).await });
    }
    tasks.join_all().await;
    world.pass(DAY / 2);
    let recent = submit(&world, keyed(&world.form.id, OLD, 1)).await;
    world.pass(DAY / 2 + MICROSECOND);
    let mut steps = 0;
    while world.store.forget_idempotency_keys().await.expect("forgotten") {
        steps += 1;
        assert!(steps < 100, "it ends");
    }
    assert!(steps > 0, "few at once, so that others get their turn");
    assert_eq!(rows(&world).await, usize::from(OLD) + 1);
    assert_eq!(submit(&world, keyed(&world.form.id, OLD, 1)).await.id, recent.id);
    for key in [0, OLD - 1] {
        assert!(!submit(&world, keyed(&world.form.id, key, 9)).await.repeated);
    }
}

/// Nobody's clock is right for ever; a key from what is now the future is a key.
pub(super) async fn a_clock_that_steps_back_forgets_no_key(factory: Factory) {
    let world = World::new(factory).await;
    let first = submit(&world, keyed(&world.form.id, 1, 1)).await;
    world.clock.advance(-3_600_000_000);
    world.store.forget_idempotency_keys().await.expect("forgotten");
    let new =
        NewSubmission { id: SubmissionId::from_bits(new_id()), ..keyed(&world.form.id, 1, 1) };
    assert_eq!(submit(&world, new).await.id, first.id);
}

/// Or those behind it would be kept for as long.
pub(super) async fn a_key_of_a_clock_that_was_far_ahead_is_forgotten(factory: Factory) {
    let world = World::new(factory).await;
    let form = &world.form.id;
    world.pass(3 * DAY);
    let ahead = submit(&world, keyed(form, 1, 1)).await;
    world.clock.set(NOW);
    let true_one = submit(&world, keyed(form, 2, 1)).await;
    while world.store.forget_idempotency_keys().await.expect("forgotten") {}
    assert_ne!(submit(&world, keyed(form, 1, 2)).await.id, ahead.id);
    assert_eq!(submit(&world, keyed(form, 2, 1)).await.id, true_one.id);
}
