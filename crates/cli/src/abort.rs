//! What must not be left behind when the process ends in the middle of something.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use formsvc_export::WorkingFiles;

/// What to remove when a signal ends the process while the command is stuck inside a read or a
/// write, so that it cannot clean up itself. Shared between the command and whoever waits for
/// signals.
#[derive(Clone, Default)]
pub(crate) struct Abort(Arc<Mutex<Left>>);

#[derive(Default)]
struct Left {
    exports: Vec<WorkingFiles>,
    files: Vec<PathBuf>,
    busy: Busy,
    /// Gives the terminal back as it was.
    terminal: Option<Box<dyn FnOnce() + Send>>,
    /// Time that the command takes to end by itself once a signal came.
    ends_within: Option<Duration>,
}

/// What the command is at while it cannot be asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Nothing of the kind: it is dropped where it waits.
    #[default]
    No,
    /// It calculates what the user told it to, perhaps for ever.
    Computing,
    /// Another program has the terminal, and Ctrl-C is a key of that program.
    TerminalLent,
}

/// While it lives, the command is busy.
pub(crate) struct WhileBusy(Abort);

impl Drop for WhileBusy {
    fn drop(&mut self) {
        self.0.left().busy = Busy::No;
    }
}

impl Abort {
    /// The working files of an export.
    pub(crate) fn removes(&self, files: WorkingFiles) {
        self.left().exports.push(files);
    }

    /// A file that says something which is true only while the process runs.
    pub(crate) fn removes_file(&self, path: PathBuf) {
        self.left().files.push(path);
    }

    /// The terminal is set otherwise than it was; this gives it back.
    pub(crate) fn gives_back(&self, terminal: Box<dyn FnOnce() + Send>) {
        self.left().terminal = Some(terminal);
    }

    /// The command calculates: a signal has nothing to wait for.
    #[must_use]
    pub(crate) fn computing(&self) -> WhileBusy {
        self.left().busy = Busy::Computing;
        WhileBusy(self.clone())
    }

    /// Another program has the terminal.
    #[must_use]
    pub(crate) fn terminal_lent(&self) -> WhileBusy {
        self.left().busy = Busy::TerminalLent;
        WhileBusy(self.clone())
    }

    /// The command ends by itself when a signal comes, and may take so long.
    pub(crate) fn ends_within(&self, time: Duration) {
        self.left().ends_within = Some(time);
    }

    /// Time the command takes to end by itself, if it does.
    pub(crate) fn end(&self) -> Option<Duration> {
        self.left().ends_within
    }

    /// What the command is at.
    pub(crate) fn busy(&self) -> Busy {
        self.left().busy
    }

    /// Removes it all.
    pub(crate) fn run(&self) {
        let terminal = self.left().terminal.take();
        if let Some(give_back) = terminal {
            give_back();
        }
        let mut left = self.left();
        left.exports.drain(..).for_each(|files| files.remove());
        for path in left.files.drain(..) {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Left> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
