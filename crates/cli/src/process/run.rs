//! Runs a command until it ends, or until a signal or its time limit ends it.

use std::io::{self, IsTerminal};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::signals::Signals;
use super::{log, panics};
use crate::base::env;
use crate::cmd::{Cli, Command};
use crate::context::{Context, Shutdown};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::pager;
use crate::settings::early::ParsedEarly;
use crate::settings::{self, Settings, Terminal};

/// Time that a command has to end after a signal or its time limit. Then the process exits without it.
const GRACE: Duration = Duration::from_secs(2);

/// Stack size of the threads of a command. It is large because jq expressions and templates are recursive.
const STACK: usize = 64 << 20;

/// Largest number of worker threads, which run connections, a sandbox and a listener.
const MAX_THREADS: usize = 4;

type Outcome = Result<(), CliError>;

/// Runs the command.
pub(super) fn run(cli: Cli, early: &mut ParsedEarly) -> Outcome {
    if let Some(done) = cli.command.alone(*early) {
        return done;
    }
    let terminal = Terminal {
        stdin: io::stdin().is_terminal(),
        stdout: io::stdout().is_terminal(),
        stderr: io::stderr().is_terminal(),
    };
    let settings = settings::load(cli.globals, &env::of_process, terminal, cli.command.care())?;
    early.adopt(&settings);
    panics::report(*early);
    log::to_stderr(settings.verbose, settings.output.error_format);
    let shutdown = Shutdown::default();
    // Signals have their own runtime, so that they are received while the runtime of the command waits for its
    // blocking threads.
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(|error| cannot_start(&error))?;
    runtime.block_on(async {
        // Install the handlers before the command sends its first request.
        let signals = Signals::listen().map_err(|error| {
            CliError::new(Exit::LocalIo, "cannot listen for signals").because(&error)
        })?;
        let ended = start(cli.command, settings, shutdown.clone())?;
        supervise(ended, signals, &shutdown).await
    })
}

/// Starts the command on a thread with a large stack. The receiver gets the outcome of the command, or an error
/// if the command panicked.
fn start(
    command: Command,
    settings: Settings,
    shutdown: Shutdown,
) -> Result<oneshot::Receiver<Outcome>, CliError> {
    let (done, ended) = oneshot::channel();
    let runtime = command_runtime().map_err(|error| cannot_start(&error))?;
    thread::Builder::new()
        .name("command".into())
        .stack_size(STACK)
        .spawn(move || {
            let outcome = runtime.block_on(run_command(command, settings, shutdown));
            // This waits for blocking threads, which may write to a database or a file.
            drop(runtime);
            // The receiver is dropped only after a signal ended the command.
            let _ = done.send(outcome);
        })
        .map_err(|error| cannot_start(&error))?;
    Ok(ended)
}

/// Runs the command until it ends. A signal drops its future, unless the command drains.
async fn run_command(command: Command, settings: Settings, shutdown: Shutdown) -> Outcome {
    let cx = Context::new(settings, shutdown);
    let stopped = async {
        let exit = cx.shutdown.requested().await;
        if cx.shutdown.drain_time().is_some() {
            std::future::pending::<()>().await;
        }
        exit
    };
    let outcome = tokio::select! {
        outcome = command.run(&cx) => outcome,
        exit = stopped => Err(cx.stopped(exit)),
    };
    cx.progress.end();
    outcome
}

/// Creates the runtime of a command. It has worker threads, so that tasks such as a sandbox run while the thread of
/// the command is blocked in a write.
fn command_runtime() -> io::Result<Runtime> {
    let threads = available_parallelism().map_or(2, usize::from).clamp(2, MAX_THREADS);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_stack_size(STACK).enable_all().build()
}

/// Waits for the end of the command, a signal or the time limit. Returns without waiting further if the command
/// has not ended after the grace time, or if there is a second signal.
async fn supervise(
    ended: oneshot::Receiver<Outcome>,
    mut signals: Signals,
    shutdown: &Shutdown,
) -> Outcome {
    let mut ended = ended.map(|ended| {
        // A command without an outcome panicked. The panic hook has reported it.
        ended.unwrap_or_else(|_| Err(CliError::silent(Exit::Failed)))
    });
    let mut overdue = std::pin::pin!(shutdown.overdue(GRACE).fuse());
    let exit = loop {
        tokio::select! {
            biased;
            outcome = &mut ended => return outcome,
            // Ctrl-C in a pager is a key of the pager.
            exit = signals.next() => if exit != Exit::Interrupted || !pager::is_open() {
                break exit;
            },
            () = &mut overdue => if !pager::is_open() {
                shutdown.remove_files();
                return Err(shutdown.error(Exit::Incomplete));
            },
        }
    };
    shutdown.request(exit);
    let grace = shutdown.drain_time().unwrap_or_default() + GRACE;
    exit_after(grace + GRACE, exit);
    tokio::select! {
        outcome = &mut ended => return outcome,
        () = tokio::time::sleep(grace) => {}
        () = signals.another() => exit_after(GRACE, exit),
    }
    shutdown.remove_files();
    Err(shutdown.error(exit))
}

/// Exits the process after this time. If nothing reads standard error, the write of the last error never ends.
#[expect(clippy::exit, reason = "the main thread may be inside that write")]
fn exit_after(time: Duration, exit: Exit) {
    thread::spawn(move || {
        thread::sleep(time);
        std::process::exit(exit.code().into());
    });
}

fn cannot_start(error: &io::Error) -> CliError {
    CliError::new(Exit::LocalIo, "cannot start").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_the_command_is_not_reported_twice() {
        let ended = oneshot::channel().1;
        let outcome = supervise(ended, Signals::listen().unwrap(), &Shutdown::default()).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.exit, error.to_text()), (Exit::Failed, String::new()));
    }
}
