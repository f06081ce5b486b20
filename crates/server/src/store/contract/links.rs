//! Links that set a password, once.

use std::sync::Arc;

use formsvc_protocol::UserId;
use tokio::task::JoinSet;

use super::accounts::{HOUR, begin, is_on, password, token};
use super::worker::MICROSECOND;
use super::world::{Factory, World, add_user};
use crate::admin::new_id;
use crate::store::{LinkRecord, NewLink, Redemption, StoreError, TokenHash, UserRecord};

impl World {
    async fn make_link(&self, number: u16, user: Option<&UserId>) -> LinkRecord {
        let link = NewLink { token: token(number), user: user.cloned(), lifetime: HOUR };
        self.store.add_link(link).await.expect("a link is made")
    }

    async fn has_link(&self, token: &TokenHash) -> bool {
        self.store.link(token).await.expect("a lookup").is_some()
    }
}

fn with(text: &str) -> Redemption {
    Redemption { password: password(text), new_user: None }
}

fn by(email: &str) -> Redemption {
    let id = UserId::from_bits(new_id());
    let new_user = Some(UserRecord { id, email: email.into(), name: "Zoë".into() });
    Redemption { password: password("first"), new_user }
}

fn is_not_found<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::NotFound { what: "link", .. }))
}

pub(super) async fn a_link_sets_a_password_once(factory: Factory) {
    let world = World::new(factory).await;
    let (store, user) = (&*world.store, &world.user);
    begin(store, &user.id, 1).await;
    let made = world.make_link(1, Some(&user.id)).await;
    let expected =
        LinkRecord { user: Some(user.clone()), expires_at: (world.clock.clock())().plus(HOUR) };
    assert_eq!(made, expected);
    assert_eq!(store.link(&token(1)).await.expect("a lookup"), Some(made));
    assert_eq!(store.redeem_link(token(1), with("a")).await.expect("redeemed"), *user);
    let found = store.credentials(&user.email).await.expect("a lookup").expect("found");
    assert_eq!(found.password, Some(password("a")));
    assert!(!is_on(store, 1).await, "who was signed in is not any more");
    assert!(!world.has_link(&token(1)).await);
    for number in [1, 2] {
        let again = store.redeem_link(token(number), with("b")).await;
        assert!(is_not_found(&again), "{again:?}");
    }
    let found = store.credentials(&user.email).await.expect("a lookup").expect("found");
    assert_eq!(found.password, Some(password("a")));
}

pub(super) async fn a_link_works_until_it_expires(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    world.make_link(1, Some(&world.user.id)).await;
    world.make_link(2, Some(&other.id)).await;
    world.make_link(3, None).await;
    world.pass_until_just_before(HOUR);
    assert!(world.has_link(&token(3)).await);
    world.store.redeem_link(token(1), with("a")).await.expect("redeemed in time");
    world.pass(MICROSECOND);
    assert!(!world.has_link(&token(2)).await && !world.has_link(&token(3)).await);
    let late = world.store.redeem_link(token(2), with("b")).await;
    assert!(is_not_found(&late), "{late:?}");
    let found = world.store.credentials(&other.email).await.expect("a lookup").expect("found");
    assert_eq!(found.password, None);
}

pub(super) async fn a_later_link_replaces_that_of_the_same_user(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    for (number, user) in [(1, Some(&world.user)), (2, Some(&other)), (3, None)] {
        world.make_link(number, user.map(|user| &user.id)).await;
    }
    world.make_link(4, Some(&world.user.id)).await;
    world.make_link(5, None).await;
    for (number, works) in [(1, false), (2, true), (3, false), (4, true), (5, true)] {
        assert_eq!(world.has_link(&token(number)).await, works, "{number}");
    }
    let old = world.store.redeem_link(token(1), with("a")).await;
    assert!(is_not_found(&old), "{old:?}");
    world.store.redeem_link(token(4), with("b")).await.expect("redeemed");
}

pub(super) async fn of_redeemers_at_once_one_wins(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    for round in 0..5 {
        let token = token(round);
        world.make_link(round, Some(&world.user.id)).await;
        let mut tasks = JoinSet::new();
        for n in 0..8 {
            let world = Arc::clone(&world);
            tasks.spawn(async move {
                let text = format!("{n}");
                (text.clone(), world.store.redeem_link(token, with(&text)).await)
            });
        }
        let (won, lost): (Vec<_>, Vec<_>) =
            tasks.join_all().await.into_iter().partition(|(_, outcome)| outcome.is_ok());
        assert_eq!(won.len(), 1, "{won:?}");
        assert!(lost.iter().all(|(_, outcome)| is_not_found(outcome)), "{lost:?}");
        let found = world.store.credentials(&world.user.email).await.expect("a lookup");
        assert_eq!(found.expect("found").password, Some(password(&won[0].0)), "and it is theirs");
    }
}

pub(super) async fn of_first_owners_at_once_one_is_made(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    // Of links made at once, too, the last one works.
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let world = Arc::clone(&world);
        tasks.spawn(async move { world.make_link(number, None).await });
    }
    tasks.join_all().await;
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            world.store.redeem_link(token(n % 8), by(&format!("{n}@example.org"))).await
        });
    }
    let (won, lost): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1, "{won:?}");
    assert!(lost.iter().all(is_not_found), "{lost:?}");
    assert_eq!(world.store.users().await.expect("a list").len(), 2, "with the world's own");
}

pub(super) async fn an_owner_link_makes_the_first_who_can_sign_in(factory: Factory) {
    let world = World::new(factory).await;
    let store = &*world.store;
    assert_eq!(world.make_link(1, None).await.user, None);
    assert_eq!(store.link(&token(1)).await.expect("a lookup").expect("found").user, None);
    let owner = store.redeem_link(token(1), by("Zoë@example.org")).await.expect("redeemed");
    assert_eq!((&owner.email[..], &owner.name[..]), ("Zoë@example.org", "Zoë"));
    let found = store.credentials("zoë@example.org").await.expect("a lookup").expect("found");
    assert_eq!((found.user, found.password), (owner, Some(password("first"))));
    // Whatever link is made now, another owner is not.
    world.make_link(2, None).await;
    assert!(!world.has_link(&token(2)).await);
    for number in [1, 2] {
        let second = store.redeem_link(token(number), by("second@example.org")).await;
        assert!(is_not_found(&second), "{second:?}");
    }
    assert!(store.credentials("second@example.org").await.expect("a lookup").is_none());
}

pub(super) async fn an_owner_link_ends_once_somebody_can_sign_in(factory: Factory) {
    let world = World::new(factory).await;
    world.make_link(1, None).await;
    world.store.set_password(&world.user.id, password("a")).await.expect("set");
    assert!(!world.has_link(&token(1)).await);
    let late = world.store.redeem_link(token(1), by("late@example.org")).await;
    assert!(is_not_found(&late), "{late:?}");
    assert_eq!(world.store.users().await.expect("a list"), [world.user]);
}

pub(super) async fn a_refused_redemption_leaves_everything_as_it_was(factory: Factory) {
    let world = World::new(factory).await;
    let (store, user) = (&*world.store, &world.user);
    begin(store, &user.id, 1).await;
    world.make_link(1, Some(&user.id)).await;
    world.make_link(2, None).await;
    let taken = store.redeem_link(token(2), by("OWNER@example.org")).await;
    assert!(matches!(taken, Err(StoreError::Exists { what: "e-mail address", .. })), "{taken:?}");
    for (number, redemption) in [(1, by("new@example.org")), (2, with("a"))] {
        let refused = store.redeem_link(token(number), redemption).await;
        assert!(matches!(refused, Err(StoreError::Invalid { what: "link", .. })), "{refused:?}");
    }
    assert_eq!(store.users().await.expect("a list"), std::slice::from_ref(user));
    assert!(!store.can_sign_in().await.expect("a lookup"));
    assert!(is_on(store, 1).await);
    store.redeem_link(token(2), by("new@example.org")).await.expect("it can still be used");
    store.redeem_link(token(1), with("a")).await.expect("and so can this");
}
