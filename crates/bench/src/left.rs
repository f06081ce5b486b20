//! Work that answering leaves, as a database shows it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};

use crate::error::BenchError;

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(300);
/// Pause between two looks at whether any is left.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Work in a database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    pub(crate) database: PathBuf,
    /// Finds a row as long as there is any.
    pub(crate) any: String,
    /// Counts what is done.
    pub(crate) done: String,
}

impl Left {
    /// Deliveries of the service.
    pub(crate) fn of_the_service(database: &Path) -> Self {
        let any = "SELECT 1 FROM queue UNION ALL SELECT 1 FROM leases LIMIT 1".to_owned();
        let done = "SELECT count(*) FROM deliveries WHERE state = 2".to_owned();
        Self { database: database.to_owned(), any, done }
    }

    /// Waits until nothing is left.
    pub(crate) async fn wait(&self) -> Result<(), BenchError> {
        let (database, since) = (Mutex::new(self.open()?), Instant::now());
        while self.is_any(&database)? {
            if since.elapsed() > LIMIT {
                return Err(BenchError::new("the work that is left is never done"));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Whether as much was done as was asked for.
    pub(crate) fn check(&self, asked: u64) -> Result<(), BenchError> {
        let done = self.open()?.query_row(&self.done, [], |row| row.get::<_, i64>(0));
        let done = done.map_err(|why| BenchError::because("cannot count what was done", why))?;
        if u64::try_from(done) == Ok(asked) {
            return Ok(());
        }
        Err(BenchError::new(format!("{asked} were asked for and {done} done")))
    }

    fn open(&self) -> Result<Connection, BenchError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.database, flags).map_err(|why| failed(&why))
    }

    fn is_any(&self, database: &Mutex<Connection>) -> Result<bool, BenchError> {
        let database = database.lock().unwrap_or_else(PoisonError::into_inner);
        let any = database.prepare_cached(&self.any).and_then(|mut any| any.exists([]));
        any.map_err(|why| failed(&why))
    }
}

fn failed(why: &rusqlite::Error) -> BenchError {
    BenchError::because("cannot look at what is left", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_was_not_all_done_is_no_result() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("a.db");
        let made = Connection::open(&database).unwrap();
        made.execute_batch("CREATE TABLE t (done); INSERT INTO t VALUES (1), (1)").unwrap();
        let any = "SELECT 1 FROM t WHERE NOT done".to_owned();
        let left = Left { database, any, done: "SELECT count(*) FROM t WHERE done".to_owned() };
        assert!(!left.is_any(&Mutex::new(left.open().unwrap())).unwrap());
        assert!(left.check(2).is_ok());
        assert!(left.check(3).is_err() && left.check(1).is_err());
        made.execute_batch("INSERT INTO t VALUES (0)").unwrap();
        assert!(left.is_any(&Mutex::new(left.open().unwrap())).unwrap());
    }
}
