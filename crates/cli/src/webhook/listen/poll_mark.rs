//! Where `--poll` was in a form's list, across runs: nothing is lost, and what was taken does not come
//! again.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use formsvc_client::{SubmissionId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::CliError;
use crate::exit::Exit;
use crate::key::aside;
use crate::webhook::store::{StoreError, private};

/// A submission's place in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub(crate) created_at: Timestamp,
    pub(crate) id: SubmissionId,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// For people who look into the file.
    form: String,
    service: String,
    /// Everything up to it is done; nothing where the list was empty.
    up_to: Option<Spot>,
    /// What is done beyond it.
    done: Vec<SubmissionId>,
}

/// The progress through a list, in memory and in a file.
#[derive(Debug)]
pub(crate) struct PollMark {
    kept: Kept,
    /// What was begun beyond `up_to`, in order, and whether it is done.
    begun: VecDeque<(Spot, bool)>,
    /// What an earlier run had done beyond `up_to`.
    done_before: HashSet<SubmissionId>,
    /// None where nothing is remembered.
    file: Option<MarkFile>,
    /// Whether an earlier run was found.
    is_known: bool,
}

#[derive(Debug)]
struct MarkFile {
    path: PathBuf,
    /// Held as long as this exists: two runs would count each other's deliveries as their own.
    _lock: File,
}

impl PollMark {
    /// One that is forgotten with this run.
    pub(crate) fn forgotten() -> Self {
        Self {
            kept: Kept::default(),
            begun: VecDeque::new(),
            done_before: HashSet::new(),
            file: None,
            is_known: false,
        }
    }

    /// That of a form of a service, in a folder, which is made for its owner alone.
    pub(crate) fn open(folder: &Path, service: &str, form: &str) -> Result<Self, CliError> {
        let digest = Sha256::digest(format!("{service}\n{form}"));
        let path = folder.join("poll").join(format!("{}.json", hex::encode(&digest[..16])));
        let failed = |doing: &str, error: &io::Error| {
            let what = format!("cannot {doing} `{}`, where `--poll` remembers", path.display());
            CliError::new(Exit::LocalIo, what)
                .because(error)
                .hint("FORMSVC_STATE_DIR names another folder")
        };
        let lock = prepare(&path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = "another listener polls this form".to_owned();
                return Err(CliError::new(Exit::LocalIo, what).hint(
                    "end it first; or keep its deliveries apart with another FORMSVC_STATE_DIR",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &error)),
        }
        let known = match fs::read(&path) {
            Ok(text) => Some(serde_json::from_slice::<Kept>(&text).map_err(|error| {
                failed("read", &error.into())
                    .hint("remove it to begin with what is new from now on")
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &error)),
        };
        let is_known = known.is_some();
        let mut kept = known.unwrap_or_default();
        (kept.service, kept.form) = (service.to_owned(), form.to_owned());
        let done_before = kept.done.iter().cloned().collect();
        let file = Some(MarkFile { path, _lock: lock });
        Ok(Self { kept, begun: VecDeque::new(), done_before, file, is_known })
    }

    /// Whether an earlier run was here.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Everything up to here is done; nothing where the list was empty.
    pub(crate) fn up_to(&self) -> Option<&Spot> {
        self.kept.up_to.as_ref()
    }

    /// The list begins here: what there is counts as done.
    pub(crate) fn begin_at(&mut self, newest: Option<Spot>) {
        self.kept.up_to = newest;
        self.is_known = true;
    }

    /// The next submission of the list, the oldest first. False where it is done already.
    pub(crate) fn begin(&mut self, spot: Spot) -> bool {
        let is_done = self.done_before.remove(&spot.id);
        self.begun.push_back((spot, is_done));
        if is_done {
            self.advance();
        }
        !is_done
    }

    /// One that was begun is done.
    pub(crate) fn done(&mut self, id: &SubmissionId) {
        if let Some((_, is_done)) = self.begun.iter_mut().find(|(spot, _)| spot.id == *id) {
            *is_done = true;
        }
        self.advance();
    }

    fn advance(&mut self) {
        while let Some((spot, true)) = self.begun.front() {
            // One that turned up late is older than what was done before it.
            if self.kept.up_to.as_ref().is_none_or(|known| known.created_at <= spot.created_at) {
                self.kept.up_to = Some(spot.clone());
            }
            self.begun.pop_front();
        }
        let begun = self.begun.iter().filter(|(_, is_done)| *is_done).map(|(spot, _)| &spot.id);
        self.kept.done = begun.chain(&self.done_before).cloned().collect();
        self.kept.done.sort_unstable();
    }

    /// Puts it on the disk, whole or not at all, so that a crash leaves what was there.
    pub(crate) async fn save(&self) -> Result<(), CliError> {
        let Some(MarkFile { path, .. }) = &self.file else { return Ok(()) };
        let text = serde_json::to_string(&self.kept).expect("its parts are written as JSON");
        let at = path.clone();
        // A disk may take its time, and others wait for this thread.
        aside(move || replace(&at, text.as_bytes())).await?.map_err(|error| {
            let what = format!("cannot write `{}`, where `--poll` remembers", path.display());
            CliError::new(Exit::LocalIo, what).because(&error)
        })
    }
}

/// Makes the folder, and opens the file that is locked. All of it is its owner's alone: whoever else could
/// write there would say what counts as done.
fn prepare(path: &Path) -> Result<File, StoreError> {
    private::folder(path.parent().unwrap_or(path), true)?;
    private::file(path, false)?;
    let lock = path.with_extension("lock");
    private::file(&lock, true)?;
    let opened = OpenOptions::new().write(true).open(&lock);
    opened.map_err(|error| StoreError::io("open", &lock, error))
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    // Such a file is its owner's alone.
    let mut work = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    work.write_all(text)?;
    work.as_file().sync_all()?;
    work.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(number: i64) -> Spot {
        let created_at = Timestamp::from_unix_nanos(i128::from(number) * 1_000_000_000).unwrap();
        Spot { created_at, id: id(number) }
    }

    fn id(number: i64) -> SubmissionId {
        SubmissionId::new(&format!("sub_{number}")).unwrap()
    }

    fn open(folder: &Path) -> PollMark {
        PollMark::open(folder, "https://forms.test", "frm_1").unwrap()
    }

    #[tokio::test]
    async fn what_is_done_out_of_order_is_remembered_and_what_is_not_comes_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut mark = open(folder.path());
        assert!(!mark.is_known());
        mark.begin_at(Some(spot(1)));
        for number in 2..=5 {
            assert!(mark.begin(spot(number)));
        }
        mark.done(&id(4));
        mark.done(&id(2));
        assert_eq!(mark.up_to(), Some(&spot(2)));
        mark.save().await.unwrap();
        drop(mark);
        let mut mark = open(folder.path());
        assert!(mark.is_known());
        assert_eq!(mark.up_to(), Some(&spot(2)));
        let again: Vec<bool> = (3..=6).map(|number| mark.begin(spot(number))).collect();
        assert_eq!(again, [true, false, true, true]);
        mark.done(&id(3));
        assert_eq!(mark.up_to(), Some(&spot(4)));
        // Of another form or service nothing is known.
        let other = PollMark::open(folder.path(), "https://forms.test", "frm_2").unwrap();
        assert!(!other.is_known());
    }

    #[tokio::test]
    async fn a_list_that_was_empty_is_remembered_as_that() {
        let folder = tempfile::tempdir().unwrap();
        let mut mark = open(folder.path());
        mark.begin_at(None);
        mark.save().await.unwrap();
        drop(mark);
        let mark = open(folder.path());
        assert_eq!((mark.is_known(), mark.up_to()), (true, None));
    }

    #[test]
    fn one_that_turned_up_late_moves_nothing_back() {
        let mut mark = PollMark::forgotten();
        for number in [5, 4] {
            mark.begin(spot(number));
            mark.done(&id(number));
        }
        assert_eq!(mark.up_to(), Some(&spot(5)));
    }

    #[test]
    fn two_runs_do_not_share_a_mark_and_a_broken_file_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let mark = open(folder.path());
        let told =
            || PollMark::open(folder.path(), "https://forms.test", "frm_1").unwrap_err().told();
        assert!(told().contains("another listener polls this form"), "{}", told());
        let path = mark.file.as_ref().unwrap().path.clone();
        drop(mark);
        replace(&path, b"{").unwrap();
        assert!(told().contains("remove it to begin"), "{}", told());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn it_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mut mark = open(&folder.path().join("state"));
        mark.begin_at(None);
        mark.save().await.unwrap();
        let poll = folder.path().join("state/poll");
        assert_eq!(fs::metadata(&poll).unwrap().permissions().mode() & 0o777, 0o700);
        for entry in fs::read_dir(&poll).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_others_could_have_written_is_not_believed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let told =
            |state: &Path| PollMark::open(state, "https://forms.test", "frm_1").unwrap_err().told();
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let mut mark = open(&state);
        mark.begin_at(None);
        mark.save().await.unwrap();
        let path = mark.file.as_ref().unwrap().path.clone();
        drop(mark);
        for at in [path.clone(), path.with_extension("lock"), state.join("poll")] {
            let mode = fs::metadata(&at).unwrap().permissions().mode();
            fs::set_permissions(&at, PermissionsExt::from_mode(mode | 0o020)).unwrap();
            let told = told(&state);
            assert!(told.contains("can be read or changed by others"), "{told}");
            fs::set_permissions(&at, PermissionsExt::from_mode(mode)).unwrap();
        }
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(told(&state).contains("is a symbolic link"), "{}", told(&state));
        let linked = folder.path().join("linked");
        fs::create_dir(&linked).unwrap();
        symlink(state.join("poll"), linked.join("poll")).unwrap();
        assert!(told(&linked).contains("is a symbolic link"), "{}", told(&linked));
    }
}
