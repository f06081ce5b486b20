//! Users and keys.

use formsvc_protocol::{KeyId, UserId};

use super::world::{Factory, World, add_user};
use crate::admin::new_id;
use crate::store::{KeyHash, NewKey, StoreError, UserRecord};

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
        let found = world.store.authenticate(&key.hash).await.expect("a lookup").expect("found");
        assert_eq!((found.key, found.user, found.revoked), (key.id, user.clone(), false));
        assert!(found.hash == key.hash);
    }
    assert!(world.store.authenticate(&KeyHash([3; 32])).await.expect("a lookup").is_none());
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
    let found =
        async |hash| world.store.authenticate(hash).await.expect("a lookup").expect("found");
    assert!(found(&key.hash).await.revoked);
    assert!(!found(&kept.hash).await.revoked);
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
