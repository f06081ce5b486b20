//! Keys, scopes and limits.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use formsvc_receiver::inbox::{InboxErrorKind, KEY_MAX, LEASE_MAX, LEASE_MIN};

use super::test_store::{LEASE, TestStore, acquire, is_duplicate};

pub(crate) async fn scopes_are_independent(store: TestStore) {
    store.handle("sub_1").await;
    let token = acquire(&*store.other_scope, "sub_1").await;
    assert_eq!(token.scope(), "other");
    store.other_scope.release(&token).await.unwrap();
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
    acquire(&*store.other_scope, "sub_1").await;
}

pub(crate) async fn any_text_is_a_key(store: TestStore) {
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
        let token = store.acquire(key).await;
        assert_eq!(token.key(), key);
        store.inbox.complete(&token).await.unwrap();
    }
    for key in keys {
        assert!(is_duplicate(&*store.second, key).await, "{key:?}");
    }
}

pub(crate) async fn long_keys_are_apart_and_empty_is_refused(store: TestStore) {
    let error = store.inbox.claim("", LEASE).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidKey);
    let start = "k".repeat(KEY_MAX);
    let mut keys = vec![start.clone(), format!("{start}1"), format!("{start}2")];
    keys.push("é".repeat(1 << 20));
    // Every key that a store derives from another is a key by itself.
    let derived = store.acquire(&keys[1]).await;
    store.inbox.release(&derived).await.unwrap();
    assert!(derived.key().len() < 2 * KEY_MAX);
    keys.push(derived.key().to_owned());
    for key in &keys {
        let token = store.acquire(key).await;
        store.inbox.extend(&token, LEASE).await.unwrap();
        store.inbox.complete(&token).await.unwrap();
    }
    for key in &keys {
        assert!(is_duplicate(&*store.second, key).await, "{}", key.len());
    }
}

pub(crate) async fn lease_length_is_limited(store: TestStore) {
    let too_long = LEASE_MAX + Duration::from_millis(1);
    for lease in [Duration::ZERO, LEASE_MIN / 2, too_long, Duration::MAX] {
        let error = store.inbox.claim("sub_1", lease).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::InvalidLease, "{lease:?}");
    }
    let token = store.acquire("sub_1").await;
    let error = store.inbox.extend(&token, Duration::MAX).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidLease);
    store.inbox.extend(&token, LEASE_MAX).await.unwrap();
}

pub(crate) async fn error_contains_no_key(store: TestStore) {
    let mut errors = vec![store.inbox.claim("a_secret_key", Duration::ZERO).await.unwrap_err()];
    let token = store.acquire("a_secret_key").await;
    store.inbox.complete(&token).await.unwrap();
    errors.push(store.inbox.release(&token).await.unwrap_err());
    for error in errors {
        let mut text = format!("{error:?} {error}");
        if let Some(source) = error.source() {
            write!(text, " {source:?} {source}").unwrap();
        }
        assert!(!text.contains("a_secret_key"), "{text}");
    }
}
