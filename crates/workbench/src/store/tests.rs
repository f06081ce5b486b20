use std::fs;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::delivery::{
    AnsweredBy, Attempt, EventNames, Forward, ForwardError, ForwardErrorKind, Response, Source,
    TargetResponse,
};
use crate::verdict::{VERDICTS, Verdict, VerdictCode};

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

    /// Returns the error of opening the store in each way.
    fn refused(&self) -> StoreError {
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

/// Blocks the writer until that many commands wait, which the future sends.
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
        store.set_outcome(answered(one.clone(), number, status).into()).await.unwrap();
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
    store.set_outcome(answered(one.clone(), number, 502).into()).await.unwrap();
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
async fn full_queue_makes_callers_wait() {
    let store = CaptureStore::in_memory(LIMITS).unwrap();
    let inserts = (0..3 * QUEUE_LEN).map(|_| store.insert(delivery("").into()));
    let inserted = while_blocked(&store, QUEUE_LEN, try_join_all(inserts)).await.unwrap();
    assert_eq!(inserted.len(), 3 * QUEUE_LEN);
}

fn any_delivery() -> impl Strategy<Value = Delivery> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from);
    let value = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..40);
    let headers = prop::collection::vec(("[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,9}", value), 0..12);
    let headers = headers.prop_map(|pairs| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(&value).unwrap());
        }
        headers
    });
    let headers = || headers.clone();
    let duration = || (0..i64::MAX).prop_map(|micros| Duration::from_micros(micros.unsigned_abs()));
    let text = || prop::option::of(".*");
    let kinds =
        vec![ForwardErrorKind::Unreachable, ForwardErrorKind::Timeout, ForwardErrorKind::NotHttp];
    let result = prop_oneof![
        (prop::sample::select(kinds), ".*")
            .prop_map(|(kind, message)| Err(ForwardError { kind, message })),
        (100..999_u16, headers(), bytes(), any::<bool>()).prop_map(
            |(status, headers, body, is_truncated)| {
                Ok(TargetResponse { status, headers, body, is_truncated })
            }
        ),
    ];
    let forward =
        (".*", result, duration()).prop_map(|(url, result, took)| Forward { url, result, took });
    let forwards = prop::collection::vec(forward, 0..3);
    let answered_by = prop::sample::select(&AnsweredBy::ALL).prop_map(|(by, _)| by);
    let response = (prop::option::of(100..999_u16), answered_by, duration())
        .prop_map(|(status, answered_by, took)| Response { status, answered_by, took });
    let outcome = (response, forwards, prop::option::of(0..3_usize));
    let verdict = (prop::sample::select(&VERDICTS), text(), any::<Option<i64>>()).prop_map(
        |(row, secret, age_secs)| Verdict {
            code: row.code,
            secret: secret.map(Into::into),
            age_secs,
        },
    );
    let source = prop_oneof![
        Just(Source::Poll),
        any::<SocketAddr>().prop_map(|peer| Source::Request(match peer {
            // The text of an address has no flow label.
            SocketAddr::V6(peer) => (*peer.ip(), peer.port()).into(),
            SocketAddr::V4(_) => peer,
        })),
    ];
    let attempt = (any::<u32>(), prop::option::of(duration()), any::<bool>())
        .prop_map(|(number, gap, is_duplicate)| Attempt { number, gap, is_duplicate });
    let names = (text(), text(), text()).prop_map(|(event, submission_id, form_id)| EventNames {
        event,
        submission_id,
        form_id,
    });
    let request = (any::<i64>(), source, "[A-Z!#$]{1,12}", ".*", headers(), bytes());
    (request, verdict, names, attempt, outcome).prop_map(
        |(request, verdict, names, attempt, outcome)| {
            let (nanos, source, method, request_target, headers, body) = request;
            let (response, forwards, relayed_forward) = outcome;
            Delivery {
                summary: DeliverySummary {
                    number: None,
                    received_at: Timestamp::from_nanosecond(nanos.into()).unwrap(),
                    source,
                    method: Method::from_bytes(method.as_bytes()).unwrap(),
                    request_target,
                    body_size: body.len() as u64,
                    verdict,
                    names,
                    attempt,
                    response: Some(response),
                },
                headers,
                body,
                forwards,
                relayed_forward,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn delivery_is_stored_exactly(deliveries in prop::collection::vec(any_delivery(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = CaptureStore::in_memory(LIMITS).unwrap();
            for mut delivery in deliveries {
                let number = store.insert(delivery.clone().into()).await.unwrap();
                delivery.summary.number = Some(number);
                store.set_outcome(delivery.clone().into()).await.unwrap();
                assert_same(&store.get(number).await.unwrap().unwrap(), &delivery);
            }
        });
    }
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
            store.set_outcome(answered(one, number, status).into()).await.unwrap();
        }
        insert(&store, &delivery("in flight"), 1).await;
        // Runs after the outcomes.
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
                // Checked in memory, before the limit is applied.
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
async fn byte_limit_removes_oldest_captures() {
    let home = Home::new();
    let limits = StoreLimits { bytes: 1 << 20, ..LIMITS };
    let store = home.open_with(limits);
    for _ in 0..20 {
        insert(&store, &delivery(vec![b'x'; 2_000]), 50).await;
    }
    let left = all_numbers(&store).await;
    assert!(left.len() > 200 && left[0] == 1_000, "{} are left", left.len());
    assert!(left.is_sorted_by(|newer, older| *newer == *older + 1), "the oldest are removed");
    insert(&store, &delivery(vec![b'x'; 1_000_000]), 1).await;
    insert(&store, &delivery(""), 8).await;
    wait_until(&store, |left| left.len() < 20).await;
    assert!(all_numbers(&store).await.contains(&1_001));
    store.close().await;
    let size = || home.path().metadata().unwrap().len();
    assert!(size() < 3 << 20, "{} bytes", size());
    // A lower limit removes captures when the store is opened, and shrinks the file.
    let store = home.open_with(StoreLimits { bytes: 256 << 10, ..LIMITS });
    wait_until(&store, |left| !left.contains(&1_001)).await;
    assert_eq!(all_numbers(&store).await[0], 1_009);
    store.close().await;
    assert!(size() < 3 << 20, "{} bytes", size());
}

#[tokio::test]
async fn untrusted_captures_use_half_of_byte_limit() {
    let home = Home::new();
    let store = home.open_with(StoreLimits { bytes: 4 << 20, ..LIMITS });
    insert(&store, &delivery(vec![b'x'; 100_000]), 60).await;
    for _ in 0..20 {
        insert(&store, &untrusted(vec![b'x'; 400_000]), 2).await;
        insert(&store, &untrusted(""), 20).await;
    }
    let left = all_numbers(&store).await;
    let genuine = left.iter().filter(|number| **number <= 60).count();
    assert!((19..30).contains(&genuine), "{genuine} of 100 kB in 2 MiB or more");
    assert!(left.len() - genuine > 40, "{left:?}");
    insert(&store, &delivery(vec![b'x'; 100_000]), 60).await;
    wait_until(&store, |left| left.iter().all(|number| *number > 500)).await;
    assert!(all_numbers(&store).await.len() >= 30, "the oldest of all are removed");
    store.close().await;
    let size = home.path().metadata().unwrap().len();
    assert!(size < 6 << 20, "{size} bytes");
}

#[tokio::test]
async fn capture_larger_than_its_share_is_refused() {
    let store = CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, ..LIMITS }).unwrap();
    insert(&store, &delivery("genuine"), 1).await;
    let body = vec![b'x'; 600_000];
    let error = store.insert(untrusted(body.clone()).into()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { size: 600_000.., max: 524_288 }), "{error}");
    insert(&store, &delivery(body), 1).await;
    let error = store.insert(delivery(vec![b'x'; 1 << 20]).into()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { max: 1_048_576, .. }), "{error}");
    assert_eq!(all_numbers(&store).await, [2, 1]);
}

#[tokio::test]
async fn age_limit_removes_expired_captures() {
    let home = Home::new();
    let store = home.open();
    let mut recent = delivery("");
    recent.summary.received_at = Timestamp::now();
    insert(&store, &delivery(""), 2).await;
    insert(&store, &recent, 1).await;
    store.close().await;
    let store = home.open_with(StoreLimits { age: Duration::from_secs(3_600), ..LIMITS });
    // Before or after this insert.
    insert(&store, &recent, 1).await;
    assert_eq!(all_numbers(&store).await, [4, 3]);
    insert(&store, &delivery(""), 1).await;
    assert_eq!(all_numbers(&store).await, [4, 3]);
    store.close().await;
    let store = CaptureStore::open_existing(&home.folder()).unwrap().unwrap();
    insert(&store, &delivery(""), 1).await;
    assert_eq!(all_numbers(&store).await, [6, 4, 3], "without limits");
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
    store.set_outcome(answered(old, 600, 200).into()).await.unwrap();
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
async fn two_stores_share_one_file() {
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

#[tokio::test]
async fn damaged_row_is_an_error_with_number_and_column() {
    for (table, column, value) in [
        ("captures", "verdict", "'signature_revoked'"),
        ("captures", "peer", "'nowhere'"),
        ("captures", "method", "'A B'"),
        ("captures", "attempt", "-1"),
        ("captures", "gap_us", "-1"),
        ("outcomes", "status", "70000"),
        ("outcomes", "answered_by", "'oracle'"),
        ("outcomes", "took_us", "-1"),
    ] {
        let home = Home::new();
        let store = home.open();
        insert(&store, &delivery(""), 3).await;
        store.set_outcome(answered(delivery(""), 2, 200).into()).await.unwrap();
        store.close().await;
        home.change(&format!("UPDATE {table} SET {column} = {value} WHERE number = 2")).await;
        let store = home.open();
        let is_expected = |error: &StoreError| matches!(error, StoreError::DamagedRow { number: 2, column: at } if *at == column);
        let error = store.list(CaptureQuery::default()).await.unwrap_err();
        assert!(is_expected(&error) && error.to_string().contains(column), "{error}");
        let error = store.get(2).await.unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert!(store.get(1).await.unwrap().is_some());
        assert_eq!(store.prune(None, false).await.unwrap().removed, 3);
    }
}

#[tokio::test]
async fn damaged_headers_and_forwards_are_errors() {
    for (sql, column) in [
        ("UPDATE captures SET headers = x'61'", "headers"),
        ("UPDATE outcomes SET relayed_forward = -1", "relayed_forward"),
        ("INSERT INTO forwards VALUES (1, 0, '', 0, 'x', '', 1, 0, x'', x'')", "error_kind"),
        ("INSERT INTO forwards VALUES (1, 0, '', 0, NULL, NULL, NULL, 0, x'', x'')", "status"),
    ] {
        let home = Home::new();
        let store = home.open();
        insert(&store, &delivery(""), 1).await;
        store.set_outcome(answered(delivery(""), 1, 200).into()).await.unwrap();
        store.close().await;
        home.change(sql).await;
        let store = home.open();
        let error = store.get(1).await.unwrap_err();
        assert!(
            matches!(error, StoreError::DamagedRow { number: 1, column: at } if at == column),
            "{error}"
        );
        assert_eq!(all_numbers(&store).await, [1]);
    }
}

#[tokio::test]
async fn damaged_database_is_an_error() {
    let home = Home::new();
    let store = home.open();
    insert(&store, &delivery(vec![b'x'; 20_000]), 20).await;
    store.close().await;
    let mut bytes = fs::read(home.path()).unwrap();
    bytes[3 * 4_096..].fill(0xff);
    fs::write(home.path(), bytes).unwrap();
    let store = home.open();
    let error = store.list(CaptureQuery::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged), "{error:?}");
}

#[tokio::test]
async fn foreign_file_is_refused_and_not_changed() {
    for sql in [
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 0; PRAGMA application_id = 0",
    ] {
        let home = Home::new();
        home.change(sql).await;
        let before = fs::read(home.path()).unwrap();
        let error = home.refused();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
        assert!(error.to_string().contains(&*home.path().to_string_lossy()), "{error}");
        assert_eq!(fs::read(home.path()).unwrap(), before);
    }
    let home = Home::new();
    home.open().close().await;
    let diary = "my diary, which is longer than the header of a database: ".repeat(3);
    fs::write(home.path(), &diary).unwrap();
    let error = home.refused();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(home.path()).unwrap(), diary);
}

#[cfg(unix)]
mod modes {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[tokio::test]
    async fn files_are_private_to_their_owner() {
        let home = Home::new();
        let store = home.open();
        insert(&store, &delivery("x"), 1).await;
        assert_eq!(mode(&home.folder()), 0o700);
        assert_eq!(mode(home.folder().parent().unwrap()), 0o700);
        let mut names = Vec::new();
        for entry in fs::read_dir(home.folder()).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort();
        assert_eq!(names, ["captures.db", "captures.db-shm", "captures.db-wal"]);
    }

    #[tokio::test]
    async fn file_of_others_is_refused_and_not_changed() {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let home = Home::new();
            home.open().close().await;
            let path = home.folder().join(format!("captures.db{suffix}"));
            let other = home.0.path().join("other");
            fs::write(&other, "").unwrap();
            let _ = fs::remove_file(&path);
            symlink(&other, &path).unwrap();
            let error = home.refused();
            assert_eq!(error.to_string(), format!("`{}` is a symbolic link", path.display()));
            assert_eq!(fs::read(&other).unwrap(), b"");
            fs::remove_file(&path).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            let error = home.refused();
            assert!(error.to_string().ends_with("can be read or changed by others"), "{error}");
            let expected = format!("`chmod 600 '{}'`", path.display());
            assert!(matches!(error, StoreError::Unsafe { fix, .. } if fix == expected));
            assert_eq!(mode(&path), 0o644);
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            assert!(home.refused().to_string().ends_with("is not a regular file"));
        }
    }

    #[tokio::test]
    async fn folder_of_others_is_refused() {
        let home = Home::new();
        home.open().close().await;
        fs::set_permissions(home.folder(), Permissions::from_mode(0o755)).unwrap();
        let error = home.refused();
        let expected = format!("`chmod 700 '{}'`", home.folder().display());
        assert!(matches!(error, StoreError::Unsafe { fix, .. } if fix == expected));
        let moved = home.0.path().join("moved");
        fs::rename(home.folder(), &moved).unwrap();
        symlink(&moved, home.folder()).unwrap();
        let error = home.refused();
        assert!(error.to_string().ends_with("is a symbolic link"), "{error}");
        let slash = PathBuf::from(format!("{}/", home.folder().display()));
        assert!(CaptureStore::open(&slash, LIMITS).is_err());
    }

    #[test]
    fn folder_below_a_file_cannot_be_created() {
        let folder = Path::new("/dev/null/formsvc/webhook");
        assert!(CaptureStore::open_existing(folder).unwrap().is_none());
        let error = CaptureStore::open(folder, LIMITS).unwrap_err().to_string();
        assert_eq!(error, "cannot access `/dev/null/formsvc/webhook`");
    }
}
