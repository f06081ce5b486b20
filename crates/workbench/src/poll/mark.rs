//! Remembers across runs which submissions of a form a poll has delivered or given up.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use formsvc_client::{FormHandle, SubmissionId, SyncPoint, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::PollError;
use crate::store::private;

/// Number of submissions in `SavedMark::done` from which the poll reads no further ones until all deliveries in flight
/// have ended.
const MAX_DONE: usize = 1_000;

/// The submissions of a form that a poll has finished, in memory and in a file. A submission is finished when its
/// delivery was answered with 2xx or its last retry failed.
///
/// The finished submissions are those before [`PollStart`] and those in `done`. The start advances only when no
/// delivery is in flight, so no submission before the start is unfinished.
#[derive(Debug)]
pub struct PollMark {
    saved: SavedMark,
    /// Submissions that an earlier run added to `done` and that this run has not read yet.
    unread: BTreeSet<SubmissionId>,
    /// The position after all submissions that this run has read.
    latest: Option<SyncPoint>,
    in_flight: usize,
    is_known: bool,
    /// The file of the mark; `None` if the mark is only in memory.
    file: Option<MarkFile>,
}

/// The position in the form's list at which a poll starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollStart {
    /// The beginning of the list: the form had no submissions when the first run started.
    #[default]
    First,
    /// After this submission, which was the newest when the first run started.
    After { created_at: Timestamp, id: SubmissionId },
    /// After all submissions that this point covers.
    Point(Box<SyncPoint>),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedMark {
    /// The fields `service`, `form` and `path` are written for users that open the file, and are never read.
    service: String,
    form: String,
    path: String,
    start: PollStart,
    done: BTreeSet<SubmissionId>,
}

#[derive(Debug)]
struct MarkFile {
    path: PathBuf,
    /// The file is locked while this value exists, because two polls with one mark would overwrite each other's
    /// changes.
    lock: File,
}

impl Drop for MarkFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is just being started may have a copy of the descriptor.
        let _ = self.lock.unlock();
    }
}

impl PollMark {
    /// Creates a mark that is only in memory.
    pub fn in_memory() -> Self {
        Self::new(SavedMark::default(), false, None)
    }

    /// Opens the mark for a service, a form and a path of the listener. Creates the folder with mode 700 if it is
    /// missing. Blocks.
    ///
    /// # Errors
    /// [`PollError::InUse`] if another poll uses the mark. An unreadable file is an error too, because a new mark would
    /// skip submissions.
    pub fn open(folder: &Path, service: &str, form: &str, path: &str) -> Result<Self, PollError> {
        let service = service.trim_end_matches('/');
        let digest = Sha256::digest(format!("{service}\n{form}\n{path}"));
        let folder = folder.join("poll");
        let file = folder.join(format!("{}.json", hex::encode(&digest[..16])));
        let lock = file.with_extension("lock");
        private::create_folder(&folder)?;
        private::create_file(&lock)?;
        let lock_file = OpenOptions::new()
            .write(true)
            .open(&lock)
            .map_err(|source| PollError::Io { path: lock.clone(), source })?;
        match lock_file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PollError::InUse { path: file }),
            Err(TryLockError::Error(source)) => return Err(PollError::Io { path: lock, source }),
        }
        let mut saved = SavedMark::default();
        let is_known = private::file_exists(&file)?;
        if is_known {
            let text =
                fs::read(&file).map_err(|source| PollError::Io { path: file.clone(), source })?;
            saved = serde_json::from_slice(&text)
                .map_err(|source| PollError::BadMark { path: file.clone(), source })?;
        }
        (saved.service, saved.form, saved.path) = (service.into(), form.into(), path.into());
        Ok(Self::new(saved, is_known, Some(MarkFile { path: file, lock: lock_file })))
    }

    fn new(saved: SavedMark, is_known: bool, file: Option<MarkFile>) -> Self {
        let unread = saved.done.clone();
        Self { saved, unread, latest: None, in_flight: 0, is_known, file }
    }

    /// Returns true if an earlier run or [`begin`](Self::begin) has saved the mark.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    pub fn start(&self) -> &PollStart {
        &self.saved.start
    }

    /// Sets the start of a new mark to the newest submission. Does nothing if the mark is known. After an error, this
    /// method can be called again.
    ///
    /// # Errors
    /// Fails if the request or saving the mark fails.
    pub async fn begin(&mut self, form: &FormHandle) -> Result<(), PollError> {
        if self.is_known {
            return Ok(());
        }
        let mut list = form.submissions().page_size(1).allow_incomplete(true).items();
        if let Some(newest) = list.try_next().await? {
            let (created_at, id) = (newest.created_at, newest.id);
            self.saved.start = PollStart::After { created_at, id };
        }
        self.save().await?;
        self.is_known = true;
        Ok(())
    }

    /// Adds the next submission of the list, which `point` covers. Returns false if an earlier run has finished the
    /// submission.
    pub(super) fn add(&mut self, id: &SubmissionId, point: SyncPoint) -> bool {
        self.latest = Some(point);
        let is_new = !self.unread.remove(id);
        if is_new {
            self.in_flight += 1;
        }
        self.advance();
        is_new
    }

    /// Records that a submission was delivered or that its last retry failed.
    pub(super) fn finish(&mut self, id: SubmissionId) {
        self.in_flight -= 1;
        self.saved.done.insert(id);
        self.advance();
    }

    fn advance(&mut self) {
        if self.in_flight == 0
            && let Some(latest) = self.latest.take()
        {
            self.saved.start = PollStart::Point(latest.into());
            self.saved.done.clone_from(&self.unread);
        }
    }

    /// Returns false if the poll must not read further submissions yet.
    pub(super) fn has_room(&self) -> bool {
        self.saved.done.len() < MAX_DONE || self.in_flight == 0
    }

    /// Saves the mark atomically and durably.
    pub(super) async fn save(&self) -> Result<(), PollError> {
        let Some(MarkFile { path, .. }) = &self.file else { return Ok(()) };
        let text = serde_json::to_vec(&self.saved).expect("ids and texts serialize");
        let file = path.clone();
        let replaced = tokio::task::spawn_blocking(move || replace(&file, &text)).await;
        replaced
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|source| PollError::Io { path: path.clone(), source })
    }
}

/// Replaces a file by a new file, which only its owner can read.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    // The new name is durable after the folder is synced. Windows cannot open folders as files.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
