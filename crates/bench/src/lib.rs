//! `formsvc-bench`: compares formsvc with the tools a user would pick instead, in one run on one machine.
//! It prints ratios and asserts nothing. docs/PERFORMANCE.md explains how to run and read it.
//!
//! | Question | File |
//! |---|---|
//! | Which comparisons exist | [`verify`], [`receiver`], [`client`], [`export`], [`server`] |
//! | Where the SDKs are called | [`read_rows`] (client), [`receive`] (receiver) |
//! | How programs are started, pinned and measured | [`process`], [`peers`], [`sandbox`] |
//! | How HTTP load is generated | [`load`], [`delivery`] |
//! | How rounds become a table | [`report`] |
#![cfg(target_os = "linux")]

mod cli;
mod client;
mod delivery;
mod error;
mod export;
mod load;
mod peers;
mod process;
mod read_rows;
mod receive;
mod receiver;
mod report;
mod sandbox;
mod server;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, Options, Part};
use error::{BenchError, Context};
use report::Report;

/// Runs one comparison and returns its table.
type Comparison = fn(&Options) -> Result<Report, BenchError>;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The exit code still reports the failure if standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), BenchError> {
    let comparisons: &[Comparison] = match &cli.command {
        Command::Verify => &[verify::run],
        Command::Receiver => &[receiver::run],
        Command::Client => &[client::run],
        Command::Export => &[export::run],
        Command::Server => &[server::run],
        Command::All => &[verify::run, receiver::run, client::run, export::run, server::run],
        Command::Part(Part::Measure { program }) => return process::measure(program),
        Command::Part(Part::ReadRows { form, expected }) => return read_rows::run(form, *expected),
        Command::Part(Part::Receive { database }) => return receive::run(database),
    };
    process::pin_to_client_core()?;
    print(&report::describe_machine())?;
    for comparison in comparisons {
        print(&comparison(&cli.options)?.to_string())?;
    }
    Ok(())
}

fn print(text: &str) -> Result<(), BenchError> {
    writeln!(std::io::stdout(), "{text}").context("cannot print")
}
