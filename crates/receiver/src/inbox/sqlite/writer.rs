//! The one thread that writes: it takes all that waits, commits it together, and only then answers.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::fault::closed;
use super::op::{Op, Others, answer};
use super::tables;
use super::tx::Tx;
use crate::inbox::error::Shared;
use crate::inbox::{ClaimToken, Clock, InboxError};

/// Operations that share a commit, at most.
const BATCH_MAX: usize = 256;
/// Operations that may wait; a caller beyond them waits to be queued.
const QUEUE_MAX: usize = 1_024;
/// KiB of payloads that wait, at most: 64 MiB, whatever the count of operations.
const PAYLOADS_MAX: usize = 64 << 10;
/// The part of a durable commit's time that others are waited for to share it.
const LINGER_PART: u32 = 8;
/// A commit that takes longer is waited with as if it took so long.
const COMMIT_MAX: Duration = Duration::from_millis(8);
/// Marks that are forgotten for each that is made, at most.
const PRUNED_BESIDE: usize = 2;
/// Durable commits between two looks for claims that nobody came back for.
const CLAIMS_EVERY: u32 = 4_096;

/// What waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Durability {
    /// Lost with the machine's power, and with nothing less: others see it at once, and a process that is
    /// killed leaves it.
    UntilPowerCut,
    /// Kept.
    Kept,
}

/// Operations that are carried out together.
#[derive(Default)]
struct Batch {
    passing: Vec<Box<dyn Op>>,
    kept: Vec<Box<dyn Op>>,
}

impl Batch {
    fn len(&self) -> usize {
        self.passing.len() + self.kept.len()
    }

    fn push(&mut self, message: Message) {
        match message.durability {
            Durability::UntilPowerCut => self.passing.push(message.op),
            Durability::Kept => self.kept.push(message.op),
        }
    }
}

struct Message {
    op: Box<dyn Op>,
    durability: Durability,
}

/// The writer's end that callers hold; the thread ends, when it has done what waits, with the last of them.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    payloads: Arc<Semaphore>,
}

impl Writer {
    pub(super) fn start(connection: Connection, clock: Clock) -> io::Result<Self> {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let desk =
            Desk { connection, clock, durability: None, commits: 0, commit_took: Duration::ZERO };
        std::thread::Builder::new().name("inbox-writer".into()).spawn(|| desk.serve(waiting))?;
        Ok(Self { queue, payloads: Arc::new(Semaphore::new(PAYLOADS_MAX)) })
    }

    /// Queues an operation. Once queued it is carried out, whoever waits for it.
    pub(super) async fn send(
        &self,
        op: Box<dyn Op>,
        durability: Durability,
    ) -> Result<(), InboxError> {
        self.queue.send(Message { op, durability }).await.map_err(|_| closed())
    }

    /// Waits for room for a payload, which is taken until the permit is dropped.
    pub(super) async fn room_for(&self, bytes: usize) -> Result<OwnedSemaphorePermit, InboxError> {
        let kib = bytes.div_ceil(1 << 10).min(PAYLOADS_MAX);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        Arc::clone(&self.payloads).acquire_many_owned(kib).await.map_err(|_| closed())
    }

    /// Queues an operation where there is room, and does not wait for any.
    pub(super) fn try_send(&self, op: Box<dyn Op>, durability: Durability) {
        let _ = self.queue.try_send(Message { op, durability });
    }
}

/// What the thread owns.
struct Desk {
    connection: Connection,
    clock: Clock,
    /// What the connection is set to.
    durability: Option<Durability>,
    commits: u32,
    /// How long the last durable commit took.
    commit_took: Duration,
}

impl Desk {
    fn serve(mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(BATCH_MAX);
        let mut batch = Batch::default();
        while waiting.blocking_recv_many(&mut messages, BATCH_MAX) > 0 {
            messages.drain(..).for_each(|message| batch.push(message));
            // What was claimed is handled while the disk writes.
            let mut left = Vec::new();
            if self.answer_passing(&mut batch, &mut left) && !batch.kept.is_empty() {
                self.gather(&mut waiting, &mut batch, &mut left);
            }
            let kept = std::mem::take(&mut batch.kept);
            left.extend(self.commit_and_answer(kept, Durability::Kept));
            self.give_back(&left);
        }
    }

    /// `false` when there was nothing.
    fn answer_passing(&mut self, batch: &mut Batch, left: &mut Vec<ClaimToken>) -> bool {
        let passing = std::mem::take(&mut batch.passing);
        let any = !passing.is_empty();
        left.extend(self.commit_and_answer(passing, Durability::UntilPowerCut));
        any
    }

    /// Whoever has just got a claim may complete it in a moment: waiting for that, for a part of the time
    /// that the disk takes, lets twice as many share a commit when the disk is what everybody waits for.
    fn gather(
        &mut self,
        waiting: &mut mpsc::Receiver<Message>,
        batch: &mut Batch,
        left: &mut Vec<ClaimToken>,
    ) {
        let (began, patience) = (Instant::now(), self.commit_took.min(COMMIT_MAX) / LINGER_PART);
        while batch.kept.len() < BATCH_MAX && began.elapsed() < patience {
            std::thread::yield_now();
            // What is left waits for the next batch.
            while batch.len() < BATCH_MAX
                && let Ok(message) = waiting.try_recv()
            {
                batch.push(message);
            }
            self.answer_passing(batch, left);
        }
    }

    /// Gives the claims of those who had gone when they were answered.
    fn commit_and_answer(&mut self, mut ops: Vec<Box<dyn Op>>, as_: Durability) -> Vec<ClaimToken> {
        if ops.is_empty() {
            return Vec::new();
        }
        let committed = self.commit(&mut ops, as_);
        if ops.len() > 1 && committed.as_ref().is_err_and(may_be_of_one) {
            // Whoever fails alone fails nobody else: a mark is not lost to a payload that finds no room.
            return ops.into_iter().flat_map(|op| self.commit_and_answer(vec![op], as_)).collect();
        }
        let committed = committed.map_err(Shared::from);
        let Some(first) = ops.pop() else { return Vec::new() };
        if ops.is_empty() {
            return answer(first, committed, None).into_iter().collect();
        }
        let others = Others::new(ops, committed.clone());
        let first = answer(first, committed, Some(Arc::clone(&others)));
        let mut left: Vec<_> = first.into_iter().collect();
        std::thread::yield_now();
        left.extend(others.tell());
        left
    }

    fn give_back(&mut self, left: &[ClaimToken]) {
        if left.is_empty() {
            return;
        }
        let now = self.clock.millis();
        // When it fails, the leases run out.
        let _ = self.transact(Durability::UntilPowerCut, |tx| {
            left.iter().try_for_each(|held| tables::give_back(tx, held, now).map(drop))
        });
    }

    fn commit(&mut self, ops: &mut [Box<dyn Op>], as_: Durability) -> rusqlite::Result<()> {
        let (now, began) = (self.clock.millis(), Instant::now());
        let looks_at_claims = as_ == Durability::Kept && self.commits.is_multiple_of(CLAIMS_EVERY);
        self.transact(as_, |tx| {
            ops.iter_mut().try_for_each(|op| op.run(tx, now))?;
            if as_ == Durability::Kept {
                tables::prune_marks(tx, now, ops.len() * PRUNED_BESIDE)?;
            }
            if looks_at_claims {
                tables::prune_claims(tx, now)?;
            }
            Ok(())
        })?;
        if as_ == Durability::Kept {
            self.commits = self.commits.wrapping_add(1);
            self.commit_took = began.elapsed();
        }
        Ok(())
    }

    /// Runs work in one transaction. On an error nothing of it remains.
    fn transact(
        &mut self,
        as_: Durability,
        work: impl FnOnce(&Tx<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        self.set(as_)?;
        let db = &self.connection;
        let run = |sql| db.prepare_cached(sql)?.execute([]).map(drop);
        run("BEGIN IMMEDIATE")?;
        let tx = Tx::on(db);
        let done = work(&tx).and_then(|()| tx.finish()).and_then(|()| run("COMMIT"));
        if done.is_err() && !db.is_autocommit() {
            // Fails only when the transaction is gone already.
            let _ = db.execute_batch("ROLLBACK");
        }
        done
    }

    /// Has commits wait for the disk, or not. In WAL mode a commit that waits makes all before it durable.
    fn set(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability == Some(durability) {
            return Ok(());
        }
        self.durability = None;
        // Not from the cache: SQLite does this while it prepares the statement, and not when it runs it.
        self.connection.execute_batch(match durability {
            Durability::UntilPowerCut => "PRAGMA synchronous = NORMAL",
            Durability::Kept => "PRAGMA synchronous = FULL",
        })?;
        self.durability = Some(durability);
        Ok(())
    }
}

/// Whether one operation can have failed all that shared its commit, rather than the file's place.
fn may_be_of_one(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
        )
    )
}

#[cfg(test)]
mod tests {
    use super::super::op::{Answer, MayClaim, op};
    use super::super::{file, tables};
    use super::*;
    use crate::inbox::{InboxErrorKind, Recorded, Scope};

    fn desk() -> (tempfile::TempDir, Desk) {
        let dir = tempfile::tempdir().unwrap();
        let connection = file::open(&dir.path().join("inbox.db")).unwrap();
        (
            dir,
            Desk {
                connection,
                clock: Clock::default(),
                durability: None,
                commits: 0,
                commit_took: Duration::ZERO,
            },
        )
    }

    impl MayClaim for i64 {
        fn claimed(&self) -> Option<ClaimToken> {
            None
        }
    }

    fn mark(key: &'static str) -> (Box<dyn Op>, Answer<Recorded>) {
        op(move |tx, now| tables::mark(tx, &Scope::default(), key, now, now + 1_000))
    }

    fn marks(desk: &Desk) -> i64 {
        let sql = "SELECT count(*) FROM formsvc_inbox_marks";
        desk.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn only_what_is_kept_waits_for_the_disk() {
        let (_dir, mut desk) = desk();
        // 1 is NORMAL and 2 is FULL, as SQLite numbers them.
        let rows = [(Durability::UntilPowerCut, 1), (Durability::Kept, 2)];
        for (durability, number) in [rows, rows].concat() {
            let (ask, mut answer) =
                op(|tx, _| tx.db().query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)));
            desk.commit_and_answer(vec![ask], durability);
            assert_eq!(answer.try_recv().unwrap().own.unwrap(), number, "{durability:?}");
        }
    }

    #[test]
    fn a_commit_has_its_bounds_however_many_wait() {
        let (_dir, mut desk) = desk();
        desk.commit_took = Duration::from_secs(1);
        let (queue, mut waiting) = mpsc::channel(QUEUE_MAX);
        for _ in 0..QUEUE_MAX {
            let message = Message { op: mark("k").0, durability: Durability::Kept };
            assert!(queue.try_send(message).is_ok());
        }
        let mut batch = Batch::default();
        desk.gather(&mut waiting, &mut batch, &mut Vec::new());
        assert_eq!(batch.len(), BATCH_MAX);
    }

    #[test]
    fn what_finds_no_room_fails_and_nobody_who_shares_its_commit() {
        let (_dir, mut desk) = desk();
        let (first, mut answer) = mark("first");
        desk.commit_and_answer(vec![first], Durability::Kept);
        assert_eq!(answer.try_recv().unwrap().own.unwrap(), Recorded::New);
        // No more pages than there are.
        desk.connection.execute_batch("PRAGMA max_page_count = 1").unwrap();
        let (before, mut of_before) = mark("before");
        let payload = vec![7; 1 << 20];
        let (large, mut of_large) = op(move |tx, now| {
            let kept = tables::accept(tx, &Scope::default(), "large", &payload, now)?;
            Ok(kept.unwrap_or(Recorded::Duplicate))
        });
        let (after, mut of_after) = mark("after");
        desk.commit_and_answer(vec![before, large, after], Durability::Kept);
        let error = of_large.try_recv().unwrap().own.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Unavailable, "{error:?}");
        for answer in [&mut of_before, &mut of_after] {
            assert_eq!(answer.try_recv().unwrap().own.unwrap(), Recorded::New);
        }
        assert_eq!(marks(&desk), 3, "and nothing of the large one");
        desk.connection.execute_batch("PRAGMA max_page_count = 1000000").unwrap();
        let (again, mut answer) = mark("large");
        desk.commit_and_answer(vec![again], Durability::Kept);
        assert_eq!(answer.try_recv().unwrap().own.unwrap(), Recorded::New);
    }

    #[test]
    fn who_is_answered_first_may_answer_the_others_and_else_the_writer_does() {
        for first_does in [true, false] {
            let (first, mut of_first) = mark("a");
            let (rest, mut of_rest): (Vec<_>, Vec<_>) = ["b", "c"].map(mark).into_iter().unzip();
            let failed = InboxError::from(InboxErrorKind::Unavailable);
            let failed = Shared { kind: failed.kind(), source: Arc::new(failed) };
            let others = Others::new(rest, Err(failed.clone()));
            answer(first, Err(failed), Some(Arc::clone(&others)));
            let told = of_first.try_recv().unwrap();
            assert!(of_rest.iter_mut().all(|answer| answer.try_recv().is_err()), "too soon");
            let teller = if first_does { told.others.unwrap() } else { others };
            teller.tell();
            for answer in &mut of_rest {
                let own = answer.try_recv().unwrap().own;
                assert_eq!(own.unwrap_err().kind(), InboxErrorKind::Unavailable);
            }
            assert!(teller.tell().is_empty(), "each is answered once");
        }
    }

    #[test]
    fn a_commit_answers_everybody_though_the_first_of_them_sleeps() {
        let (_dir, mut desk) = desk();
        let (ops, mut answers): (Vec<_>, Vec<_>) = ["a", "b", "c"].map(mark).into_iter().unzip();
        // Nobody looks at an answer before all are there.
        desk.commit_and_answer(ops, Durability::Kept);
        for answer in &mut answers {
            assert_eq!(answer.try_recv().unwrap().own.unwrap(), Recorded::New);
        }
    }

    #[test]
    fn what_is_claimed_for_somebody_who_has_gone_is_given_back() {
        let (_dir, mut desk) = desk();
        let scope = Scope::default();
        let ask = || {
            op(move |tx, now| super::super::inbox::claimed(tx, &Scope::default(), "k", now, 9_000))
        };
        let (gone, answer) = ask();
        drop(answer);
        let left = desk.commit_and_answer(vec![gone], Durability::UntilPowerCut);
        assert_eq!(left.len(), 1);
        let now = desk.clock.millis();
        let claim = |desk: &Desk| {
            tables::claim(&Tx::on(&desk.connection), &scope, "k", now, 9_000).unwrap()
        };
        assert!(matches!(claim(&desk), tables::Claimed::InFlight { .. }));
        desk.give_back(&left);
        assert!(matches!(claim(&desk), tables::Claimed::Acquired { .. }));
    }

    #[test]
    fn marks_whose_time_has_come_go_while_others_are_made() {
        let (_dir, mut desk) = desk();
        for key in ["a", "b", "c"] {
            let _new =
                tables::mark(&Tx::on(&desk.connection), &Scope::default(), key, 0, 1).unwrap();
        }
        let (new, _answer) = mark("new");
        desk.commit_and_answer(vec![new], Durability::Kept);
        assert_eq!(marks(&desk), 2, "two for one, and the one");
    }
}
