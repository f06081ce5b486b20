//! Whether it makes sense to take a submission in: known before it is read.

use std::path::{Path, PathBuf};
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
    /// The directory of the database; none in memory.
    dir: Option<PathBuf>,
    /// Milliseconds since `began` of the last failed commit with none that succeeded since; 0 is none.
    failed: AtomicU64,
    looked: AtomicU64,
    full: AtomicBool,
}

/// The disk has little space left.
#[derive(Debug, thiserror::Error)]
#[error("less than 64 MiB of the disk are free")]
struct NearlyFull;

/// A commit failed a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("the last commit failed a moment ago")]
struct JustFailed;

impl Gate {
    pub(super) fn new(database: Option<&Path>) -> Self {
        let dir = database.and_then(Path::parent).map(Path::to_path_buf);
        let (failed, looked) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { began: Instant::now(), dir, failed, looked, full: AtomicBool::new(false) }
    }

    /// A commit succeeded or failed.
    pub(super) fn committed(&self, succeeded: bool) {
        let failed = if succeeded { 0 } else { self.millis() };
        // Most commits succeed after one that did: nothing to write.
        if failed != self.failed.load(Ordering::Relaxed) {
            self.failed.store(failed, Ordering::Relaxed);
        }
    }

    /// Refuses when a submission would be refused.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let now = self.millis();
        let stands = u64::try_from(STANDS.as_millis()).unwrap_or(u64::MAX);
        let failed = self.failed.load(Ordering::Relaxed);
        if failed > 0 && now - failed.min(now) < stands {
            return Err(StoreError::Unavailable(Some(Box::new(JustFailed))));
        }
        let looked = self.looked.load(Ordering::Relaxed);
        if looked == 0 || now - looked.min(now) >= stands {
            self.looked.store(now, Ordering::Relaxed);
            let free = self.dir.as_deref().and_then(free_space);
            self.full.store(free.is_some_and(|free| free < FREE_MIN), Ordering::Relaxed);
        }
        if self.full.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable(Some(Box::new(NearlyFull))));
        }
        Ok(())
    }

    /// Milliseconds since the gate was made, never 0.
    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
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
}
