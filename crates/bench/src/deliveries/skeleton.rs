//! The least that can be called deliveries with their state kept: the service's client posts bodies that
//! are there, and what was delivered is changed in its row, many rows to a commit, which reaches the
//! disk. Nothing is claimed, no attempt is recorded, no answer is looked at but for its status.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use formsvc_server::store::system_clock;
use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use super::drain::{BODIES, Mark, Post, body};
use super::{AT_A_TIME, Drained};
use crate::error::BenchError;

/// Outcomes that share a commit, at most.
const TOGETHER_MAX: usize = 256;
/// How long outcomes wait for each other.
const LINGER: Duration = Duration::from_millis(1);

/// Delivers as many as asked for, of the first form of a database.
pub(super) async fn drain(path: &Path, sink: &str, count: u64) -> Result<Drained, BenchError> {
    let failed = |why| BenchError::because("no database", why);
    let connection = Connection::open(path).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    let first: i64 = connection
        .query_row("SELECT min(submission) FROM deliveries", [], |row| row.get(0))
        .map_err(failed)?;
    let post = Arc::new(Post::new(sink)?);
    let bodies: Arc<Vec<Bytes>> = Arc::new((0..BODIES).map(body).collect());
    let next = Arc::new(AtomicU64::new(0));
    let mark = Mark::now()?;
    let (outcomes, done) = mpsc::channel(1_024);
    let (writes, waiting) = mpsc::channel(1);
    let recording = tokio::task::spawn_blocking(move || write(&connection, waiting));
    let gathering = tokio::spawn(gather(done, writes));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_A_TIME {
        let (post, bodies, next) = (Arc::clone(&post), Arc::clone(&bodies), Arc::clone(&next));
        let outcomes = outcomes.clone();
        workers.spawn(async move {
            let mut at = next.fetch_add(1, Ordering::Relaxed);
            while at < count {
                let which = usize::try_from(at % BODIES).expect("there are few bodies");
                post.send(bodies[which].clone()).await?;
                let key = first + i64::try_from(at).expect("there are few deliveries");
                // Who records ends with an error only, which is told below.
                let _ = outcomes.send(key).await;
                at = next.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
    }
    drop(outcomes);
    let all: Result<Vec<()>, BenchError> = workers.join_all().await.into_iter().collect();
    all?;
    let panicked = |why| BenchError::because("recording panicked", why);
    gathering.await.map_err(panicked)?;
    let written = recording.await.map_err(panicked)?;
    let written = written.map_err(|why| BenchError::because("not recorded", why))?;
    if written != count {
        return Err(BenchError::new(format!("{count} were asked for and {written} done")));
    }
    mark.drained()
}

/// Hands outcomes on together, once the last ones are on the disk.
async fn gather(mut done: mpsc::Receiver<i64>, writes: mpsc::Sender<Vec<i64>>) {
    let mut keys = Vec::with_capacity(TOGETHER_MAX);
    while done.recv_many(&mut keys, TOGETHER_MAX).await > 0 {
        tokio::time::sleep(LINGER).await;
        while keys.len() < TOGETHER_MAX
            && let Ok(key) = done.try_recv()
        {
            keys.push(key);
        }
        if writes.send(std::mem::take(&mut keys)).await.is_err() {
            return;
        }
    }
}

/// Changes rows, and says how many.
fn write(connection: &Connection, mut waiting: mpsc::Receiver<Vec<i64>>) -> rusqlite::Result<u64> {
    let mut written = 0;
    while let Some(keys) = waiting.blocking_recv() {
        let now = system_clock()().micros();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut change = connection.prepare_cached(
            "UPDATE deliveries SET state = 2, finished_us = ?2 WHERE submission = ?1 AND endpoint_no = 1",
        )?;
        for key in keys {
            written += change.execute(params![key, now])? as u64;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(written)
}
