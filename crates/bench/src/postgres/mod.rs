//! The server on PostgreSQL: submissions by HTTP beside a bare batched insert of the same rows on as many
//! connections, and pages of 100 beside the same server answering a constant one.
//!
//! The database is a server of its own in a temporary directory, with the settings a database should have;
//! it runs on both cores, as do its measurements, so that what is compared is compared in turn, and CPU
//! time of the database counts as that of others.

mod data;
pub(crate) mod insert;
pub(crate) mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;

use formsvc_server::store::contract::cluster::Cluster;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::args::Bench;
use crate::child::{self, Background};
use crate::error::BenchError;
use crate::export::Directory;
use crate::load::{Expect, Load, Loaded, Requests};
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use data::Prepared;

const BENCHMARK: &str = "postgres";
/// As a database is run, whatever a test's does.
const SETTINGS: [&str; 5] = [
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "shared_buffers=256MB",
    "max_wal_size=2GB",
];
/// Visitors, and programs that read pages.
const VISITORS: usize = 64;
const READERS: usize = 16;
/// Different bodies that are sent in turn.
const BODIES: u64 = 2_000;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Submissions,
    Insert,
    Pages,
    Constant,
}

const SUBJECTS: [(&str, Kind); 4] = [
    ("submissions by HTTP", Kind::Submissions),
    ("bare batched insert", Kind::Insert),
    ("page of 100", Kind::Pages),
    ("constant page", Kind::Constant),
];

struct Subject {
    what: &'static str,
    kind: Kind,
    rate: Series,
    cpu: Series,
    half: Series,
    most: Series,
    foreign: Series,
}

/// What a server says once it answers.
#[derive(Serialize, Deserialize)]
struct Listening {
    addr: SocketAddr,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("the server needs two cores, one for the load"));
    }
    let Some(cluster) = Cluster::own(&SETTINGS) else {
        report.note("there is no PostgreSQL on this machine, and nothing was measured of it");
        return Ok(());
    };
    let dir = Directory::of(bench)?;
    let page = dir.path().join("postgres-page.json");
    let prepared = Prepared::on(&cluster, &page)?;
    let mut subjects = SUBJECTS.map(|(what, kind)| {
        let new = Series::new;
        let (rate, cpu, half, most, foreign) = (new(), new(), new(), new(), new());
        Subject { what, kind, rate, cpu, half, most, foreign }
    });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let loaded = measure(subject.kind, &cluster, &prepared, &page, bench)?;
            if round > 0 {
                subject.rate.push(loaded.rate());
                subject.cpu.push(loaded.server_cpu * 1e6 / loaded.requests);
                subject.half.push(loaded.half * 1e3);
                subject.most.push(loaded.most * 1e3);
                subject.foreign.push(loaded.foreign);
            }
        }
    }
    tell(&subjects, report);
    Ok(())
}

fn measure(
    kind: Kind,
    cluster: &Cluster,
    prepared: &Prepared,
    page: &PathBuf,
    bench: &Bench,
) -> Result<Loaded, BenchError> {
    let mut command = child::this_program()?;
    let empty = cluster.fresh_schema();
    if kind == Kind::Insert {
        command.arg("bare-insert").arg(empty.expose_secret()).arg(bench.window.to_string());
        return child::run(&mut command, &());
    }
    command.arg("serve-postgres");
    let (connections, requests, expect) = match kind {
        Kind::Submissions | Kind::Insert => {
            command.arg(empty.expose_secret()).arg("--make-form");
            let requests = (0..BODIES).map(crate::intake::request).collect();
            (VISITORS, requests, Expect { status: 201, least: 0 })
        }
        Kind::Pages | Kind::Constant => {
            command.arg(prepared.address());
            (READERS, prepared.requests(), Expect { status: 200, least: 1_000 })
        }
    };
    if kind == Kind::Constant {
        command.arg("--page").arg(page);
    }
    let mut server = Background::start(&mut command)?;
    let Listening { addr } = server.first_line()?;
    let load = Load {
        addr,
        server: server.pid(),
        helpers: Vec::new(),
        core: pin::CLIENT,
        connections,
        window: bench.window,
        requests: Requests::Texts(requests),
        expect,
        left: None,
        pace: None,
    };
    child::run(child::this_program()?.arg("load"), &load)
}

fn tell(subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("a second", subject.rate.median()),
                ("CPU us each", subject.cpu.median()),
                ("ms p50", subject.half.median()),
                ("ms p99", subject.most.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [http, insert, page, constant] = subjects else {
        unreachable!("the subjects are those of the table")
    };
    for (subject, floor, goal) in [(http, insert, 0.5), (page, constant, 0.08)] {
        let what = format!("{} / {}, a second", subject.what, floor.what);
        let ratio = subject.rate.over(&floor.rate);
        report.compared(BENCHMARK, what, (ratio, "x"), Some(Goal::AtLeast(goal)));
    }
    report.note(format!(
        "PostgreSQL on a socket of the same machine, on both cores, with {}: `others` holds its CPU \
         time. {VISITORS} visitors, {READERS} readers of {} submissions; the rate limit counts in the \
         database and never refuses. The bare insert writes a submission, its delivery and its place in \
         the queue, on 2 connections, 128 at most in a transaction.",
        SETTINGS.join(", "),
        data::ROWS,
    ));
}
