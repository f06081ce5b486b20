//! What `formsvc-server serve` needs when nobody asks it anything: its memory, and the time until it
//! answers. As it is started by a service manager: on any core, with as many threads as it likes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_server::store::Store;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;

use crate::accounting::{Watch, cpu_of, in_quiet};
use crate::args::Bench;
use crate::database::{self, Scratch};
use crate::error::BenchError;
use crate::export::Directory;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::startup::own_cpu;
use crate::{child, measure};

const BENCHMARK: &str = "idle";
/// Submissions in the database that is not new.
const SUBMISSIONS: u64 = 100_000;
/// How long nothing is asked.
const IDLE: Duration = Duration::from_secs(10);
/// Pause between two looks at whether the server answers.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// How long it may take to answer, or to stop.
const PATIENCE: Duration = Duration::from_secs(30);

struct Subject<'a> {
    what: &'a str,
    /// What it is started on a copy of; none for a new database.
    template: Option<PathBuf>,
    ready: Series,
    begun: Series,
    idle: Series,
    foreign: Series,
}

/// What a start came to.
struct Started {
    /// Seconds until it answered.
    ready: f64,
    /// Resident memory then, and after a while, in MiB.
    begun: f64,
    idle: f64,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let server = child::server(bench)?;
    let dir = Directory::of(bench)?;
    let filled = fill(&dir)?;
    let existing = format!("a database of {SUBMISSIONS} submissions");
    let starts = [("a new database", None), (existing.as_str(), Some(filled))];
    let mut subjects = starts.map(|(what, template)| {
        let new = Series::new;
        Subject { what, template, ready: new(), begun: new(), idle: new(), foreign: new() }
    });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || start(&server, subject.template.as_deref(), &dir);
            let patience = Duration::from_secs(bench.patience);
            let (started, foreign) = in_quiet(patience, measured)?;
            if round > 0 {
                subject.ready.push(started.ready * 1e3);
                subject.begun.push(started.begun);
                subject.idle.push(started.idle);
                subject.foreign.push(foreign);
            }
        }
    }
    for subject in &subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("ms until ready", subject.ready.median()),
                ("MiB then", subject.begun.median()),
                ("MiB after 10 s", subject.idle.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    for subject in &subjects {
        let what = format!("ready on {}, worst", subject.what);
        let worst = (subject.ready.max(), " ms");
        report.compared(BENCHMARK, what, worst, Some(Goal::AtMost(200.0)));
        let what = format!("memory on {}, worst", subject.what);
        let worst = (subject.begun.max().max(subject.idle.max()), " MiB");
        report.compared(BENCHMARK, what, worst, Some(Goal::AtMost(30.0)));
    }
    report.note(
        "`formsvc-server serve` from its start to the first 200 of `/readyz`; memory is the resident \
         set, with what it shares with other processes"
            .to_owned(),
    );
    Ok(())
}

/// A database that is not new.
fn fill(dir: &Directory) -> Result<PathBuf, BenchError> {
    let path = dir.path().join("idle.db");
    if path.exists() {
        return Ok(path);
    }
    database::block_on(async {
        let store: Arc<dyn Store> = Arc::new(database::open(&path)?);
        database::vault(&path)?;
        let form = database::add_form(&*store).await?;
        database::submit(&store, &form, 0..SUBMISSIONS).await?;
        store.close().await.map_err(|why| BenchError::caused("cannot close", &why))
    })?;
    Ok(path)
}

/// A server that is stopped when this goes.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).expect("process ids of Linux fit");
        // It may have ended by itself.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let _ = measure::wait(&mut self.0, PATIENCE);
    }
}

#[derive(Deserialize)]
struct Ready {
    base_url: String,
}

/// What a start came to, and what others did meanwhile.
fn start(
    server: &Path,
    template: Option<&Path>,
    dir: &Directory,
) -> Result<(Started, f64), BenchError> {
    let scratch = match template {
        Some(template) => Scratch::copy(template, dir.path())?,
        None => Scratch::empty(dir.path())?,
    };
    let database = scratch.database();
    let ready_file = database.with_extension("ready");
    let mut command = Command::new(server);
    command.arg("serve").arg("--database").arg(&database).args(["--port", "0", "--ready-file"]);
    command.arg(&ready_file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (watch, own) = (Watch::start(), own_cpu()?);
    let since = Instant::now();
    let child = command.spawn().map_err(BenchError::at(server))?;
    let mut running = Running(child);
    answers(&mut running, &ready_file, since)?;
    let ready = since.elapsed().as_secs_f64();
    let pid = running.0.id();
    let begun = resident(pid)?;
    std::thread::sleep(IDLE);
    let idle = resident(pid)?;
    let foreign = watch.foreign(own_cpu()? - own + cpu_of(pid)?);
    Ok((Started { ready, begun, idle }, foreign))
}

/// Waits until the server says that it is ready, and then is.
fn answers(running: &mut Running, ready_file: &Path, since: Instant) -> Result<(), BenchError> {
    let failed = |why| BenchError::io("the server does not answer", why);
    loop {
        if let Ok(text) = std::fs::read(ready_file) {
            let ready: Ready = serde_json::from_slice(&text)
                .map_err(|why| BenchError::because("the ready file is not understood", why))?;
            let addr = ready.base_url.trim_start_matches("http://").to_owned();
            let mut stream = TcpStream::connect(&addr).map_err(failed)?;
            let request =
                format!("GET /readyz HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).map_err(failed)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map_err(failed)?;
            if answer.starts_with("HTTP/1.1 200 ") {
                return Ok(());
            }
        }
        let ended = running.0.try_wait().map_err(failed)?;
        if ended.is_some() || since.elapsed() > PATIENCE {
            return Err(BenchError::new("the server did not come up"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Resident memory of a process, in MiB.
pub(crate) fn resident(pid: u32) -> Result<f64, BenchError> {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let status = std::fs::read_to_string(&path).map_err(BenchError::at(&path))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map(|kib| kib / 1_024.0).ok_or_else(|| BenchError::new("the server's memory is not known"))
}
