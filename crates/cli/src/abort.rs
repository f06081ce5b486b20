//! What must not be left behind when the process ends in the middle of something.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

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
}

impl Abort {
    /// The working files of an export.
    pub(crate) fn removes(&self, files: WorkingFiles) {
        self.left().exports.push(files);
    }

    #[cfg(feature = "sandbox")]
    /// A file that says something which is true only while the process runs.
    pub(crate) fn removes_file(&self, path: PathBuf) {
        self.left().files.push(path);
    }

    /// Removes it all.
    pub(crate) fn run(&self) {
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
