//! The inbox in memory.

use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::inbox::{
    Claim, Eviction, Inbox, InboxErrorKind, MemoryInbox, MemoryInboxBuilder, TTL_MIN,
};

use super::contract::{ManualClock, TestStore, inbox_contract};

const TTL: Duration = Duration::from_secs(86_400);
const LEASE: Duration = Duration::from_secs(30);
const MILLISECOND: Duration = Duration::from_millis(1);

#[expect(clippy::unused_async, reason = "the contract expects an async function")]
async fn empty_store() -> Option<TestStore> {
    let (inbox, clock) = inbox(|builder| builder);
    Some(TestStore {
        second: Arc::new(inbox.clone()),
        other_scope: Arc::new(inbox.scope("other").unwrap()),
        inbox: Arc::new(inbox),
        queues: None,
        advance: Box::new(move |time| {
            clock.advance(time);
            Box::pin(std::future::ready(()))
        }),
        _directory: None,
    })
}

inbox_contract!(empty_store);

fn inbox(set: impl FnOnce(MemoryInboxBuilder) -> MemoryInboxBuilder) -> (MemoryInbox, ManualClock) {
    let clock = ManualClock::default();
    let now = clock.clone();
    let builder = MemoryInbox::builder().ttl(TTL).clock(move || now.now());
    (set(builder).build().unwrap(), clock)
}

async fn claim(inbox: &MemoryInbox, key: &str) -> Result<Claim, InboxErrorKind> {
    inbox.claim(key, LEASE).await.map_err(|error| error.kind())
}

async fn handle(inbox: &MemoryInbox, key: &str) {
    let Ok(Claim::Acquired(token)) = claim(inbox, key).await else { panic!("{key} is not free") };
    inbox.complete(&token).await.unwrap();
}

#[tokio::test]
async fn full_inbox_without_eviction_refuses_new_key() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2).eviction(Eviction::Never));
    handle(&inbox, "a").await;
    handle(&inbox, "b").await;
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    assert_eq!(claim(&inbox, "a").await, Ok(Claim::Duplicate));
    assert_eq!(claim(&inbox.scope("other").unwrap(), "a").await, Err(InboxErrorKind::Full));
    clock.advance(TTL.saturating_sub(MILLISECOND));
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.advance(MILLISECOND);
    handle(&inbox, "c").await;
    assert_eq!(inbox.evicted(), 0);
}

#[tokio::test]
async fn full_inbox_evicts_mark_after_senders_retries() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2));
    handle(&inbox, "a").await;
    clock.advance(Duration::from_secs(1));
    assert!(matches!(claim(&inbox, "b").await, Ok(Claim::Acquired(_))));
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.advance(TTL_MIN.saturating_sub(Duration::from_millis(1_001)));
    let Ok(Claim::Acquired(token)) = claim(&inbox, "b").await else { panic!("the lease ended") };
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full), "`a` can be repeated");
    clock.advance(MILLISECOND);
    handle(&inbox, "c").await;
    assert_eq!((inbox.len(), inbox.evicted()), (2, 1));
    inbox.complete(&token).await.expect("the claim was not evicted");
    assert_eq!(claim(&inbox, "d").await, Err(InboxErrorKind::Full), "both marks are new");
}

#[tokio::test]
async fn full_inbox_evicts_oldest_mark_if_allowed() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2).eviction(Eviction::Oldest));
    for key in ["a", "b", "c"] {
        handle(&inbox, key).await;
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!((inbox.len(), inbox.evicted()), (2, 1));
    assert_eq!(claim(&inbox, "b").await, Ok(Claim::Duplicate));
    assert!(matches!(claim(&inbox, "a").await, Ok(Claim::Acquired(_))));
}

#[tokio::test]
async fn valid_claim_is_never_evicted() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2).eviction(Eviction::Oldest));
    for key in ["a", "b"] {
        assert!(matches!(claim(&inbox, key).await, Ok(Claim::Acquired(_))));
    }
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.advance(LEASE);
    assert!(matches!(claim(&inbox, "c").await, Ok(Claim::Acquired(_))));
    assert_eq!((inbox.len(), inbox.evicted()), (2, 0));
}

#[test]
fn invalid_setting_is_refused() {
    for result in [
        MemoryInbox::builder().capacity(0).build(),
        MemoryInbox::builder().ttl(Duration::from_secs(60)).build(),
        MemoryInbox::new().scope("a b"),
    ] {
        assert_eq!(result.unwrap_err().kind(), InboxErrorKind::InvalidConfig);
    }
    assert!(MemoryInbox::new().is_empty());
}
