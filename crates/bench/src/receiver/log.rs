//! What a durable receiver does at least: it appends to a file, and answers once that is on the disk.
//! One thread writes, and all that waits meanwhile shares the next `fdatasync`.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::error::BenchError;

/// Appends that may wait, and that share a sync at most.
const QUEUE: usize = 1_024;
const BATCH_MAX: usize = 256;

/// An append on its way, and where to say that it is on the disk.
type Waiting = (Bytes, oneshot::Sender<()>);

/// A log of whatever it is given.
#[derive(Clone)]
pub(super) struct Log {
    queue: mpsc::Sender<Waiting>,
}

impl Log {
    pub(super) fn create(path: &Path) -> Result<Self, BenchError> {
        let file = File::create_new(path).map_err(BenchError::at(path))?;
        let (queue, waiting) = mpsc::channel(QUEUE);
        // When it fails, requests are answered with 503, and the load says so.
        std::thread::spawn(move || write(file, waiting));
        Ok(Self { queue })
    }

    /// Whether it is on the disk.
    pub(super) async fn append(&self, text: Bytes) -> bool {
        let (done, is_done) = oneshot::channel();
        self.queue.send((text, done)).await.is_ok() && is_done.await.is_ok()
    }
}

fn write(mut file: File, mut waiting: mpsc::Receiver<Waiting>) -> std::io::Result<()> {
    let (mut batch, mut lines) = (Vec::with_capacity(BATCH_MAX), Vec::new());
    while waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        lines.clear();
        for (text, _) in &batch {
            lines.extend_from_slice(text);
            lines.push(b'\n');
        }
        file.write_all(&lines)?;
        file.sync_data()?;
        for (_, done) in batch.drain(..) {
            // The connection may have been closed.
            let _ = done.send(());
        }
    }
    Ok(())
}

/// A log of keys, which it remembers.
#[derive(Clone)]
pub(super) struct SeenLog {
    log: Log,
    seen: Arc<Mutex<HashSet<Box<str>>>>,
}

impl SeenLog {
    pub(super) fn create(path: &Path) -> Result<Self, BenchError> {
        Ok(Self { log: Log::create(path)?, seen: Arc::default() })
    }

    /// Whether it is on the disk, or was there before.
    pub(super) async fn append(&self, key: &str) -> bool {
        let is_new = self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into());
        !is_new || self.log.append(Bytes::copy_from_slice(key.as_bytes())).await
    }
}
