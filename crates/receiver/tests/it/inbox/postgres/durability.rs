//! Operations survive a crash of the database.

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, DedupeResult, Inbox, PostgresInbox, Queue,
};

use crate::postgres_cluster::Cluster;

async fn acquire(inbox: &PostgresInbox, key: &str) -> ClaimToken {
    match inbox.claim(key, DEFAULT_LEASE).await.unwrap() {
        Claim::Acquired(token) => token,
        claim => panic!("{key} is not free: {claim:?}"),
    }
}

#[tokio::test]
async fn operations_survive_crash_with_asynchronous_commit() {
    // The operating system survives this crash, so `fsync` is not needed.
    let settings = ["synchronous_commit=off", "wal_writer_delay=10000ms", "fsync=off"];
    let Some(cluster) = Cluster::start(&settings) else { return };
    let restart = || {
        cluster.crash();
        cluster.serve(&settings);
    };
    let inbox = PostgresInbox::builder(cluster.new_schema().await).open().await.unwrap();
    let token = acquire(&inbox, "handled").await;
    inbox.complete(&token).await.unwrap();
    restart();
    assert_eq!(claim_after_restart(&inbox, "handled").await, Claim::Duplicate);

    let token = acquire(&inbox, "claimed").await;
    restart();
    let claim = claim_after_restart(&inbox, "claimed").await;
    assert!(matches!(claim, Claim::InFlight { .. }), "{claim:?}");
    assert!(acquire(&inbox, "later").await.fence() > token.fence());

    let payload = Bytes::from_static(b"{}");
    assert_eq!(inbox.accept("accepted", &payload).await.unwrap(), DedupeResult::New);
    restart();
    assert_eq!(claim_after_restart(&inbox, "accepted").await, Claim::Duplicate);
    let delivery = inbox.next(DEFAULT_LEASE).await.unwrap().unwrap();
    inbox.complete(&delivery.token).await.unwrap();
    restart();
    assert_eq!(claim_after_restart(&inbox, "accepted").await, Claim::Duplicate);
    assert!(inbox.next(DEFAULT_LEASE).await.unwrap().is_none());
}

/// Claims a key after the pool has discarded its broken connections.
async fn claim_after_restart(inbox: &PostgresInbox, key: &str) -> Claim {
    for _ in 0..16 {
        match inbox.claim(key, DEFAULT_LEASE).await {
            Ok(claim) => return claim,
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    }
    panic!("the database is not available")
}
