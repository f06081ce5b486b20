//! Connections that others left in disorder, and callers who go.

use bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, Inbox, InboxErrorKind, LEASE_MAX, PostgresInbox, Queue, Recorded,
};

use super::super::contract::wait_until;
use super::{Cluster, open};
use crate::support::polled;

#[tokio::test]
async fn what_somebody_elses_transaction_would_take_along_is_not_answered_as_kept() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let inbox = open(&pool).await;
    let mut left_open = Vec::new();
    for _ in 0..3 {
        let client = pool.get().await.unwrap();
        client.batch_execute("BEGIN").await.unwrap();
        left_open.push(client);
    }
    drop(left_open);
    let error = PostgresInbox::builder(pool.clone()).open().await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Unavailable);
    for number in 0..2 {
        let error = inbox.accept("k", &Bytes::from_static(b"{}")).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Unavailable, "{number}");
    }
    assert_eq!(
        inbox.accept("k", &Bytes::from_static(b"{}")).await.unwrap(),
        Recorded::New,
        "nothing was kept before"
    );
    // One of them is not the one that wrote.
    let both = [pool.get().await.unwrap(), pool.get().await.unwrap()];
    for client in both {
        let kept = client.query_one("SELECT count(*) FROM formsvc_inbox_queue", &[]).await.unwrap();
        assert_eq!(kept.get::<_, i64>(0), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_for_somebody_who_has_gone_is_given_back_before_its_lease_ends() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let inbox = open(&cluster.fresh_schema().await).await;
    for round in 0..20 {
        let mut claim = inbox.claim("k", LEASE_MAX);
        if let std::task::Poll::Ready(Ok(Claim::Acquired(token))) = polled(claim.as_mut()).await {
            inbox.release(&token).await.unwrap();
        }
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        drop(claim);
        let is_free = async || match inbox.claim("k", LEASE_MAX).await.unwrap() {
            Claim::Acquired(token) => {
                inbox.release(&token).await.unwrap();
                true
            }
            _ => false,
        };
        wait_until(is_free).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_that_nobody_waits_for_comes_to_its_end() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let inbox = open(&pool).await;
    let Claim::Acquired(token) = inbox.claim("k", LEASE_MAX).await.unwrap() else { panic!() };
    let mut busy = Vec::new();
    for _ in 0..pool.status().max_size {
        busy.push(pool.get().await.unwrap());
    }
    let mut completing = inbox.complete(&token);
    assert!(polled(completing.as_mut()).await.is_pending());
    drop(completing);
    drop(busy);
    let is_marked = async || inbox.claim("k", LEASE_MAX).await.unwrap() == Claim::Duplicate;
    wait_until(is_marked).await;
}
