//! From the process's arguments to its exit code.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Command, FromArgMatches};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::abort::{Abort, Busy};
use crate::at_once;
use crate::base::env;
use crate::base::text::stderr_width;
use crate::cmd::Cli;
use crate::cmd::page;
use crate::complete;
use crate::context::Context;
use crate::error::ErrorFormat;
use crate::error::{CliError, usage};
use crate::exit::Exit;
use crate::output::to_stderr;
use crate::process::log;
use crate::process::panics;
use crate::settings::early::Early;
use crate::settings::{self, Settings, Terminal};
use crate::signals::Signals;

/// Time a command has to end after a signal or its time limit, before it is left where it is.
const GRACE: Duration = Duration::from_secs(2);

/// Stack of the thread that runs the command, and of the blocking threads of its runtime.
const STACK: usize = 64 << 20;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut early = Early::of(&args, &env::of_process);
    panics::tell(early);
    let exit = panics::caught(|| {
        if complete::answered(&args, &env::of_process) {
            return Exit::Done;
        }
        let said = at_once::said(&args, early, &env::of_process, || io::stdout().is_terminal());
        let done = match said {
            Some(text) => page::put(&text),
            None => understood(&mut early, &args).and_then(|cli| carry_out(cli, &mut early)),
        };
        match done {
            Ok(()) => Exit::Done,
            Err(error) => tell(&error, early),
        }
    });
    ExitCode::from(exit.code())
}

/// The command as people ask for it: laid out for whoever reads its help.
pub(crate) fn laid_out() -> Command {
    if io::stdout().is_terminal() || env::of_process(env::COLUMNS.name).is_some() {
        crate::cmd::command().max_term_width(page::WIDTH_MAX)
    } else {
        at_once::laid_out_for_a_pipe()
    }
}

fn understood(early: &mut Early, args: &[OsString]) -> Result<Cli, CliError> {
    // Never dropped: the process is about to end or to do what was asked, and taking the tree apart is a
    // seventh of the work of `--help`.
    let mut command = ManuallyDrop::new(laid_out());
    let error = match command.try_get_matches_from_mut(args) {
        Ok(mut matches) => match Cli::from_arg_matches_mut(&mut matches) {
            Ok(cli) => return Ok(cli),
            Err(error) => error,
        },
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Not printed by the parser, which has a rule of its own for colours.
        page::show(&error.render().ansi(), *early)?;
        return Err(CliError::silent(Exit::Done));
    }
    if args.iter().skip(1).all(|arg| arg == "--quiet" || arg == "-q" || arg == "--no-pager") {
        // No word of what is to be done asks what there is; a group of commands without one of them
        // is a slip.
        page::show(&command.render_help().ansi(), *early)?;
        return Err(CliError::silent(Exit::Done));
    }
    early.ask_configuration(&env::of_process);
    command.build();
    let path = usage::path(&command, args);
    let missing = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if let (Some(group), true, ErrorFormat::Text) = (path.last(), missing, early.error_format) {
        let help = (*group).clone().render_help();
        // With standard error closed, the exit code still says it.
        let _ = to_stderr(early.color, |err| write!(err, "{}", help.ansi()));
        return Err(CliError::silent(Exit::Usage));
    }
    Err(usage::told(&error, &path, args))
}

/// Tells of a failure on standard error, and says how the run ends.
fn tell(error: &CliError, early: Early) -> Exit {
    // With standard error closed, the exit code still says it.
    let _ = to_stderr(early.color, |err| error.print(err, early.error_format, stderr_width()));
    error.exit
}

fn carry_out(cli: Cli, early: &mut Early) -> Result<(), CliError> {
    if let Some(done) = cli.command.alone(*early) {
        return done;
    }
    let terminal = Terminal {
        stdin: io::stdin().is_terminal(),
        stdout: io::stdout().is_terminal(),
        stderr: io::stderr().is_terminal(),
    };
    let settings = settings::load(cli.globals, &env::of_process, terminal, cli.command.care())
        .inspect_err(|_| early.ask_configuration(&env::of_process))?;
    early.adopt(&settings);
    panics::tell(*early);
    log::to_stderr(settings.verbose, settings.error_format);
    let abort = Abort::default();
    on_a_runtime(async {
        // Before the command begins: a signal may come with its first request.
        let signals = Signals::listen().map_err(|error| {
            CliError::new(Exit::LocalIo, "cannot listen for signals").because(&error)
        })?;
        let (cancel, canceled) = oneshot::channel();
        let ended = start(cli.command, settings, abort.clone(), canceled)?;
        wait(ended, cancel, signals, &abort).await
    })
}

/// Starts the command on a thread of its own; how it ends comes by the channel.
fn start(
    command: crate::cmd::Command,
    settings: Settings,
    abort: Abort,
    canceled: oneshot::Receiver<Exit>,
) -> Result<oneshot::Receiver<Result<(), CliError>>, CliError> {
    let (done, ended) = oneshot::channel();
    thread::Builder::new()
        .name("command".into())
        // Expressions of jq call themselves; memory is taken only as they do.
        .stack_size(STACK)
        .spawn(move || {
            // Nobody waits any more only when a signal has ended the run.
            let _ = done.send(on_a_runtime(async {
                let cx = Context::new(settings, abort);
                let stopped = async {
                    match canceled.await {
                        Ok(exit) if !cx.ends_by_itself(exit) => exit,
                        // Told to the command, which ends when it has done what it must.
                        _ => std::future::pending().await,
                    }
                };
                let ended = tokio::select! {
                    done = command.run(&cx) => done,
                    exit = stopped => Err(cx.stopped(exit)),
                };
                cx.progress.end();
                ended
            }));
        })
        .map_err(|error| CliError::new(Exit::LocalIo, "cannot start").because(&error))?;
    Ok(ended)
}

/// Waits for the command, a signal or the time limit. A command that waits for something is dropped
/// where it waits; one that is inside a write or a read that does not end is left there, and the
/// process ends.
async fn wait(
    mut ended: oneshot::Receiver<Result<(), CliError>>,
    cancel: oneshot::Sender<Exit>,
    mut signals: Signals,
    abort: &Abort,
) -> Result<(), CliError> {
    let outcome = |ended: Result<_, oneshot::error::RecvError>| {
        // The command is gone without a word: it panicked, which its hook has reported.
        ended.unwrap_or_else(|_| Err(CliError::silent(Exit::Failed)))
    };
    let mut overdue = std::pin::pin!(abort.overdue(GRACE).fuse());
    let exit = loop {
        let exit = tokio::select! {
            biased;
            done = &mut ended => return outcome(done),
            exit = signals.next() => exit,
            () = &mut overdue => {
                // The work is done, and the user reads its result.
                if abort.busy() == Busy::TerminalLent {
                    continue;
                }
                abort.run();
                return Err(abort.stopped(Exit::Incomplete));
            }
        };
        // Ctrl-C in a pager is a key of the pager.
        if !(exit == Exit::Interrupted && abort.busy() == Busy::TerminalLent) {
            break exit;
        }
    };
    // What calculates does not see that it is to stop.
    let grace = match (abort.end(), abort.busy()) {
        // It may calculate between two things that it does; where it does so for ever, a second signal ends it.
        (Some(end), _) => end + GRACE,
        (None, Busy::Computing) => Duration::ZERO,
        (None, _) => GRACE,
    };
    // The command may just have ended.
    let _ = cancel.send(exit);
    tokio::select! {
        done = &mut ended => outcome(done),
        () = tokio::time::sleep(grace) => {
            abort.run();
            Err(abort.stopped(exit))
        }
        () = signals.another() => {
            abort.run();
            Err(abort.stopped(exit))
        }
    }
}

fn on_a_runtime<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    // Rows are filtered on blocking threads.
    let runtime =
        tokio::runtime::Builder::new_current_thread().thread_stack_size(STACK).enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(CliError::new(Exit::LocalIo, "cannot start").because(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_gone_without_a_word_is_a_bug_that_was_told() {
        let ended = on_a_runtime(async {
            let (cancel, ended) = (oneshot::channel().0, oneshot::channel().1);
            wait(ended, cancel, Signals::listen().unwrap(), &Abort::default()).await
        });
        let error = ended.unwrap_err();
        assert_eq!((error.exit, error.told()), (Exit::Failed, String::new()));
    }
}
