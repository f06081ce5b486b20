//! Who may sign in: passwords and sessions.

use std::time::Duration;

use formsvc_protocol::UserId;

use super::worker::MICROSECOND;
use super::world::{Factory, World, add_user};
use crate::store::{
    NewLink, NewSession, PasswordHash, SessionRecord, Store, StoreError, TokenHash,
};

pub(super) const HOUR: Duration = Duration::from_secs(3_600);

pub(super) fn token(number: u16) -> TokenHash {
    let mut hash = [7; 32];
    hash[30..].copy_from_slice(&number.to_be_bytes());
    TokenHash(hash)
}

pub(super) fn password(text: &str) -> PasswordHash {
    PasswordHash::new(format!("$argon2id$v=19$m=8,t=1,p=1${text}"))
}

/// A session of a user without a password.
fn session(user: &UserId, number: u16) -> NewSession {
    NewSession { token: token(number), user: user.clone(), password: None, lifetime: HOUR }
}

async fn judged_by(store: &dyn Store, user: &UserId) -> Option<PasswordHash> {
    let user = store.user(user).await.expect("a lookup").expect("the user is there");
    store.credentials(&user.email).await.expect("a lookup").expect("the user is there").password
}

pub(super) async fn begin(store: &dyn Store, user: &UserId, number: u16) -> SessionRecord {
    let session = NewSession { password: judged_by(store, user).await, ..session(user, number) };
    store.add_session(session).await.expect("a session is begun")
}

pub(super) async fn is_on(store: &dyn Store, number: u16) -> bool {
    store.session(&token(number)).await.expect("a lookup").is_some()
}

pub(super) async fn credentials_are_found_whatever_the_case_of_the_email(factory: Factory) {
    let world = World::new(factory).await;
    let user = add_user(&*world.store, "Zoë@Example.org").await;
    world.store.set_password(&user.id, password("a")).await.expect("set");
    for email in ["Zoë@Example.org", "zoë@example.ORG", "ZOË@EXAMPLE.ORG"] {
        let found = world.store.credentials(email).await.expect("a lookup").expect("found");
        assert_eq!((found.user, found.password), (user.clone(), Some(password("a"))));
    }
    for email in ["zoe@example.org", "zoë@example.org ", "zoë\0@example.org", ""] {
        assert!(world.store.credentials(email).await.expect("a lookup").is_none(), "{email}");
    }
    assert_eq!(world.store.user(&user.id).await.expect("a lookup"), Some(user));
}

pub(super) async fn nobody_can_sign_in_until_a_password_is_set(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    assert!(!world.store.can_sign_in().await.expect("a lookup"));
    let found = world.store.credentials(&world.user.email).await.expect("a lookup");
    assert_eq!(found.expect("the user is there").password, None);
    world.store.set_password(&other.id, password("a")).await.expect("set");
    assert!(world.store.can_sign_in().await.expect("a lookup"));
    let found = world.store.credentials(&world.user.email).await.expect("a lookup");
    assert_eq!(found.expect("the user is there").password, None, "each has their own");
    world.store.set_password(&other.id, password("b")).await.expect("set");
    let found = world.store.credentials(&other.email).await.expect("a lookup");
    assert_eq!(found.expect("the user is there").password, Some(password("b")));
}

pub(super) async fn a_new_password_ends_the_sessions_and_links_of_its_user(factory: Factory) {
    let world = World::new(factory).await;
    let store = &*world.store;
    let other = add_user(store, "other@example.org").await;
    for (number, user) in [(1, &world.user), (2, &other), (3, &world.user)] {
        begin(store, &user.id, number).await;
    }
    for (number, user) in [(1, Some(&world.user)), (2, Some(&other)), (3, None)] {
        let user = user.map(|user| user.id.clone());
        let link = NewLink { token: token(number), user, lifetime: HOUR };
        store.add_link(link).await.expect("made");
    }
    store.set_password(&world.user.id, password("a")).await.expect("set");
    let sessions = [is_on(store, 1).await, is_on(store, 2).await, is_on(store, 3).await];
    assert_eq!(sessions, [false, true, false]);
    assert!(store.link(&token(1)).await.expect("a lookup").is_none());
    assert!(store.link(&token(2)).await.expect("a lookup").is_some());
    // One of the new password is as good as any.
    begin(store, &world.user.id, 4).await;
    assert!(is_on(store, 4).await);
}

pub(super) async fn a_session_lasts_its_lifetime_and_no_longer(factory: Factory) {
    let world = World::new(factory).await;
    let begun = begin(&*world.store, &world.user.id, 1).await;
    assert_eq!((&begun.user, begun.created_at), (&world.user, (world.clock.clock())()));
    assert_eq!(begun.expires_at, begun.created_at.plus(HOUR));
    world.pass_until_just_before(HOUR);
    let found = world.store.session(&token(1)).await.expect("a lookup");
    assert_eq!(found, Some(begun));
    assert!(!is_on(&*world.store, 2).await, "nobody has this token");
    world.pass(MICROSECOND);
    assert!(!is_on(&*world.store, 1).await);
    let lifetime = Duration::MAX;
    let session = NewSession { lifetime, ..session(&world.user.id, 3) };
    world.store.add_session(session).await.expect("begun");
    world.pass(HOUR);
    assert!(is_on(&*world.store, 3).await, "for ever is not an overflow");
}

pub(super) async fn a_password_changed_since_it_was_judged_begins_no_session(factory: Factory) {
    let world = World::new(factory).await;
    let (store, user) = (&*world.store, &world.user.id);
    store.set_password(user, password("old")).await.expect("set");
    let old = NewSession { password: Some(password("old")), ..session(user, 1) };
    store.add_session(old.clone()).await.expect("begun");
    store.set_password(user, password("new")).await.expect("set");
    for late in [NewSession { token: token(2), ..old }, session(user, 2)] {
        let refused = store.add_session(late).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
        assert!(!is_on(store, 1).await && !is_on(store, 2).await);
    }
    begin(store, user, 3).await;
}

pub(super) async fn an_ended_session_is_none_and_others_go_on(factory: Factory) {
    let world = World::new(factory).await;
    let store = &*world.store;
    let other = add_user(store, "other@example.org").await;
    for number in 1..=4 {
        begin(store, &world.user.id, number).await;
    }
    begin(store, &other.id, 5).await;
    for _ in 0..2 {
        store.end_session(&token(1)).await.expect("ended");
    }
    store.end_session(&token(9)).await.expect("nothing to end");
    assert!(!is_on(store, 1).await);
    assert_eq!(store.end_sessions(&world.user.id, Some(token(3))).await.expect("ended"), 2);
    let on = [is_on(store, 2).await, is_on(store, 3).await, is_on(store, 4).await];
    assert_eq!(on, [false, true, false]);
    // Another's session is not one of theirs to keep.
    assert_eq!(store.end_sessions(&world.user.id, Some(token(5))).await.expect("ended"), 1);
    assert_eq!(store.end_sessions(&world.user.id, None).await.expect("ended"), 0);
    assert!(is_on(store, 5).await);
    assert_eq!(store.end_sessions(&other.id, None).await.expect("ended"), 1);
    assert!(!is_on(store, 5).await);
}

pub(super) async fn forgetting_takes_what_has_expired_only(factory: Factory) {
    let world = World::new(factory).await;
    let store = &*world.store;
    assert!(!store.forget_expired().await.expect("nothing to forget"));
    for number in 0..1_100 {
        begin(store, &world.user.id, number).await;
    }
    world.pass(MICROSECOND);
    begin(store, &world.user.id, 2_000).await;
    let link = NewLink { token: token(1), user: None, lifetime: HOUR };
    store.add_link(link).await.expect("made");
    world.pass_until_just_before(HOUR);
    let mut calls = 1;
    while store.forget_expired().await.expect("forgotten") {
        calls += 1;
    }
    assert!((2..20).contains(&calls), "in steps: {calls}");
    assert!(is_on(store, 2_000).await);
    assert!(store.link(&token(1)).await.expect("a lookup").is_some());
    // A clock that goes back finds nothing of what was forgotten.
    world.clock.advance(-1_000_000);
    assert!(!is_on(store, 1).await);
    assert_eq!(store.end_sessions(&world.user.id, None).await.expect("ended"), 1);
}

pub(super) async fn nobody_has_no_account(factory: Factory) {
    let World { store, .. } = &World::new(factory).await;
    let user = UserId::new("usr_unknown").expect("a valid id");
    let session = session(&user, 1);
    let link = NewLink { token: token(1), user: Some(user.clone()), lifetime: HOUR };
    let outcomes = [
        store.set_password(&user, password("a")).await.err(),
        store.add_session(session).await.err(),
        store.end_sessions(&user, None).await.err(),
        store.add_link(link).await.err(),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Some(StoreError::NotFound { what: "user", .. })), "{outcome:?}");
    }
    assert_eq!(store.user(&user).await.expect("a lookup"), None);
    assert!(!is_on(&**store, 1).await);
}
