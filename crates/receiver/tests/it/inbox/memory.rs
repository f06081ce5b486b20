//! The inbox in memory.

use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::inbox::{
    Claim, Inbox, InboxErrorKind, MemoryInbox, MemoryInboxBuilder, TTL_MIN, WhenFull,
};

use super::contract::{Clock, World, inbox_contract};

const TTL: Duration = Duration::from_secs(86_400);
const LEASE: Duration = Duration::from_secs(30);

#[expect(clippy::unused_async, reason = "other stores wait until they are there")]
async fn fresh() -> Option<World> {
    let (inbox, clock) = inbox(|builder| builder);
    let elsewhere = Arc::new(inbox.clone());
    let other_scope = Arc::new(inbox.scope("other").unwrap());
    Some(World {
        inbox: Arc::new(inbox),
        elsewhere,
        other_scope,
        queues: None,
        pass: Box::new(move |time| {
            clock.pass(time);
            Box::pin(std::future::ready(()))
        }),
        _keep: Box::new(()),
    })
}

inbox_contract!(fresh);

fn inbox(set: impl FnOnce(MemoryInboxBuilder) -> MemoryInboxBuilder) -> (MemoryInbox, Clock) {
    let clock = Clock::default();
    let now = clock.clone();
    let builder = MemoryInbox::builder().ttl(TTL).clock(move || now.now());
    (set(builder).build().unwrap(), clock)
}

async fn claim(inbox: &MemoryInbox, key: &str) -> Result<Claim, InboxErrorKind> {
    inbox.claim(key, LEASE).await.map_err(|error| error.kind())
}

async fn handle(inbox: &MemoryInbox, key: &str) {
    let Ok(Claim::Acquired(token)) = claim(inbox, key).await else { panic!("{key} is free") };
    inbox.complete(&token).await.unwrap();
}

#[tokio::test]
async fn a_full_inbox_refuses_rather_than_forgets() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2).when_full(WhenFull::Refuse));
    for key in ["a", "b"] {
        handle(&inbox, key).await;
    }
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    assert_eq!(claim(&inbox, "a").await, Ok(Claim::Duplicate), "what it knows it tells");
    clock.pass(TTL.saturating_sub(Duration::from_millis(1)));
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.pass(Duration::from_millis(1));
    handle(&inbox, "c").await;
    assert_eq!(inbox.forgotten(), 0);
}

#[tokio::test]
async fn a_full_inbox_forgets_what_no_sender_will_repeat_and_else_refuses() {
    let (inbox, clock) = inbox(|builder| builder.capacity(2));
    handle(&inbox, "a").await;
    clock.pass(Duration::from_secs(1));
    assert!(matches!(claim(&inbox, "b").await, Ok(Claim::Acquired(_))));
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.pass(TTL_MIN.saturating_sub(Duration::from_millis(1_001)));
    let Ok(Claim::Acquired(token)) = claim(&inbox, "b").await else { panic!("its lease ended") };
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full), "it may be sent again");
    clock.pass(Duration::from_millis(1));
    handle(&inbox, "c").await;
    assert_eq!((inbox.len(), inbox.forgotten()), (2, 1));
    assert_eq!(
        inbox.complete(&token).await.map_err(|error| error.kind()),
        Ok(()),
        "the claim held"
    );
    assert_eq!(claim(&inbox, "d").await, Err(InboxErrorKind::Full), "both marks are new");
}

#[tokio::test]
async fn a_full_inbox_that_may_forgets_the_oldest_and_counts_it() {
    let (inbox, clock) = inbox(|b| b.capacity(2).when_full(WhenFull::ForgetOldest));
    for key in ["a", "b", "c"] {
        handle(&inbox, key).await;
        clock.pass(Duration::from_secs(1));
    }
    assert_eq!((inbox.len(), inbox.forgotten()), (2, 1));
    assert_eq!(claim(&inbox, "b").await, Ok(Claim::Duplicate));
    assert!(matches!(claim(&inbox, "a").await, Ok(Claim::Acquired(_))));
}

#[tokio::test]
async fn a_claim_that_holds_is_never_forgotten() {
    let (inbox, clock) = inbox(|b| b.capacity(2).when_full(WhenFull::ForgetOldest));
    for key in ["a", "b"] {
        assert!(matches!(claim(&inbox, key).await, Ok(Claim::Acquired(_))));
    }
    assert_eq!(claim(&inbox, "c").await, Err(InboxErrorKind::Full));
    clock.pass(LEASE);
    assert!(matches!(claim(&inbox, "c").await, Ok(Claim::Acquired(_))));
    assert_eq!((inbox.len(), inbox.forgotten()), (2, 0));
}

#[tokio::test]
async fn scopes_share_the_capacity() {
    let (inbox, _) = inbox(|builder| builder.capacity(1));
    handle(&inbox, "a").await;
    let other = inbox.scope("other").unwrap();
    assert_eq!(claim(&other, "a").await, Err(InboxErrorKind::Full));
}

#[test]
fn what_cannot_be_is_refused_when_it_is_made() {
    let refused = [
        MemoryInbox::builder().capacity(0).build(),
        MemoryInbox::builder().ttl(Duration::from_secs(60)).build(),
    ];
    for inbox in refused {
        assert_eq!(inbox.unwrap_err().kind(), InboxErrorKind::Setup);
    }
    let inbox = MemoryInbox::builder().build().unwrap();
    assert_eq!(inbox.scope("a b").unwrap_err().kind(), InboxErrorKind::Setup);
    assert!(inbox.is_empty());
}
