//! What only someone inside can bring about: full disks, locks held, panics, a queue that waits.

mod observing;
mod plans;
mod unreadable;

use std::sync::{Arc, mpsc};

use formsvc_protocol::{Answers, EndpointId, FormId, FormStatus, PublicId, SubmissionId, UserId};

use super::accept::Accepting;
use super::checkpoint::{Thresholds, look};
use super::open::Place;
use super::*;
use crate::admin::new_id;
use crate::store::contract::ManualClock;
use crate::store::{
    ClaimRequest, DeliveriesRequest, DeliveryState, Lane, NewEndpoint, NewForm, NewSubmission,
    PageRequest, SchemaPolicy, SealedSecret, Settled, Settlement, StagedSubmission, Store,
    StoreError, UserRecord, Verdict, Want, system_clock,
};

struct Bench {
    store: SqliteStore,
    user: UserId,
    form: FormId,
    clock: ManualClock,
    dir: tempfile::TempDir,
}

async fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_767_225_600_000_000);
    let store = SqliteStore::open(&dir.path().join("a.db"), clock.clock()).unwrap();
    let user = UserId::new("usr_1").unwrap();
    let record = UserRecord { id: user.clone(), email: "a@b".into(), name: "A".into() };
    store.add_user(record).await.unwrap();
    let form = FormId::new("frm_1").unwrap();
    store.add_form(new_form(&user, form.clone())).await.unwrap();
    Bench { store, user, form, clock, dir }
}

fn new_form(user: &UserId, id: FormId) -> NewForm {
    let public_id = PublicId::new(&format!("p-{id}")).unwrap();
    NewForm { id, user: user.clone(), public_id, title: "T".into(), status: FormStatus::Published }
}

impl Bench {
    fn submission(&self, bytes: usize) -> NewSubmission {
        NewSubmission {
            id: SubmissionId::from_bits(new_id()),
            form: self.form.clone(),
            answers: Answers::parse(format!("{{\"a\":\"{}\"}}", "x".repeat(bytes))).unwrap(),
            revision: None,
            idempotency: None,
        }
    }

    async fn pragma(&self, name: &'static str, value: i64) {
        let set = move |db: &rusqlite::Connection| {
            db.query_row(&format!("PRAGMA {name} = {value}"), [], |_| Ok(()))?;
            Ok(())
        };
        self.store.writer.run(set).await.unwrap();
    }

    async fn rows(&self) -> i64 {
        let count = |db: &rusqlite::Connection| {
            Ok(db.query_row("SELECT count(*) FROM submissions", [], |row| row.get(0))?)
        };
        self.store.writer.run(count).await.unwrap()
    }

    /// Holds the writer inside a transaction until the sender is used or dropped; returns when it
    /// is held.
    async fn hold(&self) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
        let (release, wait) = mpsc::channel::<()>();
        let (held, is_held) = tokio::sync::oneshot::channel();
        let writer = Arc::clone(&self.store.writer);
        let holding = tokio::spawn(async move {
            let work = move |_: &rusqlite::Connection| {
                let _ = held.send(());
                let _ = wait.recv();
                Ok(())
            };
            writer.run(work).await.unwrap();
        });
        is_held.await.unwrap();
        (release, holding)
    }

    async fn check_integrity(&self) {
        let check = |db: &rusqlite::Connection| {
            let found: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
            assert_eq!(found, "ok");
            assert!(!db.prepare("PRAGMA foreign_key_check")?.exists([])?);
            Ok(())
        };
        self.store.writer.run(check).await.unwrap();
    }
}

#[tokio::test]
async fn writes_that_wait_share_one_commit() {
    let bench = bench().await;
    let (release, holding) = bench.hold().await;
    let before = bench.store.write_stats();
    let mut waiting: Vec<_> = (0..100).map(|_| bench.store.submit(bench.submission(10))).collect();
    for write in &mut waiting {
        let first = futures_poll(write);
        assert!(first.is_pending());
    }
    release.send(()).unwrap();
    for write in waiting {
        write.await.unwrap();
    }
    holding.await.unwrap();
    let after = bench.store.write_stats();
    assert_eq!(after.writes - before.writes, 101);
    assert_eq!(after.commits - before.commits, 3, "the holder, 64, and 36");
}

fn futures_poll<T>(
    future: &mut crate::store::StoreFuture<'_, T>,
) -> std::task::Poll<Result<T, StoreError>> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    future.as_mut().poll(&mut context)
}

#[tokio::test]
async fn a_panic_undoes_its_own_write_and_no_other() {
    let bench = bench().await;
    let (release, holding) = bench.hold().await;
    let (left, right) = (bench.submission(10), bench.submission(10));
    let mut left = bench.store.submit(left);
    assert!(futures_poll(&mut left).is_pending());
    let half = bench.submission(10);
    let writer = Arc::clone(&bench.store.writer);
    let mut panicking: crate::store::StoreFuture<'_, ()> = Box::pin(writer.run(move |db| {
        let at = formsvc_protocol::FormInstant::from_micros(0);
        Accepting::new(db)?.accept(&half, at)?;
        panic!("on purpose");
    }));
    assert!(futures_poll(&mut panicking).is_pending());
    let mut right = bench.store.submit(right);
    assert!(futures_poll(&mut right).is_pending());
    release.send(()).unwrap();
    left.await.unwrap();
    assert!(matches!(panicking.await, Err(StoreError::Internal(_))));
    right.await.unwrap();
    holding.await.unwrap();
    assert_eq!(bench.rows().await, 2);
    bench.check_integrity().await;
}

#[tokio::test]
async fn a_submission_that_fails_halfway_undoes_itself_and_no_other() {
    let bench = bench().await;
    // It fails once it has its row, and only when it is long.
    let made = bench.store.writer.run(|db| {
        Ok(db.execute_batch(
            "CREATE TEMP TRIGGER halfway AFTER INSERT ON submissions
             WHEN length(NEW.item) > 1000 BEGIN SELECT RAISE(FAIL, 'on purpose'); END",
        )?)
    });
    made.await.unwrap();
    let (release, holding) = bench.hold().await;
    let sizes = [10, 2_000, 10, 2_000, 10];
    let mut waiting: Vec<_> =
        sizes.iter().map(|&bytes| bench.store.submit(bench.submission(bytes))).collect();
    for write in &mut waiting {
        assert!(futures_poll(write).is_pending());
    }
    release.send(()).unwrap();
    let mut accepted = Vec::new();
    for (write, size) in waiting.into_iter().zip(sizes) {
        match write.await {
            Ok(one) if size < 1_000 => accepted.push(one.instant.micros()),
            Err(StoreError::Internal(_)) if size > 1_000 => {}
            other => panic!("{size}: {other:?}"),
        }
    }
    holding.await.unwrap();
    assert_eq!(bench.rows().await, 3);
    assert!(accepted.is_sorted_by(|one, next| one + 1_000 == *next), "{accepted:?}");
    bench.check_integrity().await;
}

#[tokio::test]
async fn a_full_disk_refuses_the_batch_and_passes_when_there_is_room() {
    let bench = bench().await;
    bench.store.submit(bench.submission(10)).await.unwrap();
    let pages = bench
        .store
        .writer
        .run(|db| Ok(db.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))?));
    let pages = pages.await.unwrap();
    bench.pragma("max_page_count", pages + 8).await;

    let (release, holding) = bench.hold().await;
    let sizes = [10, 10, 1 << 20, 10];
    let mut waiting: Vec<_> =
        sizes.iter().map(|&bytes| bench.store.submit(bench.submission(bytes))).collect();
    for write in &mut waiting {
        assert!(futures_poll(write).is_pending());
    }
    release.send(()).unwrap();
    for write in waiting {
        let refused = write.await;
        let Err(StoreError::Unavailable(Some(cause))) = refused else { panic!("{refused:?}") };
        assert!(format!("{cause:?}").contains("full"), "{cause:?}");
    }
    holding.await.unwrap();
    assert_eq!(bench.rows().await, 1, "nothing of the batch was kept");
    let page =
        PageRequest { user: bench.user.clone(), form: bench.form.clone(), before: None, limit: 25 };
    assert_eq!(bench.store.page(page).await.unwrap().unwrap().len, 1, "reads go on");
    assert!(bench.store.write_stats().failed_commits > 0);

    bench.pragma("max_page_count", 1 << 30).await;
    bench.store.submit(bench.submission(1 << 20)).await.unwrap();
    bench.store.probe().await.unwrap();
    assert_eq!(bench.rows().await, 2);
    bench.check_integrity().await;
}

#[tokio::test]
async fn a_database_held_by_another_process_refuses_the_batch_and_then_goes_on() {
    let bench = bench().await;
    bench.pragma("busy_timeout", 1).await;
    let other = rusqlite::Connection::open(bench.dir.path().join("a.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = bench.store.submit(bench.submission(10)).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(Some(_)))), "{refused:?}");
    assert!(bench.store.probe().await.is_err());
    other.execute_batch("ROLLBACK").unwrap();
    bench.store.submit(bench.submission(10)).await.unwrap();
    assert_eq!(bench.rows().await, 1);
}

#[tokio::test]
async fn a_commit_that_fails_refuses_the_batch_and_then_goes_on() {
    let bench = bench().await;
    let (release, holding) = bench.hold().await;
    let mut good = bench.store.submit(bench.submission(10));
    assert!(futures_poll(&mut good).is_pending());
    // A violation that only the commit can find, after which the transaction is still open.
    let writer = Arc::clone(&bench.store.writer);
    let mut bad: crate::store::StoreFuture<'_, ()> = Box::pin(writer.run(|db| {
        db.execute_batch(
            "PRAGMA defer_foreign_keys = ON; UPDATE forms SET user_no = 999 WHERE id = 'frm_1'",
        )?;
        Ok(())
    }));
    assert!(futures_poll(&mut bad).is_pending());
    release.send(()).unwrap();
    holding.await.unwrap();
    for refused in [good.await.map(drop), bad.await] {
        assert!(matches!(refused, Err(StoreError::Unavailable(Some(_)))), "{refused:?}");
    }
    assert_eq!(bench.rows().await, 0);
    bench.store.submit(bench.submission(10)).await.unwrap();
    bench.check_integrity().await;
}

#[tokio::test]
async fn the_log_starts_over_though_a_passive_checkpoint_never_gets_to_its_end() {
    let bench = bench().await;
    let path = bench.dir.path().join("a.db");
    let own = Place::File(path.clone()).connect_writer(SchemaPolicy::Create).unwrap();
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let mut largest = 0;
    for _ in 0..60 {
        // What is written after a reader began cannot be checkpointed while it reads.
        reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
        writer.execute("UPDATE users SET name = hex(randomblob(50000))", []).unwrap();
        let turn = || reader.execute_batch("COMMIT").unwrap();
        look(&own, Thresholds { worth_it: 10, too_many: 100 }, &mut None, turn).unwrap();
        if !reader.is_autocommit() {
            reader.execute_batch("COMMIT").unwrap();
        }
        let wal = std::fs::metadata(bench.dir.path().join("a.db-wal")).unwrap();
        largest = largest.max(wal.len());
    }
    assert!(largest < 1_500_000, "6 MB went through a log of {largest} bytes");
    bench.store.close().await.unwrap();
}

#[tokio::test]
async fn small_reads_share_the_page_cache_and_large_ones_take_nothing_of_it() {
    let cache = |db: &rusqlite::Connection| {
        Ok(db.query_row("PRAGMA cache_size", [], |row| row.get::<_, i64>(0))?)
    };
    let threads = i64::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    for mib in [8, 128, 4_096] {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("a.db"), system_clock()).unwrap();
        let store = store.with_page_cache(u32::try_from(mib).unwrap());
        let small = store.readers.read(cache).unwrap();
        assert_eq!(small, -((mib << 10) / threads).max(8 << 10), "{mib} MiB");
        let large = Arc::clone(&store.readers).read_large(cache).await.unwrap();
        assert_eq!(large, -(8 << 10));
    }
    let in_memory = SqliteStore::in_memory(system_clock()).unwrap();
    assert_eq!(in_memory.readers.read(cache).unwrap(), -(8 << 10), "it is in memory already");
}

#[tokio::test]
async fn writers_wait_once_for_a_reader_that_stays() {
    let bench = bench().await;
    let place = Place::file(&bench.dir.path().join("a.db")).unwrap();
    let (own, writer) = (
        place.connect_writer(SchemaPolicy::Create).unwrap(),
        place.connect_writer(SchemaPolicy::Create).unwrap(),
    );
    own.busy_timeout(std::time::Duration::ZERO).unwrap();
    let reader = place.connect_reader(readers::CACHE_MIN).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    let (mut turns, mut stuck) = (0, None);
    let mut look = |stuck: &mut Option<i64>| {
        let thresholds = Thresholds { worth_it: 10, too_many: 100 };
        look(&own, thresholds, stuck, || turns += 1).unwrap();
        turns
    };
    for _ in 0..10 {
        writer.execute("UPDATE users SET name = hex(randomblob(50000))", []).unwrap();
    }
    assert_eq!([look(&mut stuck), look(&mut stuck), look(&mut stuck)], [1, 1, 1]);
    // It goes, and another comes.
    reader.execute_batch("COMMIT; BEGIN; SELECT count(*) FROM users").unwrap();
    writer.execute("UPDATE users SET name = hex(randomblob(50000))", []).unwrap();
    assert_eq!([look(&mut stuck), look(&mut stuck)], [2, 2]);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!((look(&mut stuck), stuck), (3, None), "the log starts over");
    bench.store.close().await.unwrap();
}

#[tokio::test]
async fn closing_empties_the_log() {
    let bench = bench().await;
    bench.store.submit(bench.submission(40_000)).await.unwrap();
    let wal = bench.dir.path().join("a.db-wal");
    assert!(std::fs::metadata(&wal).unwrap().len() > 0);
    bench.store.close().await.unwrap();
    assert_eq!(std::fs::metadata(&wal).map_or(0, |wal| wal.len()), 0);
}

#[tokio::test]
async fn every_commit_reaches_the_disk_before_it_is_answered() {
    let bench = bench().await;
    let settings = bench.store.writer.run(|db| {
        let read =
            |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        Ok((mode, read("synchronous")?, read("foreign_keys")?, read("wal_autocheckpoint")?))
    });
    assert_eq!(settings.await.unwrap(), ("wal".into(), 2, 1, 0));
}

#[tokio::test]
async fn a_new_file_has_pages_of_8_kib() {
    let bench = bench().await;
    let size = bench.store.writer.run(|db| {
        let size = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        Ok(db.query_row("PRAGMA page_size", [], size)?)
    });
    assert_eq!(size.await.unwrap(), 8_192);
}

#[tokio::test]
async fn imports_that_were_given_up_are_removed_when_a_server_starts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let clock = ManualClock::at(1_767_225_600_000_000);
    let store = SqliteStore::open(&path, clock.clock()).unwrap();
    let user = UserId::new("usr_1").unwrap();
    let record = UserRecord { id: user.clone(), email: "a@b".into(), name: "A".into() };
    store.add_user(record).await.unwrap();
    let stage = async |id: &str, submission: &str| {
        let staged = store.stage_form(new_form(&user, FormId::new(id).unwrap())).await.unwrap();
        let row = StagedSubmission {
            id: SubmissionId::new(submission).unwrap(),
            at: None,
            answers: Answers::parse("{}").unwrap(),
        };
        store.stage_submissions(&staged, vec![row]).await.unwrap();
        staged
    };
    let old = stage("frm_old", "1").await;
    let published = stage("frm_published", "2").await;
    store.publish_staged(&published).await.unwrap();
    clock.advance(3_000_000_000);
    let recent = stage("frm_recent", "3").await;
    clock.advance(1_000_000_000);
    store.close().await.unwrap();

    let beside = SqliteStore::open(&path, clock.clock()).unwrap();
    beside.close().await.unwrap();
    let server = SqliteStore::open_exclusive(&path, clock.clock()).unwrap();
    assert!(matches!(server.publish_staged(&old).await, Err(StoreError::NotFound { .. })));
    server.publish_staged(&recent).await.unwrap();
    assert_eq!(server.forms(&user).await.unwrap().len(), 2);
    server.close().await.unwrap();
}

/// Somebody else removes what they take for given up, and whoever imports goes on.
#[tokio::test]
async fn an_import_of_which_some_was_removed_is_not_published() {
    let bench = bench().await;
    let id = FormId::new("frm_slow").unwrap();
    let staged = bench.store.stage_form(new_form(&bench.user, id.clone())).await.unwrap();
    let row = |n: usize| StagedSubmission {
        id: SubmissionId::new(&format!("slow_{n}")).unwrap(),
        at: None,
        answers: Answers::parse("{}").unwrap(),
    };
    bench.store.stage_submissions(&staged, (0..5_001).map(row).collect()).await.unwrap();
    let (removed, form) = (staged::remove_some, id.clone());
    let all = bench.store.writer.run(move |db| removed(db, &form)).await.unwrap();
    assert!(!all, "some of it is left");
    let gone = bench.store.stage_submissions(&staged, vec![row(5_001)]).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    let gone = bench.store.publish_staged(&staged).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    bench.store.discard_staged(&staged).await.unwrap();
    bench.store.stage_form(new_form(&bench.user, id)).await.unwrap();
}

#[tokio::test]
async fn a_removal_that_was_cut_short_is_finished_at_the_next_start() {
    let bench = bench().await;
    let id = EndpointId::new("whe_1").unwrap();
    let (form, url, secret) =
        (bench.form.clone(), "https://a.example".into(), SealedSecret(vec![1]));
    bench.store.add_endpoint(NewEndpoint { id: id.clone(), form, url, secret }).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..600 {
        let mut write = bench.store.submit(bench.submission(1));
        match futures_poll(&mut write) {
            std::task::Poll::Ready(written) => drop(written.unwrap()),
            std::task::Poll::Pending => waiting.push(write),
        }
    }
    for write in waiting {
        write.await.unwrap();
    }
    let endpoint = bench.store.work().take().pop_last().unwrap().0;
    let claim = async |lane| {
        let wants = vec![Want { endpoint, lane, count: 1 }];
        let (lease, bytes_max) = (std::time::Duration::from_secs(30), usize::MAX);
        bench.store.claim(ClaimRequest { wants, lease, bytes_max }).await.unwrap().deliveries
    };
    let leased = claim(Lane::Fresh).await.remove(0);

    // Its first step is queued, and nobody is there to queue the second.
    let (release, holding) = bench.hold().await;
    let mut removal = bench.store.remove_endpoint(&id);
    assert!(futures_poll(&mut removal).is_pending());
    drop(removal);
    release.send(()).unwrap();
    holding.await.unwrap();
    bench.store.probe().await.unwrap();
    assert!(bench.store.endpoints(&bench.form).await.unwrap().is_empty(), "it has begun");
    assert!(bench.store.due().await.unwrap().is_empty());
    for lane in Lane::ALL {
        assert!(claim(lane).await.is_empty());
    }
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 600);

    bench.store.recover_claims().await.unwrap();
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 0);
    let (form, endpoint, after) = (bench.form.clone(), None, None);
    let state = Some(DeliveryState::Canceled);
    let request =
        DeliveriesRequest { form, endpoint, state, submission: None, after, limit: u32::MAX };
    assert_eq!(bench.store.deliveries(request).await.unwrap().len(), 600);
    let (key, lease, verdict) = (leased.key, leased.lease, Verdict::Delivered);
    let settlement = Settlement { key, lease, verdict, attempt: None, own_fault: false };
    assert_eq!(bench.store.settle(vec![settlement]).await.unwrap(), [Settled::Lost]);
    bench.check_integrity().await;
}
