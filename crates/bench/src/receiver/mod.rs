//! Receivers of webhooks: verified, read and handled once, in memory or durably, beside the same server
//! that reads the same bodies and answers; beside a log that is synced; and beside what is written with
//! `stripe`, whose signatures have the same scheme, in other languages.
//!
//! Each receiver is a process on one core, 64 connections that are kept are on the other. What is gated is
//! requests a second.

mod log;
mod peers;
pub(crate) mod serve;
pub(crate) mod verify;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::accounting::{Watch, in_quiet};
use crate::args::{Bench, Receiving};
use crate::child::{self, Background};
use crate::database::Scratch;
use crate::disk;
use crate::error::BenchError;
use crate::export::Directory;
use crate::load::{Expect, Load, Loaded, Requests};
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::signed::{AGAIN_EVERY, BODY};

use peers::Peer;
use verify::Costs;

const BENCHMARK: &str = "receiver";
/// Senders, each with one delivery at a time.
const SENDERS: usize = 64;

/// What receives.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ours(Receiving),
    Peer(Peer),
}

/// With the most deliveries a second that are to be expected, which are signed before they are sent.
const SUBJECTS: [(&str, Kind, u64); 9] = [
    ("reads the body", Kind::Ours(Receiving::Body), 200_000),
    ("verified", Kind::Ours(Receiving::Verified), 160_000),
    ("once, in memory", Kind::Ours(Receiving::Memory), 140_000),
    ("once, in SQLite", Kind::Ours(Receiving::Sqlite), 80_000),
    ("kept in SQLite, for later", Kind::Ours(Receiving::SqliteQueue), 80_000),
    ("log, synced", Kind::Ours(Receiving::Log), 80_000),
    ("verified, once, log synced", Kind::Ours(Receiving::SeenLog), 80_000),
    (EXPRESS, Kind::Peer(Peer::Express), 20_000),
    (FASTAPI, Kind::Peer(Peer::FastApi), 20_000),
];

const EXPRESS: &str = "Express, stripe, a set";
const FASTAPI: &str = "FastAPI, stripe, a set";

struct Subject {
    what: &'static str,
    kind: Kind,
    most_a_second: u64,
    rate: Series,
    cpu: Series,
    half: Series,
    most: Series,
    loader: Series,
    syncs: Series,
    foreign: Series,
}

/// What a receiver says once it answers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) addr: SocketAddr,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("a receiver needs two cores, one for those who send"));
    }
    verification(bench, report)?;
    let dir = Directory::of(bench)?;
    let mut subjects = subjects(bench, report);
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || {
                let (loaded, syncs) = measure(subject, dir.path(), bench)?;
                let foreign = loaded.foreign;
                Ok(((loaded, syncs), foreign))
            };
            let patience = Duration::from_secs(bench.patience);
            let ((loaded, syncs), _) = in_quiet(patience, measured)?;
            if round > 0 {
                subject.add(&loaded, syncs);
            }
        }
    }
    tell(&subjects, report);
    Ok(())
}

fn subjects(bench: &Bench, report: &mut Report) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for (what, kind, most_a_second) in SUBJECTS {
        if let Kind::Peer(peer) = kind
            && !peer.is_installed(bench)
        {
            report.note(format!(
                "`{what}` was not measured: `--node` names no directory with `express` and `stripe`, \
                 or `--python` no Python with `fastapi`, `uvicorn` and `stripe`"
            ));
            continue;
        }
        let new = Series::new;
        let (rate, cpu, half, most, loader) = (new(), new(), new(), new(), new());
        let (syncs, foreign) = (new(), new());
        subjects.push(Subject {
            what,
            kind,
            most_a_second,
            rate,
            cpu,
            half,
            most,
            loader,
            syncs,
            foreign,
        });
    }
    subjects
}

impl Subject {
    fn add(&mut self, loaded: &Loaded, syncs: f64) {
        self.rate.push(loaded.rate());
        self.cpu.push(loaded.server_cpu * 1e6 / loaded.requests);
        self.half.push(loaded.half * 1e3);
        self.most.push(loaded.most * 1e3);
        self.loader.push(loaded.loader_cpu / loaded.seconds);
        self.syncs.push(syncs);
        self.foreign.push(loaded.foreign);
    }
}

/// What came of it, and what the disk did just before.
fn measure(subject: &Subject, dir: &Path, bench: &Bench) -> Result<(Loaded, f64), BenchError> {
    let scratch = Scratch::empty(dir)?;
    let syncs = disk::syncs_per_second(dir)?;
    let mut command = match subject.kind {
        Kind::Ours(variant) => {
            let name = clap::ValueEnum::to_possible_value(&variant).expect("no variant is skipped");
            let mut command = child::this_program()?;
            command.arg("receive").arg(name.get_name()).arg(scratch.database());
            command
        }
        Kind::Peer(peer) => peer.command(bench, dir)?,
    };
    let mut receiver = Background::start(&mut command)?;
    let Listening { addr } = receiver.first_line()?;
    // One second more is the load's own, which is not counted.
    let prepared = usize::try_from(subject.most_a_second * (bench.window + 1));
    let prepared = prepared.map_err(|why| BenchError::because("the window is too long", why))?;
    let load = Load {
        addr,
        server: receiver.pid(),
        helpers: Vec::new(),
        core: pin::CLIENT,
        connections: SENDERS,
        window: bench.window,
        requests: Requests::Deliveries { first: 0, prepared },
        expect: Expect { status: 200, least: 0 },
        left: None,
        pace: None,
    };
    let loaded = child::run(child::this_program()?.arg("load"), &load)?;
    Ok((loaded, syncs))
}

/// `verify` beside the bare digest.
fn verification(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let (mut verify, mut digest, mut foreign) = (Series::new(), Series::new(), Series::new());
    for round in 0..=bench.rounds.get() {
        let measured = || {
            let watch = Watch::start();
            let costs: Costs = child::run(child::this_program()?.arg("verify"), &())?;
            let foreign = watch.foreign(costs.cpu);
            Ok((costs, foreign))
        };
        let (costs, others) = in_quiet(Duration::from_secs(bench.patience), measured)?;
        if round > 0 {
            verify.push(costs.verify);
            digest.push(costs.digest);
            foreign.push(others);
        }
    }
    for (what, series) in [("verify, 1 KiB", &verify), ("HMAC-SHA256, 1 KiB", &digest)] {
        let values = vec![("CPU ns each", series.median())];
        let (what, foreign) = (what.to_owned(), foreign.max());
        report.measured(Measurement { benchmark: BENCHMARK, what, values, foreign });
    }
    let (what, ratio) = ("verify / HMAC-SHA256 of the same bytes, CPU", verify.over(&digest));
    report.compared(BENCHMARK, what, (ratio, "x"), Some(Goal::AtMost(1.25)));
    report.note(
        "verify: with one secret, keyed once on both sides; it reads the header and the clock besides. \
         That it allocates nothing is a test of `formsvc-receiver`.",
    );
    Ok(())
}

fn tell(subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("req/s", subject.rate.median()),
                ("CPU us each", subject.cpu.median()),
                ("ms p50", subject.half.median()),
                ("ms p99", subject.most.median()),
                ("loader's core", subject.loader.median()),
                ("fdatasync/s", subject.syncs.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let find = |kind| subjects.iter().find(|subject| subject.kind == kind);
    let mut compare = |subject: Receiving, floor: Kind, goal: Option<f64>| {
        let Some((subject, floor)) = find(Kind::Ours(subject)).zip(find(floor)) else { return };
        let what = format!("{} / {}, req/s", subject.what, floor.what);
        let ratio = subject.rate.over(&floor.rate);
        report.compared(BENCHMARK, what, (ratio, "x"), goal.map(Goal::AtLeast));
        // Others on the machine disturb this least.
        let what = format!("{} / {}, CPU", subject.what, floor.what);
        report.compared(BENCHMARK, what, (subject.cpu.over(&floor.cpu), "x"), None);
    };
    let (body, log) = (Kind::Ours(Receiving::Body), Kind::Ours(Receiving::Log));
    let seen_log = Kind::Ours(Receiving::SeenLog);
    let (express, fastapi) = (Kind::Peer(Peer::Express), Kind::Peer(Peer::FastApi));
    compare(Receiving::Verified, body, None);
    compare(Receiving::Memory, body, Some(0.58));
    compare(Receiving::Sqlite, body, Some(0.3));
    compare(Receiving::SqliteQueue, body, None);
    compare(Receiving::Sqlite, log, None);
    // The same receiver with an append-only log where the inbox was.
    compare(Receiving::Sqlite, seen_log, Some(0.9));
    compare(Receiving::SqliteQueue, log, None);
    compare(Receiving::Sqlite, express, Some(6.0));
    compare(Receiving::Sqlite, fastapi, Some(10.0));
    compare(Receiving::Memory, express, None);
    compare(Receiving::Memory, fastapi, None);
    report.note(format!(
        "receiver: {SENDERS} senders over connections that are kept, each waiting for its answer; \
         deliveries of {BODY} bytes, signed when the measurement begins, one in {AGAIN_EVERY} of a \
         submission that was delivered before. `in SQLite` is durable before the answer \
         (`synchronous = FULL`): `once` claims, handles and completes, `kept` keeps the body as well. The \
         log writes whole bodies and verifies nothing; the other log writes keys. `fdatasync/s` is what \
         appending 1 KiB and waiting for the disk gave just before."
    ));
}
