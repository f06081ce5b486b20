//! Users and keys.

use formsvc_protocol::{FormInstant, KeyId, UserId};

use super::world::{Factory, NOW, World, add_user};
use crate::admin::new_id;
use crate::rate_limit::RateLimit;
use crate::store::{Authenticated, KeyHash, NewKey, PageRequest, StoreError, UserRecord};

fn new_key(user: &UserId, hash: u8) -> NewKey {
    NewKey {
        id: KeyId::from_bits(new_id()),
        user: user.clone(),
        name: "laptop".into(),
        prefix: "fsk_abc".into(),
        hash: KeyHash([hash; 32]),
    }
}

pub(super) async fn a_key_is_found_by_its_hash_with_its_owner(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    for (user, hash) in [(&world.user, 1), (&other, 2)] {
        let key = new_key(&user.id, hash);
        let record = world.store.add_key(key.clone()).await.expect("added");
        assert_eq!((&record.id, &record.user, &record.revoked_at), (&key.id, &user.id, &None));
        assert_eq!((record.name, record.prefix), (key.name, key.prefix));
        let found = world
            .store
            .authenticate(&key.hash, RateLimit::Off)
            .await
            .expect("a lookup")
            .expect("found");
        assert_eq!((found.key, found.user, found.revoked), (key.id, user.clone(), false));
        assert!(found.hash == key.hash);
    }
    assert!(
        world
            .store
            .authenticate(&KeyHash([3; 32]), RateLimit::Off)
            .await
            .expect("a lookup")
            .is_none()
    );
}

pub(super) async fn a_revoked_key_is_found_as_revoked_since_the_first_time(factory: Factory) {
    let world = World::new(factory).await;
    let (key, kept) = (new_key(&world.user.id, 1), new_key(&world.user.id, 2));
    world.store.add_key(key.clone()).await.expect("added");
    world.store.add_key(kept.clone()).await.expect("added");
    world.clock.advance(1_000);
    let first = world.store.revoke_key(&key.id).await.expect("revoked");
    world.clock.advance(1_000);
    let again = world.store.revoke_key(&key.id).await.expect("revoked");
    assert!(first.revoked_at > Some(first.created_at.clone()));
    assert_eq!(again, first);
    let found = async |hash| {
        world.store.authenticate(hash, RateLimit::Off).await.expect("a lookup").expect("found")
    };
    assert!(found(&key.hash).await.revoked);
    assert!(!found(&kept.hash).await.revoked);
}

pub(super) async fn a_page_for_a_key_is_the_one_that_is_judged_to_be_asked_for(factory: Factory) {
    let world = World::new(factory).await;
    let (key, revoked) = (new_key(&world.user.id, 1), new_key(&world.user.id, 2));
    for key in [&key, &revoked] {
        world.store.add_key(key.clone()).await.expect("added");
    }
    world.store.revoke_key(&revoked.id).await.expect("revoked");
    world.submit_together(3).await;
    let large = format!("{{\"long\":\"{}\"}}", "x".repeat(9_000));
    world.submit(&large).await;
    let other = add_user(&*world.store, "other@example.org").await;
    // Who is told to have been found, and what comes of it for pages of whom.
    for (hash, found, user, is_read) in [
        (key.hash, Some(false), Some(&world.user.id), true),
        (key.hash, Some(false), Some(&other.id), false),
        (key.hash, Some(false), None, false),
        (revoked.hash, Some(true), None, false),
        (KeyHash([3; 32]), None, None, false),
    ] {
        for limit in [2, 100] {
            let mut told = None;
            let judge = |judged: Option<Authenticated>| {
                told = Some(judged.map(|judged| judged.revoked));
                let form = world.form.id.clone();
                user.map(|user| PageRequest { user: user.clone(), form, before: None, limit })
            };
            let page = world.store.page_for_key(&hash, RateLimit::Off, Box::new(judge)).await;
            let page = page.expect("a page is read");
            assert_eq!((told, page.is_some()), (Some(found), is_read));
            if let Some(page) = page {
                assert_eq!(page.items, world.page(None, limit).await.items);
                assert_eq!((page.len, page.has_more), (limit.min(4) as usize, limit == 2));
            }
        }
    }
}

pub(super) async fn keys_are_listed_newest_first(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let mut made = Vec::new();
    for hash in 0..5 {
        if hash != 2 {
            world.clock.advance(1_000);
        }
        made.push(world.store.add_key(new_key(&world.user.id, hash)).await.expect("added"));
    }
    made[1] = world.store.revoke_key(&made[1].id).await.expect("revoked");
    made.reverse();
    assert_eq!(world.store.keys(&world.user.id).await.expect("a list"), made);
    assert!(world.store.keys(&other.id).await.expect("a list").is_empty());
}

pub(super) async fn an_email_address_is_unique_whatever_its_case(factory: Factory) {
    let world = World::new(factory).await;
    let user = add_user(&*world.store, "Zoë@Example.org").await;
    for email in ["zoë@example.org", "ZOË@EXAMPLE.ORG"] {
        let found = world.store.user_by_email(email).await.expect("a lookup");
        assert_eq!(found.as_ref(), Some(&user), "shown as it was given");
        let again =
            UserRecord { id: UserId::from_bits(new_id()), email: email.into(), name: "Z".into() };
        let refused = world.store.add_user(again).await;
        assert!(
            matches!(refused, Err(StoreError::Exists { what: "e-mail address", .. })),
            "{refused:?}"
        );
    }
}

pub(super) async fn a_key_or_its_id_is_added_once(factory: Factory) {
    let world = World::new(factory).await;
    let key = new_key(&world.user.id, 1);
    world.store.add_key(key.clone()).await.expect("added");
    let same_id = NewKey { hash: KeyHash([2; 32]), ..key.clone() };
    let same_hash = new_key(&world.user.id, 1);
    for key in [same_id, same_hash] {
        let refused = world.store.add_key(key).await;
        assert!(matches!(refused, Err(StoreError::Exists { what: "key", .. })), "{refused:?}");
    }
    let nobody = UserId::new("usr_unknown").expect("a valid id");
    let refused = world.store.add_key(new_key(&nobody, 9)).await;
    assert!(matches!(refused, Err(StoreError::NotFound { what: "user", .. })), "{refused:?}");
    assert_eq!(world.store.keys(&world.user.id).await.expect("a list").len(), 1);
}

pub(super) async fn a_key_is_found_by_its_id_with_its_owner(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    for (user, hash) in [(&world.user, 1), (&other, 2)] {
        let added = world.store.add_key(new_key(&user.id, hash)).await.expect("added");
        let found = world.store.key(&added.id).await.expect("a lookup");
        assert_eq!(found.as_ref().map(|found| &found.user), Some(&user.id));
        assert_eq!(found, Some(added));
    }
    let unknown = KeyId::new("key_unknown").expect("a valid id");
    assert_eq!(world.store.key(&unknown).await.expect("a lookup"), None);
}

pub(super) async fn the_last_use_of_a_key_only_moves_forward(factory: Factory) {
    let world = World::new(factory).await;
    let mut keys = Vec::new();
    for hash in 1..=3 {
        let added = world.store.add_key(new_key(&world.user.id, hash)).await.expect("added");
        assert_eq!(added.last_used_at, None);
        keys.push(added.id);
    }
    let at = |seconds: i64| FormInstant::from_micros(NOW + seconds * 1_000_000);
    let used = async |number: usize| {
        let found = world.store.key(&keys[number]).await.expect("a lookup").expect("found");
        found.last_used_at
    };
    let unknown = KeyId::new("key_unknown").expect("a valid id");
    let both = vec![(keys[0].clone(), at(10)), (unknown, at(10)), (keys[1].clone(), at(20))];
    world.store.note_key_uses(both).await.expect("noted");
    world.store.note_key_uses(Vec::new()).await.expect("nothing to note");
    assert_eq!(used(0).await, Some(at(10).to_timestamp()));
    assert_eq!(used(1).await, Some(at(20).to_timestamp()));
    assert_eq!(used(2).await, None);
    let twice = vec![(keys[0].clone(), at(40)), (keys[0].clone(), at(30))];
    world.store.note_key_uses(twice).await.expect("noted");
    world.store.note_key_uses(vec![(keys[0].clone(), at(5))]).await.expect("noted");
    assert_eq!(used(0).await, Some(at(40).to_timestamp()));
    // What is revoked still shows when it was used.
    let revoked = world.store.revoke_key(&keys[0]).await.expect("revoked");
    assert_eq!(revoked.last_used_at, Some(at(40).to_timestamp()));
    let listed = world.store.keys(&world.user.id).await.expect("a list");
    assert!(listed.contains(&revoked));
}

pub(super) async fn users_are_listed_oldest_first(factory: Factory) {
    let world = World::new(factory).await;
    let mut made = vec![world.user.clone()];
    // Neither their names nor their addresses nor their ids are in this order.
    for email in ["z@example.org", "a@example.org", "m@example.org"] {
        world.clock.advance(-1_000);
        made.push(add_user(&*world.store, email).await);
    }
    assert_eq!(world.store.users().await.expect("a list"), made);
}
