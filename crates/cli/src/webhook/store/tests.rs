use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::webhook::capture::{AnsweredBy, Arrival, Forward, Forwarded, Source, Unanswered};
use crate::webhook::statuses::Statuses;
use crate::webhook::verdict::{VERDICTS, Verdict, VerdictCode};

pub(super) fn received(at: Timestamp, body: impl Into<Bytes>) -> Received {
    Received {
        at,
        source: Source::Request(([127, 0, 0, 1], 4321).into()),
        method: Method::POST,
        request_target: "/hook?a=%20b".to_owned(),
        headers: HeaderMap::from_iter([(
            HeaderName::from_static("x-service-signature"),
            HeaderValue::from_static("t=1,v1=00"),
        )]),
        body: body.into(),
        verdict: Verdict { code: VerdictCode::Valid, secret: Some("current".into()), age: Some(1) },
        event: Some("submission.created".to_owned()),
        submission_id: Some("sub_1".to_owned()),
        form_id: Some("frm_1".to_owned()),
        arrival: Arrival { number: 1, gap: None, duplicate: false },
    }
}

fn now() -> Timestamp {
    Timestamp::now()
}

fn outcome(status: u16) -> Arc<Outcome> {
    let (by, took) = (AnsweredBy::Listener, Duration::from_millis(3));
    Arc::new(Outcome { status: Some(status), by, took, forwards: Vec::new(), decided_by: None })
}

struct Place {
    home: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("state/webhook")
    }

    fn path(&self) -> PathBuf {
        self.folder().join("captures.db")
    }

    fn open(&self) -> Store {
        self.capped(Caps::default())
    }

    fn capped(&self, caps: Caps) -> Store {
        Store::open(&self.folder(), caps).unwrap()
    }

    fn refused(&self) -> StoreError {
        Store::open(&self.folder(), Caps::default()).unwrap_err()
    }
}

async fn numbers(store: &Store, query: Query) -> Vec<CaptureNumber> {
    let listed = store.list(query).await.unwrap();
    listed.iter().map(|listed| listed.number.unwrap()).collect()
}

fn same(kept: &Capture, received: &Received, outcome: Option<&Outcome>) {
    // Every part is `Debug`, and none of them leaves anything out.
    assert_eq!(format!("{:?}", kept.received), format!("{received:?}"));
    assert_eq!(format!("{:?}", kept.outcome.as_deref()), format!("{outcome:?}"));
}

#[tokio::test]
async fn what_was_kept_is_there_for_whoever_opens_it_next() {
    let place = Place::new();
    assert!(Captures::open(&place.folder()).unwrap().is_none(), "nothing is made by a look");
    assert!(!place.folder().exists());
    let store = place.open();
    let one = received(now(), "{}");
    let number = store.keep(one.clone().into()).await.unwrap();
    assert_eq!(number, 1);
    same(&store.get(1).await.unwrap().unwrap(), &one, None);
    store.settle(number, outcome(200));
    store.settle(number, outcome(500));
    store.settle(77, outcome(500));
    store.close().await;
    let captures = Captures::open(&place.folder()).unwrap().unwrap();
    same(&captures.get(1).await.unwrap().unwrap(), &one, Some(&*outcome(200)));
    assert!(captures.get(2).await.unwrap().is_none());
    assert!(captures.get(u64::MAX).await.unwrap().is_none());
    let store = place.open();
    assert_eq!(store.keep(one.into()).await.unwrap(), 2);
}

#[tokio::test]
async fn clones_keep_together_and_nothing_is_kept_after_the_end() {
    let place = Place::new();
    let store = place.open();
    let keeps = (0..300).map(|at| {
        let store = store.clone();
        tokio::spawn(async move { store.keep(received(now(), at.to_string()).into()).await })
    });
    let mut kept: Vec<_> = Vec::new();
    for keep in keeps.collect::<Vec<_>>() {
        kept.push(keep.await.unwrap().unwrap());
    }
    kept.sort_unstable();
    assert_eq!(kept, (1..=300).collect::<Vec<_>>());
    store.clone().close().await;
    let refused = store.keep(received(now(), "").into()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Closed), "{refused:?}");
    assert_eq!(numbers(&store, Query::default()).await.len(), 300, "what is there can be read");
}

#[tokio::test]
async fn in_memory_it_is_the_same_until_it_is_gone() {
    let store = Store::in_memory(Caps::default()).unwrap();
    let one = received(now(), vec![0, 255, 10]);
    let number = store.keep(one.clone().into()).await.unwrap();
    store.settle(number, outcome(502));
    same(&store.get(number).await.unwrap().unwrap(), &one, Some(&*outcome(502)));
    assert_eq!(numbers(&store, Query::default()).await, [1]);
    store.clone().close().await;
    assert!(matches!(store.get(1).await, Err(StoreError::Closed)));
}

fn anything() -> impl Strategy<Value = (Received, Outcome)> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let value = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..40);
    let headers = prop::collection::vec(("[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,9}", value), 0..12)
        .prop_map(|pairs| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                headers.append(name, HeaderValue::from_bytes(&value).unwrap());
            }
            headers
        });
    let headers = || headers.clone();
    let span = || (0..i64::MAX).prop_map(|nanos| Duration::from_nanos(nanos.unsigned_abs()));
    let text = || prop::option::of(".*");
    let answer = prop_oneof![
        (".*", any::<bool>()).prop_map(|(why, timed_out)| Err(Unanswered {
            timed_out,
            garbled: false,
            why
        })),
        (100..999_u16, headers(), bytes(), any::<bool>()).prop_map(
            |(status, headers, body, truncated)| Ok(Forwarded {
                status,
                headers,
                body: body.into(),
                truncated
            })
        ),
    ];
    let forward =
        (".*", answer, span()).prop_map(|(url, answer, took)| Forward { url, answer, took });
    let by =
        prop::sample::select(vec![AnsweredBy::Listener, AnsweredBy::Fault, AnsweredBy::Target]);
    let forwards = prop::collection::vec(forward, 0..3);
    let decided_by = prop::option::of(0..3_usize);
    let outcome = (prop::option::of(100..999_u16), by, span(), forwards, decided_by).prop_map(
        |(status, by, took, forwards, decided_by)| Outcome {
            status,
            by,
            took,
            forwards,
            decided_by,
        },
    );
    let verdict = (prop::sample::select(VERDICTS), text(), any::<Option<i64>>()).prop_map(
        |(row, secret, age)| Verdict { code: row.code, secret: secret.map(Into::into), age },
    );
    let source = prop_oneof![
        Just(Source::Poll),
        any::<std::net::SocketAddr>().prop_map(|from| Source::Request(match from {
            // What has a scope is told by its number, which text keeps; a flow label it does not.
            std::net::SocketAddr::V6(from) => (*from.ip(), from.port()).into(),
            from @ std::net::SocketAddr::V4(_) => from,
        })),
    ];
    let arrival = (any::<u32>(), prop::option::of(span()), any::<bool>())
        .prop_map(|(number, gap, duplicate)| Arrival { number, gap, duplicate });
    let request = (any::<i64>(), source, "[A-Z!#$]{1,12}", ".*", headers(), bytes());
    (request, (verdict, text(), text(), text(), arrival), outcome).prop_map(
        |(request, words, outcome)| {
            let (at, source, method, request_target, headers, body) = request;
            let (verdict, event, submission_id, form_id, arrival) = words;
            let received = Received {
                at: Timestamp::from_nanosecond(at.into()).unwrap(),
                source,
                method: Method::from_bytes(method.as_bytes()).unwrap(),
                request_target,
                headers,
                body: body.into(),
                verdict,
                event,
                submission_id,
                form_id,
                arrival,
            };
            (received, outcome)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_byte_comes_back(all in prop::collection::vec(anything(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Store::in_memory(Caps { age: Duration::MAX, ..Caps::default() }).unwrap();
            for (received, outcome) in all {
                let number = store.keep(received.clone().into()).await.unwrap();
                store.settle(number, outcome.clone().into());
                same(&store.get(number).await.unwrap().unwrap(), &received, Some(&outcome));
            }
        });
    }
}

#[tokio::test]
async fn a_list_has_what_was_asked_for_newest_first() {
    let store = Store::in_memory(Caps::default()).unwrap();
    let start = now();
    let kinds: [(Option<u16>, VerdictCode, &str); 5] = [
        (Some(200), VerdictCode::Valid, "frm_a"),
        (Some(503), VerdictCode::Valid, "frm_a"),
        (Some(401), VerdictCode::NoMatch, "frm_b"),
        (None, VerdictCode::Valid, "frm_b"),
        (Some(204), VerdictCode::Unchecked, "frm_c"),
    ];
    for (at, (status, code, form)) in (0..).zip(kinds) {
        let mut one = received(start + Duration::from_secs(at), format!("body of {at}: Zoë %_"));
        (one.verdict.code, one.form_id) = (code, Some(form.to_owned()));
        one.submission_id = Some(format!("sub_{at}"));
        let number = store.keep(one.into()).await.unwrap();
        let done = Outcome { status, ..(*outcome(200)).clone() };
        store.settle(number, done.into());
    }
    store.keep(received(start, "not answered").into()).await.unwrap();
    let all = Query::default;
    let is = |query, expected: &'static [u64]| {
        let store = store.clone();
        async move { assert_eq!(numbers(&store, query).await, expected) }
    };
    is(all(), &[6, 5, 4, 3, 2, 1]).await;
    is(Query { limit: Some(2), ..all() }, &[6, 5]).await;
    is(Query { before: Some(5), limit: Some(2), ..all() }, &[4, 3]).await;
    is(Query { after: Some(4), ..all() }, &[6, 5]).await;
    is(Query { status: Some(Statuses::Ok), ..all() }, &[5, 1]).await;
    is(Query { status: Some(Statuses::Failed), ..all() }, &[6, 4, 3, 2]).await;
    is(Query { status: Some(Statuses::One(401)), ..all() }, &[3]).await;
    is(Query { status: Some(Statuses::Class(2)), ..all() }, &[5, 1]).await;
    is(Query { verdict: Some("signature_mismatch"), ..all() }, &[3]).await;
    is(Query { verdict: Some(INVALID), ..all() }, &[3]).await;
    is(Query { form: Some("frm_b".into()), ..all() }, &[4, 3]).await;
    is(Query { event: Some("submission.gone".into()), ..all() }, &[]).await;
    is(Query { submission: Some("sub_1".into()), ..all() }, &[6, 2]).await;
    is(Query { grep: Some("1: Zoë %_".into()), ..all() }, &[2]).await;
    is(Query { grep: Some("%".into()), limit: Some(1), ..all() }, &[5]).await;
    is(Query { text: Some("ZOë %".into()), before: Some(3), ..all() }, &[2, 1]).await;
    is(Query { text: Some("SUB_3".into()), ..all() }, &[4]).await;
    is(Query { text: Some("hook?A=".into()), limit: Some(1), ..all() }, &[6]).await;
    let (since, until) = (start + Duration::from_secs(1), start + Duration::from_secs(3));
    is(Query { since: Some(since), until: Some(until), ..all() }, &[3, 2]).await;
}

#[tokio::test]
async fn no_delivery_waits_for_a_search_in_memory() {
    let store = Store::in_memory(Caps::default()).unwrap();
    // As the page asks it: everything is looked at, and nothing fits.
    let search = Query { text: Some("needle".into()), limit: Some(201), ..Query::default() };
    for _ in 0..40 {
        store.keep(received(now(), vec![b'x'; 64 << 10]).into()).await.unwrap();
    }
    let order = Mutex::new(Vec::new());
    let did = |what: &'static str| order.lock().unwrap().push(what);
    let searching = async {
        assert!(store.list(search).await.unwrap().is_empty());
        did("searched");
    };
    let keeping = async {
        store.keep(received(now(), "needle").into()).await.unwrap();
        did("kept");
    };
    // Polled in this order: the search is asked for first.
    tokio::join!(searching, keeping);
    assert_eq!(*order.lock().unwrap(), ["kept", "searched"]);
}

#[tokio::test]
async fn what_is_found_piece_by_piece_is_what_a_file_has() {
    let (place, memory) = (Place::new(), Store::in_memory(Caps::default()).unwrap());
    let file = place.open();
    for at in 0..700_u64 {
        let mut one = received(now(), vec![b'x'; usize::try_from(at % 7).unwrap() << 10]);
        one.form_id = Some(format!("frm_{}", at % 3));
        let one = Arc::new(one);
        for store in [&file, &memory] {
            assert_eq!(store.keep(Arc::clone(&one)).await.unwrap(), at + 1);
        }
    }
    for form in [None, Some("frm_1"), Some("frm_9")] {
        for (before, after) in
            [(None, None), (Some(600), None), (None, Some(90)), (Some(5), Some(3))]
        {
            for limit in [None, Some(0), Some(1), Some(150), Some(1_000)] {
                let form = form.map(str::to_owned);
                let query = Query { form, before, after, limit, ..Query::default() };
                let found = numbers(&memory, query.clone()).await;
                assert_eq!(found, numbers(&file, query.clone()).await, "{query:?}");
            }
        }
    }
}

#[tokio::test]
async fn names_of_another_release_spoil_no_list() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..2 {
        let number = store.keep(received(now(), "{}").into()).await.unwrap();
        store.settle(number, outcome(200));
    }
    store.close().await;
    let db = Connection::open(place.path()).unwrap();
    db.execute("UPDATE captures SET verdict = 'signature_revoked' WHERE number = 1", []).unwrap();
    db.execute("UPDATE outcomes SET answered_by = 'oracle' WHERE number = 1", []).unwrap();
    drop(db);
    let store = place.open();
    let listed = store.list(Query::default()).await.unwrap();
    let codes: Vec<_> = listed.iter().map(|listed| listed.verdict.code).collect();
    assert_eq!(codes, [VerdictCode::Valid, VerdictCode::Unknown]);
    assert!(codes[1].is_refusal(), "nobody here can say that it is to be trusted");
    let by: Vec<_> = listed.iter().map(|listed| listed.outcome.as_ref().unwrap().by).collect();
    assert_eq!(by, [AnsweredBy::Listener, AnsweredBy::Unknown]);
    assert_eq!(numbers(&store, Query { verdict: Some(INVALID), ..Query::default() }).await, [1]);
    assert!(store.get(1).await.unwrap().is_some());
}

#[tokio::test]
async fn the_oldest_go_when_there_are_too_many_and_the_newest_stays() {
    let place = Place::new();
    let caps = Caps { size: 1 << 20, ..Caps::default() };
    let store = place.capped(caps);
    for _ in 0..40 {
        let keeps = (0..50).map(|_| store.keep(received(now(), vec![b'x'; 2_000]).into()));
        futures_util::future::try_join_all(keeps).await.unwrap();
    }
    store.close().await;
    let size = place.path().metadata().unwrap().len();
    assert!(size < 2 << 20, "{size} bytes");
    let store = place.capped(caps);
    let left = numbers(&store, Query::default()).await;
    assert!(left.len() > 200 && left[0] == 2_000, "{} are left", left.len());
    assert!(left.is_sorted_by(|newer, older| *newer == *older + 1), "the oldest went");
    let huge = received(now(), vec![b'x'; 3 << 20]);
    let number = store.keep(huge.into()).await.unwrap();
    assert!(store.get(number).await.unwrap().is_some(), "the newest stays, however large");
}

#[tokio::test]
async fn a_store_that_was_read_leaves_no_log_behind() {
    let place = Place::new();
    let store = place.capped(Caps::default());
    store.keep(received(now(), b"{}".to_vec()).into()).await.unwrap();
    assert_eq!(numbers(&store, Query::default()).await, [1]);
    store.close().await;
    let names = place.path().parent().unwrap().read_dir().unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [place.path().file_name().unwrap()]);
}

#[tokio::test]
async fn what_anybody_can_send_takes_no_room_from_what_the_service_sent() {
    let place = Place::new();
    let store = place.capped(Caps { size: 4 << 20, ..Caps::default() });
    let genuine = |length| received(now(), vec![b'x'; length]);
    let junk = |length| {
        let verdict = Verdict { code: VerdictCode::NoMatch, secret: None, age: None };
        Received { verdict, ..genuine(length) }
    };
    let keep = async |of: Received, times: usize| {
        let keeps = (0..times).map(|_| store.keep(of.clone().into()));
        futures_util::future::try_join_all(keeps).await.unwrap();
    };
    keep(genuine(1_000), 1).await;
    keep(junk(1_000_000), 12).await;
    keep(junk(100), 200).await;
    let left = numbers(&store, Query::default()).await;
    assert_eq!(left.last(), Some(&1), "the genuine one is there");
    assert!((50..=64).contains(&left.len()), "an eighth is junk's: {}", left.len());
    for _ in 0..10 {
        keep(genuine(100_000), 10).await;
    }
    let left = numbers(&store, Query::default()).await;
    let (older, genuine): (Vec<u64>, Vec<u64>) =
        left.iter().copied().partition(|number| *number <= 213);
    assert!((50..=64).contains(&older.len()), "nor the other way round: {}", older.len());
    assert!((20..=41).contains(&genuine.len()) && left.last() != Some(&1), "{}", genuine.len());
    store.close().await;
    let size = place.path().metadata().unwrap().len();
    assert!(size < 8 << 20, "{size} bytes");
}

#[tokio::test]
async fn the_old_go_without_a_request() {
    let place = Place::new();
    let store = place.open();
    let old = now() - Duration::from_secs(3600);
    for at in [old, old, now()] {
        store.keep(received(at, "x").into()).await.unwrap();
    }
    store.close().await;
    let store = place.capped(Caps { age: Duration::from_secs(60), ..Caps::default() });
    // Carried out after the step that comes with its first request.
    store.keep(received(now(), "y").into()).await.unwrap();
    assert_eq!(numbers(&store, Query::default()).await, [4, 3]);
}

#[test]
fn a_file_of_a_newer_release_and_what_is_no_store_are_left_alone() {
    let place = Place::new();
    drop(place.open());
    let db = Connection::open(place.path()).unwrap();
    db.pragma_update(None, "user_version", 7).unwrap();
    drop(db);
    let refused = place.refused();
    assert!(matches!(refused, StoreError::Newer { found: 7, known: 1, .. }), "{refused}");
    assert!(Captures::open(&place.folder()).is_err());
    let db = Connection::open(place.path()).unwrap();
    db.execute_batch("PRAGMA application_id = 1").unwrap();
    drop(db);
    assert!(matches!(place.refused(), StoreError::NotOurs { .. }));
    std::fs::write(place.path(), "my diary, which is longer than any header of a database")
        .unwrap();
    assert!(matches!(place.refused(), StoreError::NotOurs { .. }));
    assert!(std::fs::read_to_string(place.path()).unwrap().starts_with("my diary"));
}

#[cfg(unix)]
mod modes {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[tokio::test]
    async fn all_of_it_is_its_owners_alone() {
        let place = Place::new();
        let store = place.open();
        store.keep(received(now(), "x").into()).await.unwrap();
        assert_eq!(mode(&place.folder()), 0o700);
        assert_eq!(mode(place.folder().parent().unwrap()), 0o700);
        let mut names = Vec::new();
        for entry in fs::read_dir(place.folder()).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort();
        assert_eq!(names, ["captures.db", "captures.db-shm", "captures.db-wal"]);
    }

    #[test]
    fn what_others_could_have_put_there_is_refused_and_left_as_it_is() {
        for beside in ["", "-wal", "-shm", "-journal"] {
            let place = Place::new();
            drop(place.open());
            let path = place.folder().join(format!("captures.db{beside}"));
            let other = place.home.path().join("other");
            fs::write(&other, "").unwrap();
            let _ = fs::remove_file(&path);
            symlink(&other, &path).unwrap();
            let refused = place.refused();
            assert!(matches!(refused, StoreError::Unsafe { .. }), "{refused}");
            let told = refused.to_string();
            assert!(told.contains(&path.display().to_string()), "{told}");
            assert!(Captures::open(&place.folder()).is_err());
            assert_eq!(fs::read(&other).unwrap(), b"");
            fs::remove_file(&path).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            let refused = place.refused();
            assert!(matches!(refused, StoreError::Unsafe { .. }), "{refused}");
            assert_eq!(mode(&path), 0o644);
        }
    }

    #[test]
    fn a_folder_of_others_is_refused() {
        let place = Place::new();
        drop(place.open());
        fs::set_permissions(place.folder(), Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(place.refused(), StoreError::Unsafe { .. }));
        let moved = place.home.path().join("moved");
        fs::rename(place.folder(), &moved).unwrap();
        symlink(&moved, place.folder()).unwrap();
        let refused = place.refused();
        assert!(refused.to_string().ends_with("is a symbolic link"), "{refused}");
    }
}
