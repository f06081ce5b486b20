//! Ends a command after a signal or at its time limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::progress::Progress;

/// The message of a command that reached its time limit.
pub(crate) const TIME_LIMIT_REACHED: &str = "the time limit of `--max-time` was reached";

/// State that a command shares with the thread that handles signals. Clones share the same state.
///
/// The first signal cancels a token. Then the future of the command is dropped, unless the command
/// drains: it observes the token and ends by itself. If the command does not end in time, because
/// its thread is inside a system call or a calculation, the process removes the files that the command
/// registered and exits.
#[derive(Clone, Default)]
pub(crate) struct Shutdown(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: CancellationToken,
    deadline: SetOnce<Instant>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    at_exit: Vec<Box<dyn FnOnce() + Send>>,
    signal: Option<Exit>,
    drain_time: Option<Duration>,
    runs_until_stopped: bool,
    continuation: Option<String>,
    saved: Option<String>,
    progress: Option<Progress>,
}

impl Shutdown {
    /// Registers a function that removes a file at the end of the command, or earlier if the process exits.
    pub(crate) fn at_exit(&self, remove: impl FnOnce() + Send + 'static) {
        self.state().at_exit.push(Box::new(remove));
    }

    /// Removes the registered files.
    pub(crate) fn remove_files(&self) {
        self.state().at_exit.drain(..).for_each(|remove| remove());
    }

    /// Lets the command drain: it has this time to end by itself after the returned token is cancelled.
    pub(crate) fn drain_within(&self, time: Duration) -> CancellationToken {
        self.state().drain_time = Some(time);
        self.0.requested.clone()
    }

    /// Marks a command that runs until a signal ends it, so that the signal is not reported as an error.
    pub(crate) fn run_until_stopped(&self) {
        self.state().runs_until_stopped = true;
    }

    /// Sets the command line that continues the work of this command.
    pub(crate) fn set_continuation(&self, command: Option<String>) {
        self.state().continuation = command;
    }

    /// Sets the description of the data that the command has saved so far.
    pub(crate) fn set_saved(&self, saved: String) {
        self.state().saved = Some(saved);
    }

    /// Sets the time limit of the command.
    pub(super) fn set_deadline(&self, deadline: Instant) {
        // A command has one time limit, so a second value is the same.
        let _ = self.0.deadline.set(deadline);
    }

    /// Sets the progress, which ends the line with the `^C` of the terminal.
    pub(super) fn set_progress(&self, progress: Progress) {
        self.state().progress = Some(progress);
    }

    /// Requests the end of the command after a signal. `exit` is the exit code of the signal.
    pub(crate) fn request(&self, exit: Exit) {
        let progress = self.state().progress.clone();
        if let (Exit::Interrupted, Some(progress)) = (exit, progress) {
            // This comes first, because the command may print as soon as the token is cancelled.
            progress.interrupted();
        }
        self.state().signal = Some(exit);
        self.0.requested.cancel();
    }

    /// Waits until the end of the command is requested, and returns the exit code of the signal.
    pub(crate) async fn requested(&self) -> Exit {
        self.0.requested.cancelled().await;
        self.state().signal.unwrap_or(Exit::Terminated)
    }

    /// Returns the time that the command has to end by itself; `None` if it does not drain.
    pub(crate) fn drain_time(&self) -> Option<Duration> {
        self.state().drain_time
    }

    /// Waits until the time limit, then the time to drain, then `grace` have passed. Never returns if the command has
    /// no time limit.
    pub(crate) async fn overdue(&self, grace: Duration) {
        sleep_until(*self.0.deadline.wait().await).await;
        sleep(self.drain_time().unwrap_or_default() + grace).await;
    }

    /// Returns the error of a command that a signal or its time limit ended.
    pub(crate) fn error(&self, exit: Exit) -> CliError {
        let state = self.state();
        if state.runs_until_stopped && exit != Exit::Incomplete {
            return CliError::silent(exit);
        }
        let message = match exit {
            Exit::Interrupted => "interrupted",
            Exit::HungUp => "the terminal was closed",
            Exit::Incomplete => TIME_LIMIT_REACHED,
            _ => "terminated",
        };
        let error = CliError::new(exit, message).hint(state.saved.clone().unwrap_or_default());
        error.continued_by(state.continuation.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn overdue_includes_the_time_to_drain() {
        let (shutdown, began, second) =
            (Shutdown::default(), Instant::now(), Duration::from_secs(1));
        shutdown.set_deadline(began + second);
        let set_later = async { drop(shutdown.drain_within(10 * second)) };
        tokio::join!(shutdown.overdue(2 * second), set_later);
        assert_eq!(began.elapsed(), 13 * second);
    }

    #[tokio::test]
    async fn request_cancels_the_token_and_has_an_exit_code() {
        let shutdown = Shutdown::default();
        let token = shutdown.drain_within(Duration::from_secs(1));
        assert!(!token.is_cancelled());
        shutdown.request(Exit::HungUp);
        assert!(token.is_cancelled());
        assert_eq!(shutdown.requested().await, Exit::HungUp);
    }

    #[test]
    fn signal_error_names_saved_data_and_continuation() {
        let shutdown = Shutdown::default();
        shutdown.set_saved("7 rows are stored".to_owned());
        shutdown.set_continuation(Some("formsvc submissions sync".to_owned()));
        let mut text = Vec::new();
        let error = shutdown.error(Exit::Interrupted);
        error.print(&mut text, crate::error::ErrorFormat::Text, Some(80)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("interrupted") && text.contains("7 rows are stored"), "{text}");
        assert!(text.contains("formsvc submissions sync"), "{text}");
        shutdown.run_until_stopped();
        assert_eq!(shutdown.error(Exit::Interrupted).to_text(), "");
        assert!(shutdown.error(Exit::Incomplete).to_text().contains("--max-time"));
    }
}
