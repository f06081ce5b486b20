//! What a crash of the database leaves.

use bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, Inbox, PostgresInbox, Queue, Recorded,
};

use super::Cluster;

async fn acquire(inbox: &PostgresInbox, key: &str) -> ClaimToken {
    match inbox.claim(key, DEFAULT_LEASE).await.unwrap() {
        Claim::Acquired(token) => token,
        other => panic!("{key} is not free: {other:?}"),
    }
}

/// The database is told not to wait for its disk, and loses what nobody waited for.
#[tokio::test]
async fn what_was_answered_outlives_a_crash_whatever_the_settings() {
    // What is written outlives the server's processes, which alone end here, without being synchronized.
    let settings = ["synchronous_commit=off", "wal_writer_delay=10000ms", "fsync=off"];
    let Some(cluster) = Cluster::start(&settings) else { return };
    let pool = cluster.fresh_schema().await;
    let inbox = PostgresInbox::builder(pool.clone()).open().await.unwrap();
    let token = acquire(&inbox, "handled").await;
    inbox.complete(&token).await.unwrap();
    cluster.crash();
    cluster.serve(&settings);
    assert_eq!(claim_when_back(&inbox, "handled").await, Claim::Duplicate);

    // Its number must not be given to another while its holder goes on.
    let token = acquire(&inbox, "claimed").await;
    cluster.crash();
    cluster.serve(&settings);
    let again = claim_when_back(&inbox, "claimed").await;
    assert!(matches!(again, Claim::InFlight { .. }), "{again:?}");
    assert!(acquire(&inbox, "later").await.fence() > token.fence());

    assert_eq!(inbox.accept("accepted", &Bytes::from_static(b"{}")).await.unwrap(), Recorded::New);
    cluster.crash();
    cluster.serve(&settings);
    assert_eq!(claim_when_back(&inbox, "accepted").await, Claim::Duplicate);
    let pending = inbox.next(DEFAULT_LEASE).await.unwrap().expect("it is queued");
    inbox.complete(&pending.token).await.unwrap();
    cluster.crash();
    cluster.serve(&settings);
    assert_eq!(claim_when_back(&inbox, "accepted").await, Claim::Duplicate);
    assert!(inbox.next(DEFAULT_LEASE).await.unwrap().is_none());
}

/// Claims once the pool has noticed that its connections are gone.
async fn claim_when_back(inbox: &PostgresInbox, key: &str) -> Claim {
    for _ in 0..16 {
        match inbox.claim(key, DEFAULT_LEASE).await {
            Ok(claim) => return claim,
            Err(error) => assert!(error.may_pass(), "{error:?}"),
        }
    }
    panic!("the database does not come back");
}
