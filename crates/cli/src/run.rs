//! From the process's arguments to its exit code.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::choice;
use crate::settings::{self, Terminal};
use crate::signals;

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
    let color = cli.globals.color;
    match std::panic::catch_unwind(|| carry_out(cli)) {
        Ok(Ok(())) => Exit::Done,
        Ok(Err(error)) => {
            let mut err = anstream::AutoStream::new(io::stderr().lock(), choice(color));
            // With standard error closed, the exit code still says it.
            let _ = error.print(&mut err);
            error.exit
        }
        // The panic has been reported by its hook.
        Err(_) => Exit::Bug,
    }
}

fn carry_out(cli: Cli) -> Result<(), CliError> {
    let terminal =
        Terminal { stdout: io::stdout().is_terminal(), stderr: io::stderr().is_terminal() };
    let settings = settings::resolve(cli.globals, &|name| std::env::var_os(name), terminal)?;
    log_to_stderr(settings.verbose);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Exit::LocalIo, "cannot start").because(&error))?;
    runtime.block_on(async {
        let cx = Context::new(settings);
        let ended = tokio::select! {
            done = cli.command.run(&cx) => done,
            signal = signals::received() => Err(stopped(signal)),
        };
        cx.progress.end();
        ended
    })
}

fn stopped(signal: io::Result<Exit>) -> CliError {
    match signal {
        Ok(exit @ Exit::Interrupted) => CliError::new(exit, "interrupted"),
        Ok(exit) => CliError::new(exit, "terminated"),
        Err(error) => CliError::new(Exit::LocalIo, "cannot listen for signals").because(&error),
    }
}

fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 | 1 => return,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
}
