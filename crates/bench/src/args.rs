//! The arguments.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(
    name = "formsvc-bench",
    about = "Side-by-side benchmarks; prints ratios, asserts nothing"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) bench: Bench,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every benchmark.
#[derive(Clone, Debug, Args)]
pub(crate) struct Bench {
    /// Rounds, each of every subject and floor, after one that is not counted
    #[arg(long, global = true, default_value = "5")]
    pub(crate) rounds: NonZeroU32,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The `formsvc` to measure [default: the one beside this program]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) formsvc: Option<PathBuf>,
    /// The `formsvc-server` to measure [default: the one beside this program]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Where generated data is kept for the next run [default: a temporary directory, removed]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,
    /// Seconds to wait at most, before each measurement, for other programs to be quiet; with 0, none
    /// is made again because they were not
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) patience: u64,
    /// Submissions of the large export; the small one has a tenth
    #[arg(long, global = true, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) rows: u64,
    /// Seconds of each measurement of a server under load, after one second that is not counted
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 4)]
    pub(crate) window: u64,
    /// Deliveries over which the memory of `formsvc webhook listen` is watched; without a value a million
    /// [default: it is not watched]
    #[arg(long, global = true, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
    pub(crate) memory_over: Option<u64>,
    /// A directory with the npm packages `express` and `stripe` [default: Express is not measured]
    #[arg(long, global = true, value_name = "DIR", env = "FORMSVC_BENCH_NODE")]
    pub(crate) node: Option<PathBuf>,
    /// A Python with `fastapi`, `uvicorn` and `stripe` [default: FastAPI is not measured]
    #[arg(long, global = true, value_name = "PATH", env = "FORMSVC_BENCH_PYTHON")]
    pub(crate) python: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Everything
    All,
    /// Exports against a client that drops what it reads: CPU and memory
    Export,
    /// The client's items, rows and prefetch against reading and dropping, and without
    Client,
    /// Receivers of webhooks against one that only reads, a synced log, Express and FastAPI
    Receiver,
    /// `formsvc webhook listen`, verifying and keeping, against a server that answers without looking
    Listen,
    /// Pages from SQLite against a constant page, a parsing server, and bare hyper
    Pages,
    /// Submissions by HTTP against a bare SQLite thread, and delivered against a skeleton
    Intake,
    /// Deliveries with their state against a client that keeps none
    Deliveries,
    /// Claims out of a large backlog against claims out of a small one
    Claims,
    /// Submissions and pages on PostgreSQL against a bare insert and a constant page
    Postgres,
    /// The dashboard's page of a form of 10,000 submissions, against the API's
    Dashboard,
    /// Memory and start of `formsvc-server serve`
    Idle,
    /// `formsvc --help` against `/bin/true`
    Startup,
    #[command(flatten)]
    Part(Part),
}

/// What the benchmarks start as processes of their own.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    #[command(hide = true)]
    Measure(Measure),
    #[command(hide = true)]
    Keep(Keep),
    #[command(hide = true)]
    Pinned(Pinned),
    #[command(hide = true)]
    Drain(Drain),
    #[command(hide = true)]
    Read(Read),
    #[command(hide = true)]
    Receive(Receive),
    #[command(hide = true)]
    Verify,
    #[command(hide = true)]
    Serve(Serve),
    #[command(hide = true)]
    Load,
    #[command(hide = true)]
    Sink,
    #[command(hide = true)]
    Accept(Accept),
    #[command(hide = true)]
    BareWriter(BareWriter),
    #[command(hide = true)]
    ServePostgres(ServePostgres),
    #[command(hide = true)]
    BareInsert(BareInsert),
    #[command(hide = true)]
    Deliver(Deliver),
    #[command(hide = true)]
    Claim(Claim),
}

/// Runs a program to its end and prints what it used.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    #[arg(long)]
    pub(crate) core: Option<usize>,
    /// Seconds after which it is killed.
    #[arg(long, default_value_t = 300)]
    pub(crate) limit: u64,
    #[arg(trailing_var_arg = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

/// Runs a program until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    #[arg(long)]
    pub(crate) core: Option<usize>,
    #[arg(trailing_var_arg = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

/// Becomes a program that stays on a core.
#[derive(Debug, Args)]
pub(crate) struct Pinned {
    #[arg(long)]
    pub(crate) core: usize,
    #[arg(trailing_var_arg = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

/// Reads a form with the client. The key is in the environment, how it reads on standard input.
#[derive(Debug, Args)]
pub(crate) struct Read {
    pub(crate) base_url: String,
    pub(crate) form: String,
}

/// Receives webhooks until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Receive {
    pub(crate) variant: Receiving,
    /// A path where nothing is.
    pub(crate) file: PathBuf,
}

/// How webhooks are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Receiving {
    /// The body is read, and nothing else done.
    Body,
    /// Verified and read, and no more.
    Verified,
    /// And handled once, as an inbox in memory knows.
    Memory,
    /// And handled once, as an inbox in SQLite knows.
    Sqlite,
    /// And kept in SQLite.
    SqliteQueue,
    /// The body is appended to a log.
    Log,
    /// Verified and read, and its key appended to a log.
    SeenLog,
}

/// Reads every page of a form and drops it. The key is in the environment.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    pub(crate) base_url: String,
    pub(crate) form: String,
}

/// Serves pages until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    pub(crate) variant: Variant,
    #[arg(long)]
    pub(crate) database: PathBuf,
    /// A file with the body of the constant page.
    #[arg(long)]
    pub(crate) page: Option<PathBuf>,
    #[arg(long)]
    pub(crate) core: usize,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// The server as it is.
    Store,
    /// The server as it is, writing its log.
    StoreLogged,
    /// Its middleware stack around a handler that reads the same rows, parses and prints them.
    Reserialise,
    /// Its middleware stack around a constant page.
    Constant,
    /// As `Constant`, writing its log.
    ConstantLogged,
    /// As `Constant`, after the key check and the rate limit.
    ConstantAdmitted,
    /// hyper alone, and the constant page.
    Hyper,
}

/// Takes submissions in until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Accept {
    pub(crate) variant: Accepting,
    /// A path where nothing is.
    pub(crate) database: PathBuf,
    /// Where deliveries go.
    pub(crate) sink: String,
}

/// What takes submissions in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Accepting {
    /// The server as it is, delivering nothing.
    Group,
    /// As `Group`, with a commit for each submission.
    Alone,
    /// The server as it is.
    Delivering,
    /// The least that can be called one.
    Skeleton,
}

/// Commits rows of submissions, and prints how many.
#[derive(Debug, Args)]
pub(crate) struct BareWriter {
    /// A path where nothing is.
    pub(crate) database: PathBuf,
    /// Seconds.
    pub(crate) window: u64,
}

/// Serves on PostgreSQL until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct ServePostgres {
    /// The database.
    pub(crate) address: String,
    /// Make a form to submit to.
    #[arg(long)]
    pub(crate) make_form: bool,
    /// A file with the body of a constant page, in place of the database.
    #[arg(long)]
    pub(crate) page: Option<PathBuf>,
}

/// Inserts rows of submissions, and prints how many.
#[derive(Debug, Args)]
pub(crate) struct BareInsert {
    /// A database where nothing is.
    pub(crate) address: String,
    /// Seconds.
    pub(crate) window: u64,
}

/// Makes deliveries, and prints how long it took.
#[derive(Debug, Args)]
pub(crate) struct Deliver {
    pub(crate) variant: Draining,
    /// A database with a backlog.
    pub(crate) database: PathBuf,
    /// Where deliveries go.
    pub(crate) sink: String,
    /// How many.
    pub(crate) count: u64,
}

/// What makes deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Draining {
    /// The service's engine; all there are.
    Engine,
    /// The service's client, without a store.
    Client,
    /// The service's client and store, with a commit for each outcome.
    Alone,
    /// The service's client, and one change of one row for each outcome, many to a commit.
    Skeleton,
}

/// Claims and settles, and prints how long it took.
#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// A database with a backlog.
    pub(crate) database: PathBuf,
}
