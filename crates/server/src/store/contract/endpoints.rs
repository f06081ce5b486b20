//! Endpoints: their secrets, and what becomes of deliveries when they are disabled or removed.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::EndpointId;
use tokio::task::JoinSet;

use super::worker::{LEASE, MICROSECOND, PAUSE, Queue, accepted_ids, new_endpoint, submissions};
use super::world::{Factory, World, add_user, new_form};
use crate::store::{
    ClaimedEndpoint, DeliveryState, ENDPOINTS_MAX, EndpointNo, EndpointStatus, Lane, NewEndpoint,
    OwnedEndpoint, SealedSecret, Settled, StoreError, Verdict, Want,
};

const HOUR: Duration = Duration::from_secs(3_600);

pub(super) async fn endpoints_are_listed_oldest_first(factory: Factory) {
    let world = World::new(factory).await;
    let other = world.add_form().await;
    assert!(world.store.endpoints(&world.form.id).await.expect("a list").is_empty());
    assert!(world.store.sealed_secrets().await.expect("a list").is_empty());
    let mut added = Vec::new();
    for n in 0..4 {
        if n != 2 {
            world.clock.advance(1_000);
        }
        let new = new_endpoint(&world.form.id);
        let record = world.store.add_endpoint(new.clone()).await.expect("added");
        assert_eq!((&record.id, &record.form, &record.url), (&new.id, &new.form, &new.url));
        assert_eq!(record.status, EndpointStatus::Enabled);
        assert_eq!(record.created_at, (world.clock.clock())().to_timestamp());
        assert_eq!(record.previous_secret_until, None);
        let again = world.store.add_endpoint(new).await;
        assert!(matches!(again, Err(StoreError::Exists { what: "endpoint id", .. })), "{again:?}");
        added.push(record);
        world.add_endpoint(&other.id).await;
    }
    assert_eq!(world.store.endpoints(&world.form.id).await.expect("a list"), added);
    added[1] = world.store.set_endpoint_enabled(&added[1].id, false).await.expect("disabled");
    assert_eq!(added[1].status, EndpointStatus::Disabled);
    let removed = added.remove(2);
    let gone = world.store.remove_endpoint(&removed.id).await.expect("removed");
    assert_eq!(gone.status, EndpointStatus::Removed);
    assert_eq!((gone.id, gone.url), (removed.id, removed.url));
    assert_eq!(world.store.endpoints(&world.form.id).await.expect("a list"), added);
    for _ in 0..2 {
        added[1] = world.store.set_endpoint_enabled(&added[1].id, true).await.expect("enabled");
    }
    assert_eq!(world.store.endpoints(&world.form.id).await.expect("a list"), added);
}

pub(super) async fn enabled_endpoints_of_all_forms_are_listed_oldest_first(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let theirs = world.store.add_form(new_form(&other.id)).await.expect("added");
    let enabled = async || world.store.enabled_endpoints().await.expect("a list");
    assert!(enabled().await.is_empty());
    let mut added = Vec::new();
    for form in [&world.form, &theirs, &world.form, &theirs, &world.form] {
        // The clock says nothing about it.
        world.clock.advance(-1_000);
        added.push(world.add_endpoint(&form.id).await);
    }
    assert_eq!(enabled().await, added);
    world.store.set_endpoint_enabled(&added[0].id, false).await.expect("disabled");
    world.store.remove_endpoint(&added[3].id).await.expect("removed");
    added.remove(3);
    assert_eq!(enabled().await, added[1..]);
    added[0] = world.store.set_endpoint_enabled(&added[0].id, true).await.expect("enabled");
    assert_eq!(enabled().await, added);
}

pub(super) async fn an_endpoint_is_found_with_its_owner(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let theirs = world.store.add_form(new_form(&other.id)).await.expect("added");
    let find = async |id: &EndpointId| world.store.endpoint(id).await.expect("a lookup");
    for (form, owner) in [(&world.form, &world.user.id), (&theirs, &other.id)] {
        let (endpoint, owner) = (world.add_endpoint(&form.id).await, owner.clone());
        assert_eq!(find(&endpoint.id).await, Some(OwnedEndpoint { endpoint, owner }));
    }
    let endpoint = world.add_endpoint(&theirs.id).await;
    let secret = SealedSecret(b"second".to_vec());
    let rotated = world.store.rotate_secret(&endpoint.id, secret, HOUR).await.expect("rotated");
    let found = find(&endpoint.id).await.expect("found");
    assert!(rotated.previous_secret_until.is_some());
    assert_eq!(found.endpoint, rotated);
    world.pass(HOUR);
    let found = find(&endpoint.id).await.expect("found");
    assert_eq!(found.endpoint, endpoint, "its grace is over");
    let removed = world.store.remove_endpoint(&endpoint.id).await.expect("removed");
    let found = find(&endpoint.id).await.expect("found");
    assert_eq!((found.endpoint, found.owner), (removed, other.id));
    let unknown = EndpointId::new("whe_unknown").expect("a valid id");
    assert_eq!(find(&unknown).await, None);
}

pub(super) async fn a_form_has_each_url_once_and_at_most_20_endpoints(factory: Factory) {
    let world = World::new(factory).await;
    let (form, other) = (&world.form.id, world.add_form().await.id);
    let add = async |form, url: &str| {
        let new = NewEndpoint { url: url.into(), ..new_endpoint(form) };
        world.store.add_endpoint(new).await
    };
    let url = |n: usize| format!("https://example.org/{n}");
    let mut added = Vec::new();
    for n in 0..ENDPOINTS_MAX {
        added.push(add(form, &url(n)).await.expect("added"));
    }
    world.store.set_endpoint_enabled(&added[1].id, false).await.expect("disabled");
    for n in [0, 1] {
        let refused = add(form, &url(n)).await;
        let Err(StoreError::Exists { what: "endpoint with this URL", value }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(value, added[n].id.as_str(), "the URL itself may be secret");
    }
    let refused = add(form, &url(20)).await;
    let Err(StoreError::Invalid { what: "form", value, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(value, form.as_str());
    add(&other, &url(0)).await.expect("of another form");
    assert_eq!(world.store.endpoints(form).await.expect("a list").len(), ENDPOINTS_MAX);
    for n in [0, 1] {
        world.store.remove_endpoint(&added[n].id).await.expect("removed");
        add(form, &url(n)).await.expect("a removed one has no URL and takes no room");
    }

    // Two at once, as from a button that was pressed twice.
    let pressed = url(1);
    let both = tokio::join!(add(&other, &pressed), add(&other, &pressed));
    assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
}

pub(super) async fn a_disabled_endpoint_keeps_what_it_has_until_it_is_enabled(factory: Factory) {
    let mut queue = Queue::new(factory, 4).await;
    let world = &queue.world;
    let late = queue.first(Lane::Fresh).await;
    world.settle(&late, Verdict::Retry { after: PAUSE, retries: 1 }).await;
    let leased = queue.claim(Lane::Fresh, 2).await;
    world.store.set_endpoint_enabled(&queue.endpoint.id, false).await.expect("disabled");
    world.submit("{}").await;
    assert_eq!(world.deliveries_of(&world.form.id).await.len(), 4, "none for new submissions");
    assert_eq!(world.settle(&leased[0], Verdict::Delivered).await, Settled::Kept);
    world.pass(PAUSE);
    for lane in Lane::ALL {
        assert!(queue.claim(lane, 9).await.is_empty(), "{lane:?}");
    }
    assert!(world.due().await.is_empty());
    assert_eq!(count(world, DeliveryState::Pending).await, 2);
    assert_eq!(count(world, DeliveryState::Canceled).await, 0);

    world.store.set_endpoint_enabled(&queue.endpoint.id, true).await.expect("enabled");
    let accepted = queue.world.submit("{}").await;
    queue.accepted.push(accepted);
    let ids = accepted_ids(&queue.accepted);
    assert_eq!(submissions(&queue.claim(Lane::Late, 9).await), [ids[0]]);
    assert_eq!(submissions(&queue.claim(Lane::Leased, 9).await), [ids[2]]);
    assert_eq!(submissions(&queue.claim(Lane::Fresh, 9).await), [ids[3], ids[4]]);
}

/// How many deliveries of the form are in a state.
async fn count(world: &World, state: DeliveryState) -> usize {
    let deliveries = world.deliveries_of(&world.form.id).await;
    deliveries.iter().filter(|delivery| delivery.state == state).count()
}

pub(super) async fn removal_cancels_what_is_unfinished_and_keeps_what_was(factory: Factory) {
    let queue = Queue::new(factory, 6).await;
    let world = &queue.world;
    let other = world.add_endpoint(&world.form.id).await;
    world.submit("{}").await;
    let delivered = queue.settled(Verdict::Delivered).await;
    let failed = queue.settled(Verdict::Failed).await;
    let retrying = queue.settled(Verdict::Retry { after: HOUR, retries: 1 }).await;
    let leased = queue.claim(Lane::Fresh, 2).await;
    let kept = [world.detail(delivered).await, world.detail(failed).await];
    let history = world.detail(retrying).await.history;
    assert_eq!(history.len(), 1);

    world.pass(Duration::from_secs(7));
    let gone = world.store.remove_endpoint(&queue.endpoint.id).await.expect("removed");
    assert_eq!(gone.status, EndpointStatus::Removed);
    let now = (world.clock.clock())().to_timestamp();
    assert_eq!(world.settle(&leased[0], Verdict::Delivered).await, Settled::Lost);
    let retry = Verdict::Retry { after: Duration::ZERO, retries: 1 };
    assert_eq!(world.settle(&leased[1], retry).await, Settled::Lost);
    world.pass(PAUSE);
    for lane in Lane::ALL {
        assert!(queue.claim(lane, 9).await.is_empty(), "{lane:?}");
    }
    assert_eq!([world.detail(delivered).await, world.detail(failed).await], kept);
    for key in [retrying, leased[0].key, leased[1].key] {
        let record = world.detail(key).await.record;
        assert_eq!(record.state, DeliveryState::Canceled);
        assert_eq!((record.next_attempt_at, record.finished_at), (None, Some(now.clone())));
    }
    assert_eq!(world.detail(retrying).await.history, history);
    assert_eq!(count(world, DeliveryState::Canceled).await, 5);
    assert_eq!(count(world, DeliveryState::Pending).await, 1, "the other endpoint's");

    world.submit("{}").await;
    assert_eq!(world.deliveries_of(&world.form.id).await.len(), 9, "it gets nothing more");
    let before = world.deliveries_of(&world.form.id).await;
    let again = world.store.remove_endpoint(&queue.endpoint.id).await.expect("removed");
    assert_eq!(again, gone);
    assert_eq!(world.deliveries_of(&world.form.id).await, before);
    let other = world.number_of(&other).await;
    let wants = vec![Want { endpoint: other, lane: Lane::Fresh, count: 9 }];
    assert_eq!(world.take(wants, usize::MAX).await.deliveries.len(), 2);
}

pub(super) async fn a_removed_endpoint_is_none(factory: Factory) {
    let world = World::new(factory).await;
    let other = world.add_form().await;
    let endpoint = world.add_endpoint(&other.id).await;
    let sealed = async || world.store.sealed_secrets().await.expect("a list");
    let secret = SealedSecret(b"next".to_vec());
    world.store.rotate_secret(&endpoint.id, secret.clone(), HOUR).await.expect("rotated");
    assert_eq!(sealed().await, [(endpoint.id.clone(), secret.clone())]);
    world.store.set_endpoint_enabled(&endpoint.id, false).await.expect("disabled");
    let kept = [(endpoint.id.clone(), secret)];
    assert_eq!(sealed().await, kept, "its secret is still needed");
    world.store.remove_endpoint(&endpoint.id).await.expect("removed");
    assert!(sealed().await.is_empty());
}

pub(super) async fn what_is_removed_or_unknown_is_not_found(factory: Factory) {
    let world = World::new(factory).await;
    let removed = world.add_endpoint(&world.form.id).await.id;
    world.store.remove_endpoint(&removed).await.expect("removed");
    let unknown = EndpointId::new("whe_unknown").expect("a valid id");
    let secret = || SealedSecret(b"next".to_vec());
    for id in [&removed, &unknown] {
        for refused in [
            world.store.set_endpoint_enabled(id, true).await,
            world.store.set_endpoint_enabled(id, false).await,
            world.store.rotate_secret(id, secret(), HOUR).await,
        ] {
            let Err(StoreError::NotFound { what: "endpoint", value }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(value, id.as_str());
        }
    }
    let refused = world.store.remove_endpoint(&unknown).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
}

/// As many as a removal cannot do in one step, while workers claim and settle.
pub(super) async fn a_removal_beside_workers_leaves_each_delivery_one_end(factory: Factory) {
    const DELIVERIES: usize = 1_300;
    let world = World::new(factory).await;
    let endpoint = world.add_endpoint(&world.form.id).await;
    world.submit_together(DELIVERIES).await;
    let number = world.number_of(&endpoint).await;
    let world = Arc::new(world);
    let mut workers = JoinSet::new();
    for n in 0..4 {
        let world = Arc::clone(&world);
        workers.spawn(async move {
            let mut delivered = 0_usize;
            loop {
                let want = |lane| Want { endpoint: number, lane, count: 3 };
                let wants = vec![want(Lane::Late), want(Lane::Fresh)];
                let claimed = world.take(wants, usize::MAX).await.deliveries;
                if claimed.is_empty() {
                    return delivered;
                }
                for (at, claimed) in claimed.iter().enumerate() {
                    let verdict = match (at + n) % 3 {
                        0 => Verdict::Delivered,
                        1 => Verdict::Retry { after: Duration::ZERO, retries: 1 },
                        _ => Verdict::Release,
                    };
                    let settled = world.settle(claimed, verdict).await;
                    if (verdict, settled) == (Verdict::Delivered, Settled::Kept) {
                        delivered += 1;
                    }
                }
            }
        });
    }
    let remove = async || world.store.remove_endpoint(&endpoint.id).await.expect("removed");
    tokio::join!(remove(), remove());
    let want = |lane| Want { endpoint: number, lane, count: 3 };
    let left = world.take(Lane::ALL.map(want).to_vec(), usize::MAX).await;
    assert!(left.deliveries.is_empty(), "nothing is claimed after a removal");
    assert_eq!(world.store.backlog().await.expect("a count").unfinished, 0);
    let delivered: usize = workers.join_all().await.iter().sum();
    assert_eq!(world.store.backlog().await.expect("a count").unfinished, 0);
    assert_eq!(count(&world, DeliveryState::Delivered).await, delivered);
    assert_eq!(count(&world, DeliveryState::Canceled).await, DELIVERIES - delivered);
}

/// What a claim made now is signed with: the secret, and the one before it.
async fn secrets(world: &World, endpoint: EndpointNo) -> (Vec<u8>, Option<Vec<u8>>) {
    world.submit("{}").await;
    let want = Want { endpoint, lane: Lane::Fresh, count: 1 };
    let claims = world.take(vec![want], usize::MAX).await;
    let ClaimedEndpoint { secret, previous_secret, .. } = &*claims.deliveries[0].endpoint;
    (secret.0.clone(), previous_secret.clone().map(|secret| secret.0))
}

pub(super) async fn a_previous_secret_signs_until_its_grace_ends(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let rotate = async |secret: &str, grace| {
        let secret = SealedSecret(secret.into());
        world.store.rotate_secret(&queue.endpoint.id, secret, grace).await.expect("rotated")
    };
    let secrets = async || secrets(world, queue.number).await;
    let both = |new: &str, old: &str| (new.into(), Some(old.into()));
    let listed = async || world.store.endpoints(&world.form.id).await.expect("a list").remove(0);
    assert_eq!(secrets().await, ("first".into(), None));

    let until = (world.clock.clock())().plus(HOUR).to_timestamp();
    let record = rotate("second", HOUR).await;
    assert_eq!(record.previous_secret_until, Some(until));
    assert_eq!(listed().await, record);
    assert_eq!(secrets().await, both("second", "first"));
    world.pass_until_just_before(HOUR);
    assert_eq!(secrets().await, both("second", "first"));
    assert_eq!(listed().await.previous_secret_until, record.previous_secret_until);
    world.pass(MICROSECOND);
    assert_eq!(secrets().await, ("second".into(), None));
    assert_eq!(listed().await.previous_secret_until, None);

    rotate("third", HOUR).await;
    rotate("fourth", 2 * HOUR).await;
    assert_eq!(secrets().await, both("fourth", "third"), "the oldest is forgotten");
    world.pass(HOUR);
    assert_eq!(secrets().await, both("fourth", "third"), "its grace is that of the last rotation");
    rotate("fifth", Duration::ZERO).await;
    assert_eq!(secrets().await, ("fifth".into(), None));
    world.clock.advance(-1_000_000);
    assert_eq!(secrets().await, ("fifth".into(), None), "gone, whatever the clock says");
    world.clock.advance(1_000_000);
    assert_eq!(listed().await.previous_secret_until, None);
    rotate("sixth", HOUR).await;
    let disabled = world.store.set_endpoint_enabled(&queue.endpoint.id, false).await;
    assert!(
        disabled.expect("disabled").previous_secret_until.is_some(),
        "a change changes no secret"
    );
}

/// A claim is signed as its endpoint is when it is claimed, again when it is claimed again.
pub(super) async fn a_later_claim_has_the_secrets_of_then(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let first = queue.first(Lane::Fresh).await;
    let secret = SealedSecret(b"second".to_vec());
    world.store.rotate_secret(&queue.endpoint.id, secret, HOUR).await.expect("rotated");
    assert_eq!(first.endpoint.secret.0, b"first");
    world.pass(LEASE);
    let again = queue.first(Lane::Leased).await;
    assert_eq!(again.endpoint.secret.0, b"second");
    let previous = again.endpoint.previous_secret.as_ref().expect("in its grace");
    assert_eq!(previous.0, b"first");
}

pub(super) async fn an_endpoint_tells_the_secrets_it_signs_with_until_it_is_removed(
    factory: Factory,
) {
    let world = World::new(factory).await;
    let new = new_endpoint(&world.form.id);
    let record = world.store.add_endpoint(new.clone()).await.expect("added");
    let signing = async || world.store.signing_endpoint(&record.id).await.expect("a look-up");
    let found = signing().await.expect("an endpoint");
    assert_eq!((&found.id, &found.form, &found.url), (&new.id, &new.form, &new.url));
    assert_eq!((&found.secret, &found.previous_secret), (&new.secret, &None));
    let second = SealedSecret(b"second".to_vec());
    world.store.rotate_secret(&record.id, second.clone(), HOUR).await.expect("rotated");
    let found = signing().await.expect("an endpoint");
    assert_eq!((&found.secret, &found.previous_secret), (&second, &Some(new.secret)));
    world.store.set_endpoint_enabled(&record.id, false).await.expect("disabled");
    assert!(signing().await.is_some(), "a disabled one can be tried");
    world.clock.advance(3_600_000_000);
    assert_eq!(signing().await.expect("an endpoint").previous_secret, None);
    world.store.remove_endpoint(&record.id).await.expect("removed");
    assert!(signing().await.is_none());
    let unknown = EndpointId::new("whe_unknown").expect("a valid id");
    assert!(world.store.signing_endpoint(&unknown).await.expect("a look-up").is_none());
}

/// Where the store can tell at once.
pub(super) async fn a_look_at_an_endpoint_finds_what_a_claim_would(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let (store, id) = (&queue.world.store, &queue.endpoint.id);
    let Some(endpoints) = store.endpoints_at_once() else { return };
    let look = || endpoints.endpoint(queue.number).expect("a look");
    let claimed = async || Some(Arc::clone(&queue.claim(Lane::Fresh, 1).await[0].endpoint));
    let mut changes = endpoints.changes();
    // Told by whoever made the change, as soon as it is answered.
    let mut has_changed = || {
        let before = std::mem::replace(&mut changes, endpoints.changes());
        before != changes
    };
    let first = claimed().await;
    assert_eq!(look(), first);
    assert!(!has_changed());
    store.rotate_secret(id, SealedSecret(b"second".to_vec()), HOUR).await.expect("rotated");
    assert!(has_changed());
    let both = claimed().await;
    assert_ne!(both, first);
    assert_eq!(look(), both);
    queue.world.pass(HOUR);
    let second = claimed().await;
    assert_ne!(second, both);
    assert_eq!(look(), second);
    assert!(!has_changed());
    store.set_endpoint_enabled(id, false).await.expect("disabled");
    assert!(has_changed());
    assert_eq!(look(), None);
    store.set_endpoint_enabled(id, true).await.expect("enabled");
    assert!(has_changed());
    assert_eq!(look(), second);
    store.remove_endpoint(id).await.expect("removed");
    assert!(has_changed());
    assert_eq!(look(), None);
    assert_eq!(endpoints.endpoint(EndpointNo(999)).expect("a look"), None);
}
