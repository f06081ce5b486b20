//! The position of a poll in the list of a form, across runs.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use formsvc_client::{FormHandle, SubmissionId, SyncPoint, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::PollError;
use crate::store::private;

/// Submissions delivered out of order that a mark contains at most. Further submissions wait until all
/// deliveries in flight have ended.
const MAX_DONE: usize = 1_000;

/// The submissions of a form that were delivered to a listener, in memory and in a file.
///
/// They are those that the start covers, and those in `done`. The start advances when no delivery is in
/// flight, so it never covers an unfinished one.
#[derive(Debug)]
pub struct PollMark {
    saved: SavedMark,
    /// Submissions of an earlier run's `done` that this run has not read yet.
    unread: BTreeSet<SubmissionId>,
    /// Covers all submissions that this run has read.
    latest: Option<SyncPoint>,
    in_flight: usize,
    is_known: bool,
    /// None if it is not saved.
    file: Option<MarkFile>,
}

/// The first submission of a poll.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollStart {
    /// The form's first one: the form had no submissions at the start of the first run.
    #[default]
    First,
    /// The one after this one, which was the newest at the start of the first run.
    After { created_at: Timestamp, id: SubmissionId },
    /// The ones that this point does not cover.
    Point(Box<SyncPoint>),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedMark {
    /// Not read; they name the list for users of the file.
    service: String,
    form: String,
    path: String,
    start: PollStart,
    done: BTreeSet<SubmissionId>,
}

#[derive(Debug)]
struct MarkFile {
    path: PathBuf,
    /// Held while this exists: two polls with one mark would each lose the other's deliveries.
    lock: File,
}

impl Drop for MarkFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started has a copy of it.
        let _ = self.lock.unlock();
    }
}

impl PollMark {
    /// Creates a mark that is not saved.
    pub fn in_memory() -> Self {
        Self::new(SavedMark::default(), false, None)
    }

    /// Opens the mark of a form of a service and a path of the listener. Creates the folder for this user
    /// alone. Blocks.
    ///
    /// # Errors
    /// [`PollError::InUse`] if another poll has it. An unreadable file is an error, because a new mark would
    /// leave out submissions.
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

    /// Returns true if there was an earlier run.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    pub fn start(&self) -> &PollStart {
        &self.saved.start
    }

    /// Starts a new mark after the newest submission. Does nothing if there was an earlier run. Call it again
    /// after an outage.
    ///
    /// # Errors
    /// As the client or [`save`](Self::save).
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

    /// Adds the next submission of the list. `point` covers it. Returns false if it was delivered before.
    pub(super) fn add(&mut self, id: &SubmissionId, point: SyncPoint) -> bool {
        self.latest = Some(point);
        let is_new = !self.unread.remove(id);
        if is_new {
            self.in_flight += 1;
        }
        self.advance();
        is_new
    }

    /// Records the end of a submission's delivery.
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

    /// Returns false if further submissions have to wait.
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

/// Replaces a file. Only its owner can read the new one.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    // The new name is durable once the folder is. Windows cannot open folders as files.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
