//! What is a key, and what two keys are one.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use formsvc_receiver::inbox::{InboxErrorKind, KEY_MAX, LEASE_MAX, LEASE_MIN};

use super::world::{LEASE, World, acquire, is_duplicate};

pub(crate) async fn scopes_do_not_hide_a_key_from_each_other(world: World) {
    world.handle("sub_1").await;
    let token = acquire(&*world.other_scope, "sub_1").await;
    assert_ne!(token.scope(), world.acquire("sub_2").await.scope());
    world.other_scope.release(&token).await.unwrap();
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
    acquire(&*world.other_scope, "sub_1").await;
    acquire(&*world.other_scope, "sub_2").await;
}

pub(crate) async fn any_text_is_a_key(world: World) {
    let longest = "é".repeat(KEY_MAX / 2);
    let keys = [
        "a",
        "A",
        " a",
        "a ",
        "\0",
        "a\0",
        "a\0b",
        "\r\n",
        "🦀",
        "é",
        "e\u{301}",
        "%",
        "_",
        "\\",
        "'",
        "'); DROP TABLE formsvc_inbox_marks; --",
        "$1",
        "?1",
        "NULL",
        "\u{202e}a",
        "0",
        "00",
        &longest,
    ];
    for key in keys {
        let token = world.acquire(key).await;
        assert_eq!(token.key(), key);
        world.inbox.complete(&token).await.unwrap();
    }
    for key in keys {
        assert!(is_duplicate(&*world.elsewhere, key).await, "{key:?}");
    }
}

pub(crate) async fn a_key_has_bounds(world: World) {
    for key in [String::new(), "k".repeat(KEY_MAX + 1), "k".repeat(1 << 20)] {
        let error = world.inbox.claim(&key, LEASE).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Key);
        assert_eq!(error.status(), 400);
    }
    world.acquire(&"k".repeat(KEY_MAX)).await;
}

pub(crate) async fn a_lease_has_bounds(world: World) {
    let long = LEASE_MAX + Duration::from_millis(1);
    for lease in [Duration::ZERO, LEASE_MIN / 2, long, Duration::MAX] {
        let error = world.inbox.claim("sub_1", lease).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Lease, "{lease:?}");
    }
    let token = world.acquire("sub_1").await;
    let error = world.inbox.extend(&token, Duration::MAX).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Lease);
    world.inbox.extend(&token, LEASE_MAX).await.unwrap();
}

pub(crate) async fn an_error_shows_no_key(world: World) {
    let key = "a_secret_key".repeat(40);
    let mut errors = vec![world.inbox.claim(&key, LEASE).await.unwrap_err()];
    let token = world.acquire("a_secret_key").await;
    world.inbox.complete(&token).await.unwrap();
    errors.push(world.inbox.release(&token).await.unwrap_err());
    for error in errors {
        let mut shown = format!("{error:?} {error}");
        let mut cause = error.source();
        while let Some(source) = cause {
            write!(shown, " {source:?} {source}").unwrap();
            cause = source.source();
        }
        assert!(!shown.contains("a_secret_key"), "{shown}");
    }
}
