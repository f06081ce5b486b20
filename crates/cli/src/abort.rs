//! What must not be left behind when the process ends in the middle of something.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use formsvc_export::WorkingFiles;
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::CliError;
use crate::exit::Exit;

/// What to remove when a signal or the time limit ends the process while the command is stuck inside
/// a read or a write, so that it cannot clean up itself. Shared between the command and the thread
/// that waits for signals.
#[derive(Clone, Default)]
pub(crate) struct Abort {
    left: Arc<Mutex<Left>>,
    /// The time limit of the command.
    deadline: Arc<SetOnce<Instant>>,
}

#[derive(Default)]
struct Left {
    exports: Vec<WorkingFiles>,
    files: Vec<PathBuf>,
    busy: Busy,
    /// Time that the command takes to end by itself once a signal came.
    ends_within: Option<Duration>,
    /// The command that continues this one.
    continuation: Option<String>,
    /// Description of the saved data.
    saved: Option<String>,
}

/// The message of a command that its time limit ended.
pub(crate) const TIME_IS_OVER: &str = "the time of `--max-time` is over";

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

    /// Sets the time limit of the command.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        // A command has one time limit, so that a second value is the same.
        let _ = self.deadline.set(deadline);
    }

    /// Waits until the command is this much later than its time limit and the time that it takes to end
    /// by itself; for ever without a limit.
    pub(crate) async fn overdue(&self, grace: Duration) {
        sleep_until(*self.deadline.wait().await).await;
        sleep(self.end().unwrap_or_default() + grace).await;
    }

    /// Sets the command that continues this one.
    pub(crate) fn set_continuation(&self, command: Option<String>) {
        self.left().continuation = command;
    }

    /// Sets the description of the saved data.
    pub(crate) fn set_saved(&self, saved: String) {
        self.left().saved = Some(saved);
    }

    /// The error of a command that a signal or its time limit ended.
    pub(crate) fn stopped(&self, exit: Exit) -> CliError {
        let error = CliError::new(
            exit,
            match exit {
                Exit::Interrupted => "interrupted",
                Exit::HungUp => "its terminal was closed",
                Exit::Incomplete => TIME_IS_OVER,
                _ => "terminated",
            },
        );
        let left = self.left();
        match (left.continuation.clone(), left.saved.clone()) {
            (Some(command), Some(saved)) => error.hint(saved).continued_by(command),
            (Some(command), None) => error.resumed_by(command),
            (None, Some(saved)) => error.hint(saved),
            (None, None) => error,
        }
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
        let mut left = self.left();
        left.exports.drain(..).for_each(|files| files.remove());
        for path in left.files.drain(..) {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn overdue_includes_the_time_to_end() {
        let (abort, began, second) = (Abort::default(), Instant::now(), Duration::from_secs(1));
        abort.set_deadline(began + second);
        let set_later = async { abort.ends_within(10 * second) };
        tokio::join!(abort.overdue(2 * second), set_later);
        assert_eq!(began.elapsed(), 13 * second);
    }
}
