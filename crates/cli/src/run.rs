//! From the process's arguments to its exit code.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;
use tokio::sync::oneshot;

use crate::abort::Abort;
use crate::args::Cli;
use crate::context::Context;
use crate::env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::choice;
use crate::settings::{self, Terminal};
use crate::signals;

/// Time a command has to end after a signal, before it is left where it is.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // Help that nobody reads to the end is no failure.
            let _ = error.print();
            exit
        }
    };
    ExitCode::from(exit.code())
}

fn run(cli: Cli) -> Exit {
    let color = cli.globals.color.unwrap_or_default();
    match carry_out(cli) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let mut err = anstream::AutoStream::new(io::stderr().lock(), choice(color));
            // With standard error closed, the exit code still says it.
            let _ = error.print(&mut err);
            error.exit
        }
    }
}

fn carry_out(cli: Cli) -> Result<(), CliError> {
    let terminal = Terminal {
        stdin: io::stdin().is_terminal(),
        stdout: io::stdout().is_terminal(),
        stderr: io::stderr().is_terminal(),
    };
    let settings = settings::load(cli.globals, &env::of_process, terminal, cli.command.care())?;
    log_to_stderr(settings.verbose);
    let abort = Abort::default();
    let (cancel, canceled) = oneshot::channel();
    let (done, ended) = oneshot::channel();
    let command = (cli.command, settings, abort.clone());
    thread::Builder::new()
        .name("command".into())
        .spawn(move || {
            let (command, settings, abort) = command;
            // Nobody waits any more only when a signal has ended the run.
            let _ = done.send(on_a_runtime(async {
                let cx = Context::new(settings, abort);
                let ended = tokio::select! {
                    done = command.run(&cx) => done,
                    Ok(exit) = canceled => Err(cx.stopped(exit)),
                };
                cx.progress.end();
                ended
            }));
        })
        .map_err(|error| CliError::new(Exit::LocalIo, "cannot start").because(&error))?;
    on_a_runtime(wait(ended, cancel, &abort))
}

/// Waits for the command or a signal. A command that waits for something is dropped where it waits;
/// one that is inside a write or a read that does not end is left there, and the process ends.
async fn wait(
    mut ended: oneshot::Receiver<Result<(), CliError>>,
    cancel: oneshot::Sender<Exit>,
    abort: &Abort,
) -> Result<(), CliError> {
    let outcome = |ended: Result<_, oneshot::error::RecvError>| {
        // The command is gone without a word: it panicked, which its hook has reported.
        ended.unwrap_or_else(|_| Err(CliError::new(Exit::Bug, "this is a bug in formsvc")))
    };
    let exit = tokio::select! {
        done = &mut ended => return outcome(done),
        signal = signals::received() => signal.map_err(|error| {
            CliError::new(Exit::LocalIo, "cannot listen for signals").because(&error)
        })?,
    };
    // The command may just have ended.
    let _ = cancel.send(exit);
    tokio::select! {
        done = &mut ended => outcome(done),
        () = tokio::time::sleep(GRACE) => {
            abort.run();
            Err(stopped(exit))
        }
        _ = signals::received() => {
            abort.run();
            Err(stopped(exit))
        }
    }
}

fn on_a_runtime<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(CliError::new(Exit::LocalIo, "cannot start").because(&error)),
    }
}

/// The end of a command that a signal interrupted.
pub(crate) fn stopped(exit: Exit) -> CliError {
    let how = if exit == Exit::Interrupted { "interrupted" } else { "terminated" };
    CliError::new(exit, how)
}

fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 | 1 => return,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
}
