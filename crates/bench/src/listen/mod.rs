//! `formsvc webhook listen`: verified and durable deliveries a second, beside the same kind of server that
//! answers without looking; what passing them on adds; and whether its memory stays as it is.
//!
//! The listener is a process on one core, 64 connections that are kept are on the other. What it tells goes
//! to nobody.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;

use crate::accounting::in_quiet;
use crate::args::Bench;
use crate::child::{self, Background};
use crate::database::Scratch;
use crate::disk;
use crate::error::BenchError;
use crate::export::Directory;
use crate::idle::resident;
use crate::load::{Expect, Load, Loaded, Requests};
use crate::pin;
use crate::receiver::Listening;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::signed::{BODY, SECRET};

const BENCHMARK: &str = "listen";
/// Senders, each with one delivery at a time.
const SENDERS: usize = 64;
/// Deliveries a second at which it is measured what passing them on adds.
const PACE: u32 = 200;
/// Connections of those.
const PACED: usize = 16;
/// Most deliveries a second that are to be expected, which are signed before they are sent.
const MOST_A_SECOND: u64 = 40_000;
/// Most of one run of deliveries, so that no signature is too old.
const SECONDS_A_RUN: u64 = 120;
/// How long a listener may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a listener writes once it answers.
#[derive(Deserialize)]
struct Ready {
    url: String,
}

/// A listener, or a receiver in its place.
struct Subject {
    process: Background,
    addr: SocketAddr,
    /// Removed with it.
    _scratch: Scratch,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("a listener needs two cores, one for those who send"));
    }
    let formsvc = child::formsvc(bench)?;
    let dir = Directory::of(bench)?;
    throughput(bench, &formsvc, dir.path(), report)?;
    forwarding(bench, &formsvc, dir.path(), report)?;
    match bench.memory_over {
        Some(count) => memory(bench, count, &formsvc, dir.path(), report)?,
        None => report.note("listen: memory was not watched: `--memory-over` says over how much"),
    }
    report.note(format!(
        "listen: deliveries of {BODY} bytes; `verified, kept` checks the signature, commits the request to \
         SQLite (`synchronous = FULL`) before the answer, and writes its usual line for each, which is a \
         text; as NDJSON that line has the body and its digest. What it is compared with reads the body \
         and answers."
    ));
    Ok(())
}

fn throughput(
    bench: &Bench,
    formsvc: &Path,
    dir: &Path,
    report: &mut Report,
) -> Result<(), BenchError> {
    let names =
        ["reads the body", "listen: verified, kept", "listen: verified, kept, told as NDJSON"];
    let mut rates = [const { Series::new() }; 3];
    let mut all = names.map(|_| Vec::new());
    for round in 0..=bench.rounds.get() {
        for (at, rate) in rates.iter_mut().enumerate() {
            let measured = || {
                let subject = match at {
                    0 => receiver(dir)?,
                    1 => listener(formsvc, dir, &[])?,
                    _ => listener(formsvc, dir, &["--output", "ndjson"])?,
                };
                let syncs = disk::syncs_per_second(dir)?;
                let loaded = subject.load(0, bench.window, None)?;
                let foreign = loaded.foreign;
                Ok(((loaded, syncs), foreign))
            };
            let ((loaded, syncs), _) = in_quiet(Duration::from_secs(bench.patience), measured)?;
            if round > 0 {
                rate.push(loaded.rate());
                all[at].push((loaded, syncs));
            }
        }
    }
    for (what, loaded) in names.iter().zip(&all) {
        let series = |value: fn(&(Loaded, f64)) -> f64| {
            let mut series = Series::new();
            for one in loaded {
                series.push(value(one));
            }
            series
        };
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: (*what).to_owned(),
            values: vec![
                ("req/s", series(|(loaded, _)| loaded.rate()).median()),
                (
                    "CPU us each",
                    series(|(loaded, _)| loaded.server_cpu * 1e6 / loaded.requests).median(),
                ),
                ("ms p50", series(|(loaded, _)| loaded.half * 1e3).median()),
                ("ms p99", series(|(loaded, _)| loaded.most * 1e3).median()),
                ("fdatasync/s", series(|(_, syncs)| *syncs).median()),
            ],
            foreign: series(|(loaded, _)| loaded.foreign).max(),
        });
    }
    let [body, kept, told] = &rates;
    let what = |at: usize| format!("{} / {}, req/s", names[at], names[0]);
    report.compared(BENCHMARK, what(1), (kept.over(body), "x"), Some(Goal::AtLeast(0.25)));
    report.compared(BENCHMARK, what(2), (told.over(body), "x"), None);
    Ok(())
}

/// What a listener between sender and target adds to the slowest of a hundred answers.
fn forwarding(
    bench: &Bench,
    formsvc: &Path,
    dir: &Path,
    report: &mut Report,
) -> Result<(), BenchError> {
    let names = ["target, 200/s", "listen, 200/s", "listen and target, 200/s"];
    let mut most = [const { Series::new() }; 3];
    let mut half = [const { Series::new() }; 3];
    let mut foreign = Series::new();
    for round in 0..=bench.rounds.get() {
        for at in 0..names.len() {
            let measured = || {
                let target = receiver(dir)?;
                let url = format!("http://{}/hook", target.addr);
                let loaded = match at {
                    0 => target.load(0, bench.window, Some(PACE)),
                    1 => listener(formsvc, dir, &[])?.load(0, bench.window, Some(PACE)),
                    _ => listener(formsvc, dir, &["--forward-to", &url])?.load(
                        0,
                        bench.window,
                        Some(PACE),
                    ),
                }?;
                let foreign = loaded.foreign;
                Ok((loaded, foreign))
            };
            let (loaded, others) = in_quiet(Duration::from_secs(bench.patience), measured)?;
            if round > 0 {
                most[at].push(loaded.most * 1e3);
                half[at].push(loaded.half * 1e3);
                foreign.push(others);
            }
        }
    }
    for (at, what) in names.iter().enumerate() {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: (*what).to_owned(),
            values: vec![("ms p50", half[at].median()), ("ms p99", most[at].median())],
            foreign: foreign.max(),
        });
    }
    // What it adds that is no disk's: a listener that passes on beside one that does not.
    let added = most[2].median() - most[1].median();
    let what = "p99 added by passing on, at 200/s".to_owned();
    report.compared(BENCHMARK, what, (added, " ms"), Some(Goal::AtMost(2.0)));
    let added = most[2].median() - most[0].median();
    let what = "p99 added by verifying, keeping and passing on, at 200/s".to_owned();
    report.compared(BENCHMARK, what, (added, " ms"), None);
    Ok(())
}

/// Its memory after a tenth of the deliveries, and after all.
fn memory(
    bench: &Bench,
    count: u64,
    formsvc: &Path,
    dir: &Path,
    report: &mut Report,
) -> Result<(), BenchError> {
    let subject = listener(formsvc, dir, &[])?;
    let (mut done, mut at_a_tenth, mut foreign) = (0, None, Series::new());
    while done < count {
        // The second that is not counted in a load sends deliveries as well, so that places are left out
        // rather than sent twice.
        let first = usize::try_from(done * 4).unwrap_or(usize::MAX);
        let loaded = subject.load(first, bench.window.min(SECONDS_A_RUN), None)?;
        foreign.push(loaded.foreign);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let more = loaded.requests as u64;
        done += more.max(1);
        if at_a_tenth.is_none() && done >= count / 10 {
            at_a_tenth = Some(resident(subject.process.pid())?);
        }
    }
    let at_the_end = resident(subject.process.pid())?;
    let begin = at_a_tenth.unwrap_or(at_the_end);
    report.measured(Measurement {
        benchmark: BENCHMARK,
        what: format!("memory over {done} deliveries"),
        values: vec![("MiB at a tenth", begin), ("MiB at the end", at_the_end)],
        foreign: foreign.max(),
    });
    let what = "memory at the end / at a tenth".to_owned();
    report.compared(BENCHMARK, what, (at_the_end / begin, "x"), Some(Goal::AtMost(1.1)));
    Ok(())
}

/// The server that answers without looking.
fn receiver(dir: &Path) -> Result<Subject, BenchError> {
    let scratch = Scratch::empty(dir)?;
    let mut command = child::this_program()?;
    command.args(["receive", "body"]).arg(scratch.database());
    let mut process = Background::start(&mut command)?;
    let Listening { addr } = process.first_line()?;
    Ok(Subject { process, addr, _scratch: scratch })
}

/// A listener with a store of its own.
fn listener(formsvc: &Path, dir: &Path, more: &[&str]) -> Result<Subject, BenchError> {
    let scratch = Scratch::empty(dir)?;
    let state = scratch.database();
    let ready_file = state.with_extension("ready");
    let mut command = child::this_program()?;
    command.args(["pinned", "--core", &pin::SERVER.to_string(), "--"]).arg(formsvc);
    command.args(["webhook", "listen", "--port", "0"]);
    command.args(["--exit-on-stdin-eof", "--ready-file"]).arg(&ready_file).args(more);
    command.env("FORMSVC_SIGNING_SECRET", SECRET).env("FORMSVC_STATE_DIR", &state);
    // What it says once it is ready, and would say for people each time.
    command.stderr(Stdio::null());
    let mut process = Background::unread(&mut command)?;
    let ready: Ready = process.file(&ready_file, PATIENCE)?;
    let addr = ready.url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let addr = addr.and_then(|addr| addr.parse().ok());
    let addr = addr.ok_or_else(|| BenchError::because("no address to send to", ready.url))?;
    Ok(Subject { process, addr, _scratch: scratch })
}

impl Subject {
    fn load(&self, first: usize, window: u64, pace: Option<u32>) -> Result<Loaded, BenchError> {
        let a_second = pace.map_or(MOST_A_SECOND, u64::from);
        // One second more is the load's own, which is not counted.
        let prepared = usize::try_from(a_second * (window + 1));
        let prepared =
            prepared.map_err(|why| BenchError::because("the window is too long", why))?;
        let load = Load {
            addr: self.addr,
            server: self.process.pid(),
            helpers: Vec::new(),
            core: pin::CLIENT,
            connections: if pace.is_some() { PACED } else { SENDERS },
            window,
            requests: Requests::Deliveries { first, prepared },
            expect: Expect { status: 200, least: 0 },
            left: None,
            pace,
        };
        child::run(child::this_program()?.arg("load"), &load)
    }
}
