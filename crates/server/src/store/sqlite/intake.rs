//! Whether it makes sense to take a submission in: known before it is read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::store::StoreError;

/// Free space below which nothing is taken in: the log, a checkpoint and what is under way need some.
const FREE_MIN: u64 = 64 << 20;
/// How long a look at the disk stands, and how long after a failed commit nothing is taken in. After
/// it one submission finds out whether commits succeed again.
const STANDS: Duration = Duration::from_secs(1);

/// What the writer and the disk say.
#[derive(Debug)]
pub(super) struct Gate {
    began: Instant,
    /// None in memory.
    disk: Option<Arc<Disk>>,
    /// Milliseconds since `began` of the last failed commit with none that succeeded since; 0 is none.
    failed: AtomicU64,
    looked: AtomicU64,
}

/// How full the disk was when it was last looked at.
struct Disk {
    /// Bytes that could still be written, where that can be known. A file system that hangs answers
    /// late or never.
    free: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    full: AtomicBool,
    looking: AtomicBool,
}

/// The disk has little space left.
#[derive(Debug, thiserror::Error)]
#[error("less than {} MiB of the disk are free", FREE_MIN >> 20)]
struct NearlyFull;

/// A commit failed a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("the last commit failed a moment ago")]
struct JustFailed;

impl Gate {
    /// Looks at the disk of a database, as opening it did.
    pub(super) fn new(database: Option<&Path>) -> Self {
        let dir = database.and_then(Path::parent).map(Path::to_path_buf);
        Self::of(dir.map(|dir| Disk::new(move || free_space(&dir))))
    }

    fn of(disk: Option<Disk>) -> Self {
        let (began, disk) = (Instant::now(), disk.map(Arc::new));
        Self { began, disk, failed: AtomicU64::new(0), looked: AtomicU64::new(0) }
    }

    /// A commit succeeded or failed.
    pub(super) fn committed(&self, succeeded: bool) {
        let failed = if succeeded { 0 } else { self.millis() };
        // Most commits succeed after one that did: nothing to write.
        if failed != self.failed.load(Ordering::Relaxed) {
            self.failed.store(failed, Ordering::Relaxed);
        }
    }

    /// Refuses when a submission would be refused. Waits for nothing: a look at the disk that is due is
    /// taken aside, and the last one stands until it is done.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let now = self.millis();
        let stands = u64::try_from(STANDS.as_millis()).unwrap_or(u64::MAX);
        let failed = self.failed.load(Ordering::Relaxed);
        if failed > 0 && now - failed.min(now) < stands {
            return Err(StoreError::Unavailable(Some(Box::new(JustFailed))));
        }
        let Some(disk) = &self.disk else { return Ok(()) };
        if now - self.looked.load(Ordering::Relaxed).min(now) >= stands {
            self.looked.store(now, Ordering::Relaxed);
            disk.look_aside();
        }
        if disk.full.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable(Some(Box::new(NearlyFull))));
        }
        Ok(())
    }

    /// Milliseconds since the gate was made, never 0.
    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl Disk {
    fn new(free: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Self {
        let (full, looking) = (AtomicBool::new(false), AtomicBool::new(false));
        let disk = Self { free: Box::new(free), full, looking };
        disk.look();
        disk
    }

    fn look(&self) {
        let full = (self.free)().is_some_and(|free| free < FREE_MIN);
        self.full.store(full, Ordering::Relaxed);
    }

    /// Looks on a thread of its own, unless one is looking: callers are on threads that must not block,
    /// and a runtime would wait at its end for one that hangs.
    fn look_aside(self: &Arc<Self>) {
        if self.looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let disk = Arc::clone(self);
        let looking = std::thread::Builder::new().name("store-disk".into()).spawn(move || {
            disk.look();
            disk.looking.store(false, Ordering::Release);
        });
        if looking.is_err() {
            self.looking.store(false, Ordering::Release);
        }
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("full", &self.full).finish_non_exhaustive()
    }
}

/// Bytes that a user without privileges could still write; none where it cannot be known.
#[cfg(unix)]
fn free_space(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_dir: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    #[test]
    fn a_failed_commit_closes_the_gate_for_a_moment_and_a_good_one_opens_it() {
        let gate = Gate::new(None);
        assert!(gate.check().is_ok());
        gate.committed(false);
        assert!(matches!(gate.check(), Err(StoreError::Unavailable(_))));
        gate.committed(true);
        assert!(gate.check().is_ok());
    }

    #[test]
    fn a_failure_is_forgotten_after_a_second() {
        let mut gate = Gate::new(None);
        gate.committed(false);
        gate.began -= 2 * STANDS;
        assert!(gate.check().is_ok());
    }

    #[test]
    fn a_disk_with_space_is_not_full() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_space(dir.path()).is_none_or(|free| free > 0));
        assert!(Gate::new(Some(&dir.path().join("a.db"))).check().is_ok());
    }

    #[test]
    fn a_disk_that_does_not_answer_holds_up_nobody_and_its_last_answer_stands() {
        let (answer, answers) = mpsc::channel();
        let answers = Mutex::new(answers);
        let looks = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&looks);
        answer.send(FREE_MIN).unwrap();
        let mut gate = Gate::of(Some(Disk::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
            answers.lock().unwrap().recv().ok()
        })));
        gate.began -= 2 * STANDS;
        // Each of these would hang if it looked by itself.
        for _ in 0..3 {
            gate.began -= 2 * STANDS;
            assert!(gate.check().is_ok());
        }
        assert!(looks.load(Ordering::SeqCst) <= 2, "one look at a time");
        answer.send(FREE_MIN - 1).unwrap();
        while gate.check().is_ok() {
            std::thread::yield_now();
        }
        answer.send(FREE_MIN).unwrap();
        while gate.check().is_err() {
            gate.began -= 2 * STANDS;
            std::thread::yield_now();
        }
    }
}
