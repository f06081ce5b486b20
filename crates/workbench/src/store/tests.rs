use std::fs;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tempfile::TempDir;

use super::*;
use crate::delivery::{
    AnsweredBy, Attempt, EventNames, Forward, ForwardError, ForwardErrorKind, Response, Source,
    TargetResponse,
};
use crate::verdict::{Verdict, VerdictCode};

mod limits;
#[cfg(unix)]
mod modes;
mod round_trip;
mod unusable_files;

fn delivery(body: impl Into<Bytes>) -> Delivery {
    let body = body.into();
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: "2026-03-01T09:30:00.123456789Z".parse().unwrap(),
            source: Source::Request(([127, 0, 0, 1], 4321).into()),
            method: Method::POST,
            request_target: "/hook?a=%20b".to_owned(),
            body_size: body.len() as u64,
            verdict: Verdict {
                code: VerdictCode::Valid,
                secret: Some("current".into()),
                age_secs: Some(1),
            },
            names: EventNames {
                event: Some("submission.created".to_owned()),
                submission_id: Some("sub_1".to_owned()),
                form_id: Some("frm_1".to_owned()),
            },
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: HeaderMap::from_iter([(
            HeaderName::from_static("x-service-signature"),
            HeaderValue::from_static("t=1,v1=00"),
        )]),
        body,
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn untrusted(body: impl Into<Bytes>) -> Delivery {
    let mut delivery = delivery(body);
    delivery.summary.verdict =
        Verdict { code: VerdictCode::SignatureMismatch, secret: None, age_secs: None };
    delivery
}

fn answered(mut delivery: Delivery, number: CaptureNumber, status: u16) -> Delivery {
    delivery.summary.number = Some(number);
    delivery.summary.response = Some(Response {
        status: Some(status),
        answered_by: AnsweredBy::Listener,
        took: Duration::from_millis(3),
    });
    delivery
}

/// No age limit: the deliveries of these tests have a fixed time.
const LIMITS: StoreLimits = StoreLimits { bytes: 256 << 20, age: Duration::MAX };

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("state/webhook")
    }

    fn path(&self) -> PathBuf {
        self.folder().join("captures.db")
    }

    fn open(&self) -> CaptureStore {
        self.open_with(LIMITS)
    }

    fn open_with(&self, limits: StoreLimits) -> CaptureStore {
        CaptureStore::open(&self.folder(), limits).unwrap()
    }

    /// Opens the store with `open` and `open_existing`, and returns their error, which must be the same.
    fn open_error(&self) -> StoreError {
        let existing = CaptureStore::open_existing(&self.folder()).unwrap_err();
        let opened = CaptureStore::open(&self.folder(), LIMITS).unwrap_err();
        assert_eq!(existing.to_string(), opened.to_string());
        opened
    }

    async fn change(&self, sql: &str) {
        self.open().close().await;
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

async fn insert(store: &CaptureStore, delivery: &Delivery, times: usize) {
    let delivery = Arc::new(delivery.clone());
    let inserts = (0..times).map(|_| store.insert(Arc::clone(&delivery)));
    try_join_all(inserts).await.unwrap();
}

/// Blocks the writer until `sends` has queued `len` commands.
async fn while_blocked<T>(store: &CaptureStore, len: usize, sends: impl Future<Output = T>) -> T {
    let (is_blocked, block) = std::sync::mpsc::channel();
    let (unblock, is_unblocked) = std::sync::mpsc::channel::<()>();
    let blocked = store.run(move |_| {
        is_blocked.send(()).unwrap();
        is_unblocked.recv().unwrap();
        Ok(())
    });
    let fill = async {
        while block.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        sends.await
    };
    let release = async {
        while store.commands.capacity() > QUEUE_LEN - len {
            tokio::task::yield_now().await;
        }
        unblock.send(()).unwrap();
    };
    let (_, result, ()) = tokio::join!(blocked, fill, release);
    result
}

async fn numbers(store: &CaptureStore, query: CaptureQuery) -> Vec<CaptureNumber> {
    let listed = store.list(query).await.unwrap();
    listed.iter().map(|summary| summary.number.unwrap()).collect()
}

async fn all_numbers(store: &CaptureStore) -> Vec<CaptureNumber> {
    numbers(store, CaptureQuery::default()).await
}

/// Waits for the removal of captures while the store is idle.
async fn wait_until(store: &CaptureStore, is_done: impl Fn(&[CaptureNumber]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_done(&all_numbers(store).await) {
        assert!(Instant::now() < deadline, "{:?}", all_numbers(store).await);
        tokio::task::yield_now().await;
    }
}

/// Compares all parts, each of which implements `Debug` without omissions.
fn assert_same(stored: &Delivery, expected: &Delivery) {
    assert_eq!(format!("{stored:?}"), format!("{expected:?}"));
}

#[tokio::test]
async fn store_reopened_has_captures_and_outcomes() {
    let home = Home::new();
    assert!(CaptureStore::open_existing(&home.folder()).unwrap().is_none());
    assert!(!home.folder().exists(), "reading creates nothing");
    let store = home.open();
    assert!(store.is_on_disk() && store.folder() == Some(&*home.folder()));
    let one = delivery("{}");
    assert_eq!(store.insert(one.clone().into()).await.unwrap(), 1);
    let synchronous = |db: &mut Connection| {
        Ok(db.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(store.run(synchronous).await.unwrap(), 2, "FULL: an insert is durable");
    let stored = store.get(1).await.unwrap().unwrap();
    assert_same(&stored, &Delivery { summary: stored.summary.clone(), ..one.clone() });
    for (number, status) in [(1, 200), (1, 500), (77, 500)] {
        store.set_outcome(number, answered(one.clone(), number, status).into()).await.unwrap();
    }
    store.close().await;
    let store = CaptureStore::open_existing(&home.folder()).unwrap().unwrap();
    assert_same(&store.get(1).await.unwrap().unwrap(), &answered(one.clone(), 1, 200));
    for number in [0, 2, CaptureNumber::MAX] {
        assert!(store.get(number).await.unwrap().is_none());
    }
    store.prune(None, false).await.unwrap();
    assert_eq!(store.insert(one.into()).await.unwrap(), 2, "a number is never reused");
}

#[tokio::test]
async fn store_of_clones_fails_after_close() {
    let home = Home::new();
    let store = home.open();
    let inserts = (0..300).map(|at| {
        let store = store.clone();
        tokio::spawn(async move { store.insert(delivery(at.to_string()).into()).await })
    });
    let inserted = try_join_all(inserts.collect::<Vec<_>>()).await.unwrap();
    let mut inserted = inserted.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    inserted.sort_unstable();
    assert_eq!(inserted, (1..=300).collect::<Vec<_>>());
    store.clone().close().await;
    let error = store.insert(delivery("").into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Closed), "{error:?}");
    assert_eq!(all_numbers(&store).await.len(), 300, "captures can be read");
    store.close().await;
}

#[tokio::test]
async fn store_in_memory_has_captures_until_closed() {
    let store = CaptureStore::in_memory(LIMITS).unwrap();
    assert!(!store.is_on_disk() && store.folder().is_none());
    let one = delivery(vec![0, 255, 10]);
    let number = store.insert(one.clone().into()).await.unwrap();
    store.set_outcome(number, answered(one.clone(), number, 502).into()).await.unwrap();
    assert_same(&store.get(number).await.unwrap().unwrap(), &answered(one, number, 502));
    assert_eq!(all_numbers(&store).await, [1]);
    store.clone().close().await;
    assert!(matches!(store.get(1).await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn panic_of_writer_closes_store() {
    let store = CaptureStore::in_memory(LIMITS).unwrap();
    let panicked = store.run(|_| -> Result<(), StoreError> { panic!("on purpose") }).await;
    assert!(matches!(panicked, Err(StoreError::Closed)));
    let error = store.insert(delivery("").into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Closed), "{error:?}");
}

#[tokio::test]
async fn panic_of_a_read_is_not_a_closed_store() {
    let home = Home::new();
    let store = home.open();
    let panicked = store.read(|_| -> Result<(), StoreError> { panic!("for this test") }).await;
    assert!(matches!(panicked, Err(StoreError::Panicked)));
    insert(&store, &delivery(""), 1).await;
    assert_eq!(all_numbers(&store).await, [1]);
}

#[tokio::test]
async fn full_queue_makes_callers_wait() {
    let store = CaptureStore::in_memory(LIMITS).unwrap();
    let inserts = (0..3 * QUEUE_LEN).map(|_| store.insert(delivery("").into()));
    let inserted = while_blocked(&store, QUEUE_LEN, try_join_all(inserts)).await.unwrap();
    assert_eq!(inserted.len(), 3 * QUEUE_LEN);
}

#[tokio::test]
async fn list_returns_matches_newest_first() {
    let home = Home::new();
    for store in [home.open(), CaptureStore::in_memory(LIMITS).unwrap()] {
        for (at, status, code) in [
            (1, 200, VerdictCode::Valid),
            (2, 503, VerdictCode::Valid),
            (3, 401, VerdictCode::SignatureMismatch),
            (4, 204, VerdictCode::Unchecked),
        ] {
            let mut one = delivery(format!("{{\"at\":{at},\"name\":\"Zoë %_\"}}"));
            one.summary.verdict.code = code;
            one.summary.request_target = format!("/hook/{at}?a=b");
            one.summary.received_at = format!("2026-03-01T09:30:0{at}Z").parse().unwrap();
            let number = store.insert(one.clone().into()).await.unwrap();
            store.set_outcome(number, answered(one, number, status).into()).await.unwrap();
        }
        insert(&store, &delivery("in flight"), 1).await;
        // The prune runs after the queued outcomes are stored.
        store.prune(None, true).await.unwrap();
        let cases: [(&str, CaptureQuery, &[CaptureNumber]); 13] = {
            let all = CaptureQuery::default;
            [
                ("", all(), &[5, 4, 3, 2, 1]),
                ("", CaptureQuery { limit: Some(2), ..all() }, &[5, 4]),
                ("", CaptureQuery { limit: Some(0), ..all() }, &[]),
                ("", CaptureQuery { before: Some(4), limit: Some(2), ..all() }, &[3, 2]),
                ("", CaptureQuery { after: Some(3), ..all() }, &[5, 4]),
                ("status=ok", all(), &[4, 1]),
                ("status=failed", CaptureQuery { limit: Some(2), ..all() }, &[5, 3]),
                ("verdict=invalid", all(), &[3]),
                ("any~zoë && at>=2026-03-01T09:30:03Z", all(), &[4, 3]),
                // This condition is checked in memory before the limit is applied.
                ("/at<3", CaptureQuery { limit: Some(1), ..all() }, &[2]),
                ("/at<3 && status=200", all(), &[1]),
                ("path=/hook/* && /at!=2", CaptureQuery { before: Some(4), ..all() }, &[3, 1]),
                ("/at>9", all(), &[]),
            ]
        };
        for (filter, query, expected) in cases {
            let filter = if filter.is_empty() {
                DeliveryFilter::default()
            } else {
                DeliveryFilter::parse(filter).unwrap()
            };
            let query = CaptureQuery { filter, ..query };
            assert_eq!(numbers(&store, query.clone()).await, expected, "{query:?}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn prune_removes_and_overwrites_selected_captures() {
    let home = Home::new();
    let store = home.open();
    let mut old = delivery(vec![b'o'; 10_000]);
    old.forwards = vec![Forward {
        url: "http://127.0.0.1/".to_owned(),
        result: Err(ForwardError { kind: ForwardErrorKind::Timeout, message: String::new() }),
        took: Duration::ZERO,
    }];
    let mut new = delivery("needle");
    new.summary.received_at = old.summary.received_at + Duration::from_secs(1);
    insert(&store, &old, 600).await;
    store.set_outcome(600, answered(old, 600, 200).into()).await.unwrap();
    insert(&store, &new, 2).await;
    let before = Some(new.summary.received_at);
    let report = store.prune(before, true).await.unwrap();
    assert_eq!((report.removed, report.left), (600, 2));
    assert!(report.bytes_before > 6_000_000 && report.bytes_after == report.bytes_before);
    assert_eq!(all_numbers(&store).await.len(), 602);
    let report = store.prune(before, false).await.unwrap();
    assert_eq!((report.removed, report.left), (600, 2));
    assert!(report.bytes_after < 100_000, "{report:?}");
    assert_eq!(all_numbers(&store).await, [602, 601]);
    let count = "SELECT (SELECT count(*) FROM outcomes) + (SELECT count(*) FROM forwards)";
    let others = store.run(move |db| Ok(db.query_row(count, [], |row| row.get::<_, i64>(0))?));
    assert_eq!(others.await.unwrap(), 0);
    let report = store.prune(None, false).await.unwrap();
    assert_eq!((report.removed, report.left), (2, 0));
    for entry in fs::read_dir(home.folder()).unwrap() {
        let (path, needle) = (entry.unwrap().path(), b"needle");
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(needle.len()).any(|some| some == needle), "{}", path.display());
    }
}

#[tokio::test]
async fn full_disk_is_an_error_for_what_does_not_fit() {
    let store = CaptureStore::in_memory(LIMITS).unwrap();
    let limit = |pages: &str| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        store.run(move |db| Ok(db.query_row(&sql, [], |_| Ok(()))?))
    };
    limit("100").await.unwrap();
    let bodies = [0, 1_000_000, 0].map(|length| Arc::new(delivery(vec![b'x'; length])));
    let inserts = join_all(bodies.map(|one| store.insert(one)));
    let results = while_blocked(&store, 3, inserts).await;
    assert!(matches!(results[..], [Ok(_), Err(StoreError::Full), Ok(_)]), "{results:?}");
    limit("100000").await.unwrap();
    insert(&store, &delivery(vec![b'x'; 1_000_000]), 1).await;
    assert_eq!(all_numbers(&store).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn four_stores_share_one_file() {
    let home = Arc::new(Home::new());
    let opened = (0..4).map(|_| {
        let home = Arc::clone(&home);
        tokio::task::spawn_blocking(move || home.open())
    });
    let stores = try_join_all(opened.collect::<Vec<_>>()).await.unwrap();
    let inserts = stores.iter().flat_map(|store| {
        (0..50).map(|at| {
            let store = store.clone();
            tokio::spawn(async move { store.insert(delivery(at.to_string()).into()).await })
        })
    });
    for insert in inserts.collect::<Vec<_>>() {
        insert.await.unwrap().unwrap();
    }
    for store in stores {
        assert_eq!(all_numbers(&store).await, (1..=200).rev().collect::<Vec<_>>());
        store.close().await;
    }
    let names = fs::read_dir(home.folder()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["captures.db"], "the last one removes the write-ahead log");
}
