//! Side-by-side benchmarks. Each measures a subject and a floor, something that does less or does it
//! the plain way, in alternating rounds of one run, and prints the ratio beside its goal. Nothing is
//! asserted; a measurement that other programs disturbed is made again. Absolute numbers
//! drift from hour to hour, ratios hold.
//!
//! | Question | File |
//! |---|---|
//! | what is compared | [`export`], [`client`], [`receiver`], [`listen`], [`pages`], [`intake`], [`deliveries`], [`postgres`], [`dashboard`], [`idle`], [`startup`] |
//! | what databases and requests are made of, where deliveries go | [`database`], [`load`], [`signed`], [`left`], [`sink`] |
//! | the service as a process | [`sandbox`] |
//! | what the disk can do | [`disk`] |
//! | how a process is started, pinned, measured and stopped | [`child`], [`pin`], [`measure`] |
//! | what CPU time went where | [`accounting`] |
//! | how rounds become a ratio | [`rounds`] |
//! | how it is shown | [`report`], [`machine`] |
#![cfg(target_os = "linux")]

mod accounting;
mod args;
mod child;
mod client;
mod dashboard;
mod database;
mod deliveries;
mod disk;
mod error;
mod export;
mod idle;
mod intake;
mod left;
mod listen;
mod load;
mod machine;
mod measure;
mod pages;
mod pin;
mod postgres;
mod receiver;
mod report;
mod rounds;
mod sandbox;
mod signed;
mod sink;
mod startup;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, Part};
use error::BenchError;
use report::Report;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error closed, the exit code still says it.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), BenchError> {
    let bench = cli.bench;
    match cli.command {
        Command::All => compare(&bench, &ALL),
        Command::Export => compare(&bench, &[export::run]),
        Command::Client => compare(&bench, &[client::run]),
        Command::Receiver => compare(&bench, &[receiver::run]),
        Command::Listen => compare(&bench, &[listen::run]),
        Command::Pages => compare(&bench, &[pages::run]),
        Command::Intake => compare(&bench, &[intake::run]),
        Command::Deliveries => compare(&bench, &[deliveries::run]),
        Command::Claims => compare(&bench, &[deliveries::claims::run]),
        Command::Postgres => compare(&bench, &[postgres::run]),
        Command::Dashboard => compare(&bench, &[dashboard::run]),
        Command::Idle => compare(&bench, &[idle::run]),
        Command::Startup => compare(&bench, &[startup::run]),
        Command::Part(Part::Measure(args)) => measure::measure(&args),
        Command::Part(Part::Keep(args)) => measure::keep(&args),
        Command::Part(Part::Pinned(args)) => pin::become_program(&args),
        Command::Part(Part::Drain(args)) => export::drain::run(&args),
        Command::Part(Part::Read(args)) => client::read::run(&args),
        Command::Part(Part::Receive(args)) => receiver::serve::run(&args),
        Command::Part(Part::Verify) => receiver::verify::run(),
        Command::Part(Part::Serve(args)) => pages::serve::run(&args),
        Command::Part(Part::Load) => load::run(),
        Command::Part(Part::Sink) => sink::run(),
        Command::Part(Part::Accept(args)) => intake::accept::run(&args),
        Command::Part(Part::BareWriter(args)) => intake::writer::run(&args),
        Command::Part(Part::ServePostgres(args)) => postgres::serve::run(&args),
        Command::Part(Part::BareInsert(args)) => postgres::insert::run(&args),
        Command::Part(Part::Deliver(args)) => deliveries::drain::run(&args),
        Command::Part(Part::Claim(args)) => deliveries::claims::claim(&args),
    }
}

/// One benchmark; it adds its rows to the report.
type Benchmark = fn(&args::Bench, &mut Report) -> Result<(), BenchError>;

const ALL: [Benchmark; 12] = [
    export::run,
    client::run,
    receiver::run,
    listen::run,
    pages::run,
    intake::run,
    deliveries::run,
    deliveries::claims::run,
    postgres::run,
    dashboard::run,
    idle::run,
    startup::run,
];

fn compare(bench: &args::Bench, benchmarks: &[Benchmark]) -> Result<(), BenchError> {
    let mut report = Report::new(machine::describe(), bench.rounds);
    for benchmark in benchmarks {
        benchmark(bench, &mut report)?;
    }
    let text = if bench.json { report.to_json() } else { report.to_text() };
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| BenchError::io("cannot print", e))
}
