//! Rows that somebody changed by hand, or that a disk forgot: they rest, and everything else goes on.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, params};

use super::super::park::REST;
use super::*;
use crate::store::{Attempt, Claimed, Claims, DeliveryKey, EndpointNo};

const LEASE: Duration = Duration::from_secs(30);

impl Bench {
    async fn add_endpoint(&self, id: &str) {
        let (id, form) = (EndpointId::new(id).unwrap(), self.form.clone());
        let (url, secret) = (format!("https://a.example/{id}"), SealedSecret(vec![1]));
        self.store.add_endpoint(NewEndpoint { id, form, url, secret }).await.unwrap();
    }

    /// Submissions to a form with endpoints, and the deliveries of each to the first of these.
    pub(super) async fn submit(&self, submissions: usize, endpoints: &[&str]) -> Vec<DeliveryKey> {
        for id in endpoints {
            self.add_endpoint(id).await;
        }
        for _ in 0..submissions {
            self.store.submit(self.submission(1)).await.unwrap();
        }
        let (form, limit) = (self.form.clone(), u32::MAX);
        let endpoint = Some(EndpointId::new(endpoints[0]).unwrap());
        let request =
            DeliveriesRequest { form, endpoint, state: None, submission: None, after: None, limit };
        let mut listed = self.store.deliveries(request).await.unwrap();
        listed.reverse();
        listed.into_iter().map(|record| record.key).collect()
    }

    /// Changes what belongs to a delivery: `?1` is its submission, `?2` its endpoint.
    async fn spoil(&self, key: DeliveryKey, sql: &'static str) {
        let spoil = move |db: &Connection| {
            db.pragma_update(None, "ignore_check_constraints", true)?;
            let mut statement = db.prepare(sql)?;
            let both = params![key.submission, key.endpoint.0];
            assert_eq!(statement.execute(&both[..statement.parameter_count()])?, 1, "{sql}");
            Ok(())
        };
        self.store.writer.run(spoil).await.unwrap();
    }

    async fn claim_from(&self, endpoints: &[EndpointNo], lane: Lane) -> Claims {
        let wants = endpoints.iter().map(|&endpoint| Want { endpoint, lane, count: 9 }).collect();
        let request = ClaimRequest { wants, lease: LEASE, bytes_max: usize::MAX };
        self.store.claim(request).await.unwrap()
    }

    async fn claim_keys(&self, endpoint: EndpointNo, lane: Lane) -> Vec<DeliveryKey> {
        let claims = self.claim_from(&[endpoint], lane).await;
        claims.deliveries.iter().map(|claimed| claimed.key).collect()
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(i64::try_from(time.as_micros()).unwrap());
    }
}

fn settlement(claimed: &Claimed, verdict: Verdict) -> Settlement {
    let attempt = Attempt {
        started_at: claimed.lease.until,
        duration: Duration::ZERO,
        status: Some(500),
        error: None,
        detail: None,
        address: None,
        snippet: Bytes::new(),
        resend: false,
    };
    Settlement { key: claimed.key, lease: claimed.lease, verdict, attempt: Some(attempt) }
}

const SPOILS: [&str; 7] = [
    "UPDATE submissions SET item = 'no item' WHERE key = ?1",
    "UPDATE submissions SET item = CAST(x'ff' AS TEXT) WHERE key = ?1",
    "UPDATE submissions SET id = x'00' WHERE key = ?1",
    "UPDATE deliveries SET state = 9 WHERE submission = ?1 AND endpoint_no = ?2",
    "UPDATE deliveries SET attempts = -1 WHERE submission = ?1 AND endpoint_no = ?2",
    "DELETE FROM submissions WHERE key = ?1",
    "DELETE FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2",
];

#[tokio::test]
async fn what_cannot_be_read_rests_and_what_stands_behind_it_is_claimed() {
    for spoil in SPOILS {
        let bench = bench().await;
        let keys = bench.submit(2, &["whe_1"]).await;
        let endpoint = keys[0].endpoint;
        bench.spoil(keys[0], spoil).await;
        assert_eq!(bench.claim_keys(endpoint, Lane::Fresh).await, [keys[1]], "{spoil}");
        for lane in Lane::ALL {
            assert!(bench.claim_keys(endpoint, lane).await.is_empty(), "{spoil}");
        }
        assert_eq!(bench.store.backlog().await.unwrap().unfinished, 2, "nothing is lost: {spoil}");
        let due = bench.store.due().await.unwrap();
        let late = due.iter().find(|due| due.lane == Lane::Late).unwrap();
        assert_eq!(late.after, REST, "{spoil}");
        // Still spoiled, it rests again.
        bench.pass(REST);
        assert!(bench.claim_keys(endpoint, Lane::Late).await.is_empty(), "{spoil}");
        assert_eq!(bench.store.backlog().await.unwrap().unfinished, 2, "{spoil}");
    }
}

#[tokio::test]
async fn what_can_be_read_again_is_claimed_when_it_has_rested() {
    let bench = bench().await;
    let keys = bench.submit(1, &["whe_1"]).await;
    bench.spoil(keys[0], "UPDATE submissions SET item = 'x' || item WHERE key = ?1").await;
    assert!(bench.claim_keys(keys[0].endpoint, Lane::Fresh).await.is_empty());
    bench.spoil(keys[0], "UPDATE submissions SET item = substr(item, 2) WHERE key = ?1").await;
    bench.pass(REST);
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Late).await;
    let [claimed] = &claims.deliveries[..] else { panic!("{claims:?}") };
    assert_eq!((claimed.key, &claimed.data[..]), (keys[0], &br#"{"a":"x"}"#[..]));
    assert_eq!((claimed.state, claimed.retries), (DeliveryState::Pending, 0));
    bench.check_integrity().await;
}

#[tokio::test]
async fn what_cannot_be_read_any_more_rests_when_its_lease_ends() {
    for spoil in SPOILS {
        let bench = bench().await;
        let keys = bench.submit(2, &["whe_1"]).await;
        let endpoint = keys[0].endpoint;
        assert_eq!(bench.claim_keys(endpoint, Lane::Fresh).await.len(), 2);
        bench.spoil(keys[0], spoil).await;
        bench.pass(LEASE);
        assert_eq!(bench.claim_keys(endpoint, Lane::Leased).await, [keys[1]], "{spoil}");
        bench.pass(LEASE);
        assert_eq!(bench.claim_keys(endpoint, Lane::Leased).await, [keys[1]], "{spoil}");
        assert_eq!(bench.store.backlog().await.unwrap().unfinished, 2, "{spoil}");
    }
}

#[tokio::test]
async fn counts_that_are_none_do_not_stop_the_queue() {
    let bench = bench().await;
    let keys = bench.submit(3, &["whe_1"]).await;
    bench.spoil(keys[0], "UPDATE queue SET retries = -7 WHERE submission = ?1").await;
    bench.spoil(keys[1], "UPDATE queue SET claims = 1 << 40 WHERE submission = ?1").await;
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Fresh).await, keys);
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_read_holds_up_no_other() {
    let bench = bench().await;
    let keys = bench.submit(2, &["whe_1", "whe_2"]).await;
    let (spoiled, good) = (keys[0].endpoint, EndpointNo(keys[0].endpoint.0 + 1));
    bench.spoil(keys[0], "UPDATE endpoints SET id = '' WHERE endpoint_no = ?2 AND ?1").await;
    let claims = bench.claim_from(&[spoiled, good], Lane::Fresh).await;
    assert_eq!(claims.unreadable, [spoiled]);
    assert!(claims.due.is_empty(), "of a lane that cannot be claimed from nothing is due");
    assert_eq!(claims.deliveries.len(), 2);
    assert!(claims.deliveries.iter().all(|claimed| claimed.key.endpoint == good));
    bench.spoil(keys[0], "UPDATE endpoints SET id = 'whe_1' WHERE endpoint_no = ?2 AND ?1").await;
    assert_eq!(bench.claim_keys(spoiled, Lane::Fresh).await, keys);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_refused_beside_others_that_are() {
    let bench = bench().await;
    let keys = bench.submit(3, &["whe_1"]).await;
    // Attempts of which there is no trace.
    bench.spoil(keys[1], "UPDATE deliveries SET attempts = 1 WHERE submission = ?1").await;
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Fresh).await;
    let retry = Verdict::Retry { after: LEASE, retries: 1 };
    let outcomes = [Verdict::Delivered, Verdict::Delivered, retry];
    let settlements = claims.deliveries.iter().zip(outcomes);
    let settlements = settlements.map(|(claimed, verdict)| settlement(claimed, verdict)).collect();
    let settled = bench.store.settle(settlements).await.unwrap();
    assert_eq!(settled, [Settled::Kept, Settled::Refused, Settled::Kept]);
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 2);
    bench.pass(LEASE);
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Leased).await, [keys[1]]);
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Late).await, [keys[2]]);
}

#[tokio::test]
async fn a_full_disk_refuses_all_outcomes_and_none_of_them_for_good() {
    let bench = bench().await;
    let keys = bench.submit(2, &["whe_1"]).await;
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Fresh).await;
    let outcomes = || {
        let mut outcomes: Vec<_> =
            claims.deliveries.iter().map(|one| settlement(one, Verdict::Delivered)).collect();
        outcomes[0].attempt.as_mut().unwrap().snippet = Bytes::from(vec![1; 1 << 20]);
        outcomes
    };
    bench.pragma("max_page_count", 1).await;
    let refused = bench.store.settle(outcomes()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    bench.pragma("max_page_count", 1 << 30).await;
    assert_eq!(bench.store.settle(outcomes()).await.unwrap(), [Settled::Kept; 2]);
}

#[tokio::test]
async fn a_start_gives_back_claims_beside_one_that_cannot_be_read() {
    let bench = bench().await;
    let keys = bench.submit(2, &["whe_1"]).await;
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Fresh).await.len(), 2);
    bench.spoil(keys[0], "DELETE FROM submissions WHERE key = ?1").await;
    assert_eq!(bench.store.recover_claims().await.unwrap(), 2);
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Fresh).await, [keys[1]]);
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 2);
}
