//! Command line.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "formsvc-bench",
    about = "Compare formsvc with the tools a user would pick instead"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every comparison. Without `Debug`: the URL of the database may contain a password.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; each measures every program once, in turn
    #[arg(long, global = true, default_value = "5")]
    pub(crate) rounds: NonZeroU32,
    /// Submissions to read or export
    #[arg(long, global = true, value_name = "N", default_value = "200000")]
    pub(crate) rows: NonZeroU32,
    /// Seconds of each measurement under HTTP load, after one second of warm-up
    #[arg(long, global = true, value_name = "N", default_value = "4")]
    pub(crate) seconds: NonZeroU32,
    /// Directory for databases and exports, on the disk to measure [default: the system's temporary directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,
    /// The `formsvc` to measure [default: the one beside this program]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) formsvc: Option<PathBuf>,
    /// The `formsvc-server` to measure [default: the one beside this program]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Python interpreter with `requests`, `fastapi`, `uvicorn` and `stripe`; `dlt` is optional
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "FORMSVC_BENCH_PYTHON",
        default_value = "python3"
    )]
    pub(crate) python: PathBuf,
    /// Directory with `node_modules/express` and `node_modules/stripe`
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "FORMSVC_BENCH_NODE",
        default_value = "."
    )]
    pub(crate) node: PathBuf,
    /// URL of an empty PostgreSQL database. Only a variable: arguments are visible to every user of
    /// the machine.
    #[arg(skip = std::env::var_os("FORMSVC_BENCH_POSTGRES"))]
    pub(crate) postgres: Option<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every comparison
    All,
    /// Compare signature verification of 1 KiB with the bare HMAC digest
    Verify,
    /// Compare a receiver with a SQLite inbox with Express and FastAPI receivers
    Receiver,
    /// Compare the client with Python `requests`, and its memory at two sizes
    Client,
    /// Compare the CSV export with Python, `curl` and `jq`, and `dlt`; measure memory per format
    Export,
    /// Measure submissions, pages and deliveries of the service on SQLite, and on PostgreSQL if
    /// `FORMSVC_BENCH_POSTGRES` contains the URL of an empty database
    Server,
    #[command(flatten)]
    Part(Part),
}

/// Programs that the comparisons start as processes of their own.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    /// Runs a program and prints the resources it used
    #[command(hide = true)]
    Measure {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        program: Vec<OsString>,
    },
    /// Reads a form with the client SDK
    #[command(hide = true)]
    ReadRows { form: String, expected: u64 },
    /// Receives webhooks with the receiver SDK
    #[command(hide = true)]
    Receive { database: PathBuf },
}
