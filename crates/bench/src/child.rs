//! The benchmark's own processes: this program again, with another subcommand.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::Bench;
use crate::error::BenchError;
use crate::measure;

/// Time a child has to end after its standard input did.
const GRACE: Duration = Duration::from_secs(30);

/// This program with other arguments.
pub(crate) fn this_program() -> Result<Command, BenchError> {
    let path = std::env::current_exe().map_err(|why| BenchError::io("cannot find myself", why))?;
    Ok(Command::new(path))
}

/// The `formsvc` to measure.
pub(crate) fn formsvc(bench: &Bench) -> Result<PathBuf, BenchError> {
    named_or_beside(bench.formsvc.clone(), "formsvc").ok_or_else(|| {
        BenchError::new("there is no `formsvc` to measure: `cargo build --release -p formsvc-cli` makes one, `--formsvc` names another")
    })
}

/// The `formsvc-server` to measure.
pub(crate) fn server(bench: &Bench) -> Result<PathBuf, BenchError> {
    named_or_beside(bench.server.clone(), "formsvc-server").ok_or_else(|| {
        BenchError::new("there is no `formsvc-server` to measure: `cargo build --release -p formsvc-server` makes one, `--server` names another")
    })
}

/// A command line of one flag, made beside this program.
pub(crate) fn clap_hello() -> Result<PathBuf, BenchError> {
    named_or_beside(None, "clap-hello").ok_or_else(|| {
        BenchError::new("there is no `clap-hello` beside this program: `cargo build --release -p formsvc-bench` makes one")
    })
}

fn named_or_beside(named: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.with_file_name(name));
    named.or_else(beside).filter(|path| path.is_file())
}

/// Runs a child to its end with a JSON value as its standard input; gives the JSON it printed.
pub(crate) fn run<T: DeserializeOwned>(
    command: &mut Command,
    input: &impl Serialize,
) -> Result<T, BenchError> {
    let failed = |why| BenchError::io("cannot run a part of the benchmark", why);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(failed)?;
    let mut stdin = child.stdin.take().expect("it was piped two lines above");
    serde_json::to_writer(&mut stdin, input).map_err(|why| failed(why.into()))?;
    drop(stdin);
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(BenchError::new(format!("{command:?} failed: {}", output.status)));
    }
    from_json(&output.stdout)
}

/// Prints a value for [`run`] or [`Background`] to read.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), BenchError> {
    let mut line = serde_json::to_vec(value).map_err(|why| BenchError::because("no JSON", why))?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|why| BenchError::io("stdout", why))
}

fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, BenchError> {
    serde_json::from_slice(text)
        .map_err(|why| BenchError::because("a part of the benchmark printed no result", why))
}

/// A child that runs until it is dropped: its standard input ends then, and it with it.
pub(crate) struct Background {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Background {
    pub(crate) fn start(command: &mut Command) -> Result<Self, BenchError> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|why| BenchError::io("cannot start a server", why))?;
        let stdout = child.stdout.take().map(BufReader::new);
        Ok(Self { child, stdout })
    }

    /// One whose output nobody reads.
    pub(crate) fn unread(command: &mut Command) -> Result<Self, BenchError> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|why| BenchError::io("cannot start a server", why))?;
        Ok(Self { child, stdout: None })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The first line it prints.
    pub(crate) fn first_line<T: DeserializeOwned>(&mut self) -> Result<T, BenchError> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_line(&mut line).map_err(|why| BenchError::io("a server is mute", why))?;
        }
        from_json(line.as_bytes())
    }

    /// Waits for a file that it writes.
    pub(crate) fn file<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        patience: Duration,
    ) -> Result<T, BenchError> {
        let since = Instant::now();
        loop {
            if let Ok(text) = std::fs::read(path) {
                return from_json(&text);
            }
            let ended = self.child.try_wait().map_err(|why| BenchError::io("a server", why))?;
            if ended.is_some() || since.elapsed() > patience {
                return Err(BenchError::new("a server did not come up"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // There is nobody to tell that it had to be killed.
        let _ = measure::wait(&mut self.child, GRACE);
    }
}

/// Arguments that let the child `measure` run a program on a core.
pub(crate) fn measured<S: AsRef<OsStr>>(
    core: usize,
    program: impl IntoIterator<Item = S>,
) -> Result<Command, BenchError> {
    let mut command = this_program()?;
    command.args(["measure", "--core", &core.to_string(), "--"]).args(program);
    Ok(command)
}
