//! Child processes: which core they run on, what they use, and when they end.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cli::Options;
use crate::error::{BenchError, Context};

/// Core of the measured servers.
const SERVER_CORE: usize = 0;
/// Core of the measured clients and of the load generator.
const CLIENT_CORE: usize = 1;

/// Time a server has to become ready, generating its data included.
const START_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Keeps this process, and every child it starts later, on the core of clients.
pub(crate) fn pin_to_client_core() -> Result<(), BenchError> {
    pin_to(CLIENT_CORE)
}

fn pin_to(core: usize) -> Result<(), BenchError> {
    let mut cores = CpuSet::new();
    cores
        .set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores))
        .context(format_args!("cannot use core {core}; the benchmarks need cores 0 and 1"))
}

/// Address that a receiver prints as a JSON line once it listens.
#[derive(Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) addr: SocketAddr,
}

/// A server on its own core. It is killed on drop: its database is discarded too.
pub(crate) struct ServerProcess(Child);

impl ServerProcess {
    pub(crate) fn start(command: &mut Command) -> Result<Self, BenchError> {
        // A child inherits the affinity of the thread that starts it.
        pin_to(SERVER_CORE)?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        pin_to(CLIENT_CORE)?;
        child.map(Self).context(format_args!("cannot start `{}`", program_name(command)))
    }

    /// Reads the first line that the server prints.
    pub(crate) fn listening(&mut self) -> Result<Listening, BenchError> {
        let mut line = String::new();
        let stdout = self.0.stdout.take();
        let stdout = stdout.ok_or_else(|| BenchError::new("the first line was already read"))?;
        BufReader::new(stdout).read_line(&mut line).context("cannot read from a server")?;
        serde_json::from_str(&line).context("a server did not print its address")
    }

    /// Waits for the file that the server writes once it is ready.
    pub(crate) fn wait_for_file<T: DeserializeOwned>(
        &mut self,
        path: &Path,
    ) -> Result<T, BenchError> {
        let since = Instant::now();
        while !path.exists() {
            let exited = self.0.try_wait().context("cannot wait for a server")?.is_some();
            if exited || since.elapsed() > START_TIMEOUT {
                return Err(BenchError::new("a server did not become ready"));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let text = std::fs::read(path).context(format_args!("cannot read `{}`", path.display()))?;
        serde_json::from_slice(&text).context(format_args!("no JSON in `{}`", path.display()))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resources that a program used until its end.
#[derive(Serialize, Deserialize)]
pub(crate) struct Resources {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// Largest resident set of the program, or of the largest process it started.
    pub(crate) peak_mib: f64,
}

/// Runs a program to its end in a process of its own, so that the kernel counts nothing else.
pub(crate) fn run_measured(program: &Command) -> Result<Resources, BenchError> {
    let mut command = this_program()?;
    command.arg("measure").arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let output = run(&mut command)?;
    serde_json::from_str(&output).context("`measure` printed no JSON")
}

/// The hidden subcommand `measure`.
pub(crate) fn measure(program: &[OsString]) -> Result<(), BenchError> {
    let [name, args @ ..] = program else { return Err(BenchError::new("no program is given")) };
    let since = Instant::now();
    let mut command = Command::new(name);
    let status = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.context(format_args!("cannot start `{}`", name.display()))?;
    let seconds = since.elapsed().as_secs_f64();
    if !status.success() {
        return Err(BenchError::new(format!("`{}` failed: {status}", name.display())));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read the resource usage")?;
    #[expect(clippy::cast_precision_loss, reason = "kibibytes of memory fit in 52 bits")]
    let peak_mib = usage.max_rss() as f64 / 1024.0;
    print_json(&Resources { seconds, cpu_seconds: cpu_seconds(&usage), peak_mib })
}

/// Returns the CPU time that this process has used, in seconds.
pub(crate) fn own_cpu_seconds() -> Result<f64, BenchError> {
    getrusage(UsageWho::RUSAGE_SELF)
        .map(|usage| cpu_seconds(&usage))
        .context("cannot read the CPU time")
}

fn cpu_seconds(usage: &Usage) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of years fit in 52 bits")]
    let micros = (usage.user_time() + usage.system_time()).num_microseconds() as f64;
    micros / 1e6
}

/// Runs a command to its end and returns its standard output. The error contains its standard error.
pub(crate) fn run(command: &mut Command) -> Result<String, BenchError> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.context(format_args!("cannot start `{}`", program_name(command)))?;
    if !output.status.success() {
        let (name, stderr) = (program_name(command), String::from_utf8_lossy(&output.stderr));
        return Err(BenchError::new(format!(
            "`{name}` failed: {}\n{}",
            output.status,
            stderr.trim()
        )));
    }
    String::from_utf8(output.stdout).context("a program printed no UTF-8")
}

fn program_name(command: &Command) -> String {
    command.get_program().display().to_string()
}

/// Prints one line of JSON for the parent process.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), BenchError> {
    let line = serde_json::to_string(value).context("cannot write JSON")?;
    writeln!(std::io::stdout(), "{line}").context("cannot print")
}

/// This program, to be started with a hidden subcommand.
pub(crate) fn this_program() -> Result<Command, BenchError> {
    std::env::current_exe().map(Command::new).context("cannot find the path of this program")
}

/// Returns the path of a program of the workspace: the given one, or the one beside this program.
pub(crate) fn workspace_program(
    given: Option<&PathBuf>,
    name: &str,
) -> Result<PathBuf, BenchError> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    let path = given.cloned().unwrap_or_else(|| this.with_file_name(name));
    if path.is_file() {
        return Ok(path);
    }
    Err(BenchError::new(format!(
        "`{}` does not exist; build it with `cargo build --release -p formsvc-cli -p formsvc-server`",
        path.display()
    )))
}

/// Creates a directory that is removed at the end.
pub(crate) fn temporary_dir(options: &Options) -> Result<tempfile::TempDir, BenchError> {
    let parent = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    tempfile::TempDir::new_in(&parent)
        .context(format_args!("cannot create a directory in `{}`", parent.display()))
}
