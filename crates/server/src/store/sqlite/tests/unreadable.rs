//! Rows that were changed by hand or damaged: their deliveries fail, and all others go on.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, params};

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
    let (key, lease, attempt) = (claimed.key, claimed.lease, Some(attempt));
    Settlement { key, lease, verdict, attempt, own_fault: false }
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

impl Bench {
    /// The state of a delivery, if it is still there; one that never was has none either.
    async fn state_of(&self, key: DeliveryKey) -> Option<i64> {
        let state = move |db: &Connection| {
            let sql = "SELECT state FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2";
            let row = db.query_row(sql, [key.submission, key.endpoint.0], |row| row.get(0));
            Ok(rusqlite::OptionalExtension::optional(row)?)
        };
        self.store.writer.run(state).await.unwrap()
    }

    /// A delivery that was spoiled has failed, or is not there, and another one is unfinished.
    async fn assert_failed(&self, key: DeliveryKey, spoil: &str) {
        let expected =
            (!spoil.starts_with("DELETE FROM deliveries")).then_some(DeliveryState::Failed as i64);
        assert_eq!(self.state_of(key).await, expected, "{spoil}");
        assert_eq!(self.store.backlog().await.unwrap().unfinished, 1, "{spoil}");
    }
}

#[tokio::test]
async fn unreadable_delivery_fails_and_the_next_is_claimed() {
    for spoil in SPOILS {
        let bench = bench().await;
        let keys = bench.submit(2, &["whe_1"]).await;
        let endpoint = keys[0].endpoint;
        bench.spoil(keys[0], spoil).await;
        assert_eq!(bench.claim_keys(endpoint, Lane::Fresh).await, [keys[1]], "{spoil}");
        for lane in Lane::ALL {
            assert!(bench.claim_keys(endpoint, lane).await.is_empty(), "{spoil}");
        }
        bench.assert_failed(keys[0], spoil).await;
    }
}

#[tokio::test]
async fn repaired_delivery_can_be_resent() {
    let bench = bench().await;
    let keys = bench.submit(1, &["whe_1"]).await;
    bench.spoil(keys[0], "UPDATE submissions SET item = 'x' || item WHERE key = ?1").await;
    assert!(bench.claim_keys(keys[0].endpoint, Lane::Fresh).await.is_empty());
    bench.spoil(keys[0], "UPDATE submissions SET item = substr(item, 2) WHERE key = ?1").await;
    let record = bench.store.resend(&keys[0].id()).await.unwrap();
    assert_eq!(record.state, DeliveryState::Failed);
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Late).await;
    let [claimed] = &claims.deliveries[..] else { panic!("{claims:?}") };
    assert_eq!((claimed.key, &claimed.data[..]), (keys[0], &br#"{"a":"x"}"#[..]));
    bench.check_integrity().await;
}

#[tokio::test]
async fn unreadable_delivery_fails_when_its_lease_ends() {
    for spoil in SPOILS {
        let bench = bench().await;
        let keys = bench.submit(2, &["whe_1"]).await;
        let endpoint = keys[0].endpoint;
        assert_eq!(bench.claim_keys(endpoint, Lane::Fresh).await.len(), 2);
        bench.spoil(keys[0], spoil).await;
        bench.pass(LEASE);
        assert_eq!(bench.claim_keys(endpoint, Lane::Leased).await, [keys[1]], "{spoil}");
        bench.assert_failed(keys[0], spoil).await;
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
async fn refused_outcome_fails_its_delivery_and_no_other() {
    let bench = bench().await;
    let keys = bench.submit(3, &["whe_1"]).await;
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Fresh).await;
    let spoil = "UPDATE deliveries SET state = 9 WHERE submission = ?1 AND endpoint_no = ?2";
    bench.spoil(keys[1], spoil).await;
    let retry = Verdict::Retry { after: LEASE, retries: 1 };
    let outcomes = [Verdict::Delivered, Verdict::Unchanged, retry];
    let settlements = claims.deliveries.iter().zip(outcomes);
    let settlements = settlements.map(|(claimed, verdict)| settlement(claimed, verdict)).collect();
    let settled = bench.store.settle(settlements).await.unwrap();
    assert_eq!(settled, [Settled::Kept, Settled::Refused, Settled::Kept]);
    bench.pass(LEASE);
    assert!(bench.claim_keys(keys[0].endpoint, Lane::Leased).await.is_empty());
    bench.assert_failed(keys[1], spoil).await;
    assert_eq!(bench.claim_keys(keys[0].endpoint, Lane::Late).await, [keys[2]]);
}

#[tokio::test]
async fn outcome_after_a_lost_attempt_is_recorded() {
    let bench = bench().await;
    let keys = bench.submit(1, &["whe_1"]).await;
    // The row of the first attempt is gone.
    bench.spoil(keys[0], "UPDATE deliveries SET attempts = 1 WHERE submission = ?1").await;
    let claims = bench.claim_from(&[keys[0].endpoint], Lane::Fresh).await;
    let delivered = settlement(&claims.deliveries[0], Verdict::Delivered);
    assert_eq!(bench.store.settle(vec![delivered]).await.unwrap(), [Settled::Kept]);
    assert_eq!(bench.state_of(keys[0]).await, Some(DeliveryState::Delivered as i64));
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
    bench.assert_failed(keys[0], "").await;
}
