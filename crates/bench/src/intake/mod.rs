//! Submissions by HTTP, answered once they are on the disk: beside a bare SQLite thread that commits
//! the same rows, beside the same server without group commit, and with deliveries all the way to an
//! endpoint beside a skeleton that does the same with as little as possible.
//!
//! The server has one thread for requests and deliveries besides its store's, all on one core; 64
//! clients, and the endpoint, are on the other. Each measurement begins with an empty database.

pub(crate) mod accept;
mod skeleton;
pub(crate) mod writer;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::accounting::in_quiet;
use crate::args::{Accepting, Bench};
use crate::child::{self, Background};
use crate::database::{self, PUBLIC_ID, Scratch};
use crate::disk;
use crate::error::BenchError;
use crate::export::Directory;
use crate::left::Left;
use crate::load::{Expect, Load, Loaded, Requests};
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::sink::Sink;

const BENCHMARK: &str = "intake";
/// Clients, each with one request at a time.
const CLIENTS: usize = 64;
/// Different bodies that are sent in turn.
const BODIES: u64 = 2_000;

/// What is measured.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Writer,
    Server(Accepting),
}

const SUBJECTS: [(&str, Kind); 5] = [
    ("submissions by HTTP", Kind::Server(Accepting::Group)),
    ("bare SQLite thread", Kind::Writer),
    ("submissions by HTTP, a commit each", Kind::Server(Accepting::Alone)),
    ("by HTTP and delivered", Kind::Server(Accepting::Delivering)),
    ("skeleton, and delivered", Kind::Server(Accepting::Skeleton)),
];

struct Subject {
    what: &'static str,
    kind: Kind,
    rate: Series,
    cpu: Series,
    half: Series,
    most: Series,
    syncs: Series,
    foreign: Series,
}

/// What a server says once it answers.
#[derive(Serialize, Deserialize)]
struct Listening {
    addr: SocketAddr,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("intake needs two cores, one for the clients"));
    }
    let dir = Directory::of(bench)?;
    let sink = Sink::start()?;
    let mut subjects = SUBJECTS.map(|(what, kind)| {
        let new = Series::new;
        let (rate, cpu, half, most, syncs, foreign) = (new(), new(), new(), new(), new(), new());
        Subject { what, kind, rate, cpu, half, most, syncs, foreign }
    });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || {
                let (loaded, syncs) = measure(subject.kind, dir.path(), &sink, bench)?;
                let foreign = loaded.foreign;
                Ok(((loaded, syncs), foreign))
            };
            let patience = Duration::from_secs(bench.patience);
            let ((loaded, syncs), _) = in_quiet(patience, measured)?;
            if round > 0 {
                subject.rate.push(loaded.rate());
                subject.cpu.push(loaded.server_cpu * 1e6 / loaded.requests);
                subject.half.push(loaded.half * 1e3);
                subject.most.push(loaded.most * 1e3);
                subject.syncs.push(syncs);
                subject.foreign.push(loaded.foreign);
            }
        }
    }
    tell(&subjects, report);
    Ok(())
}

/// What came of it, and what the disk did just before.
fn measure(
    kind: Kind,
    dir: &Path,
    sink: &Sink,
    bench: &Bench,
) -> Result<(Loaded, f64), BenchError> {
    let scratch = Scratch::empty(dir)?;
    let database = scratch.database();
    let syncs = disk::syncs_per_second(dir)?;
    let variant = match kind {
        Kind::Writer => {
            let mut command = child::this_program()?;
            command.arg("bare-writer").arg(&database).arg(bench.window.to_string());
            return Ok((child::run(&mut command, &())?, syncs));
        }
        Kind::Server(variant) => variant,
    };
    let mut command = child::this_program()?;
    let name = clap::ValueEnum::to_possible_value(&variant).expect("no variant is skipped");
    command.arg("accept").arg(name.get_name()).arg(&database).arg(sink.url());
    let mut server = Background::start(&mut command)?;
    let Listening { addr } = server.first_line()?;
    let load = Load {
        addr,
        server: server.pid(),
        helpers: vec![sink.pid()],
        core: pin::CLIENT,
        connections: CLIENTS,
        window: bench.window,
        requests: Requests::Texts((0..BODIES).map(request).collect()),
        expect: Expect { status: 201, least: 0 },
        left: left(variant, &scratch),
        pace: None,
    };
    let loaded = child::run(child::this_program()?.arg("load"), &load)?;
    Ok((loaded, syncs))
}

/// How to see that everything was delivered.
fn left(variant: Accepting, scratch: &Scratch) -> Option<Left> {
    match variant {
        Accepting::Group | Accepting::Alone => None,
        Accepting::Delivering => Some(Left::of_the_service(&scratch.database())),
        Accepting::Skeleton => Some(skeleton::left(&scratch.database())),
    }
}

pub(crate) fn request(place: u64) -> String {
    let body = database::answers(place);
    format!(
        "POST /f/{PUBLIC_ID} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
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
                ("fdatasync/s", subject.syncs.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [http, writer, alone, delivered, skeleton] = subjects else {
        unreachable!("the subjects are those of the table")
    };
    let mut compare = |subject: &Subject, floor: &Subject, goal: f64| {
        let what = format!("{} / {}, a second", subject.what, floor.what);
        let ratio = subject.rate.over(&floor.rate);
        report.compared(BENCHMARK, what, (ratio, "x"), Some(Goal::AtLeast(goal)));
    };
    compare(http, writer, 0.35);
    compare(http, alone, 4.0);
    compare(delivered, skeleton, 0.6);
    let what = format!("{} / {}, CPU", delivered.what, skeleton.what);
    report.compared(BENCHMARK, what, (delivered.cpu.over(&skeleton.cpu), "x"), None);
    report.note(format!(
        "{CLIENTS} clients, each waiting for its answer; about 250 bytes of answers; every commit \
         reaches the disk before it is answered. `fdatasync/s` is what appending 1 KiB and waiting \
         for the disk gave just before. What is delivered counts from the first request until the \
         last delivery is recorded. The thread of the bare SQLite is on the server's core, its \
         clients on theirs."
    ));
}
