//! Deliveries to an endpoint on this machine, with their state kept: beside the same client posting
//! the same signed bodies and keeping nothing, and beside one commit for each delivery.
//!
//! A backlog is prepared, and what is measured is how fast it goes. Deliveries are made in a process
//! with one thread besides its store's, all on one core; the endpoint is on the other.

pub(crate) mod claims;
pub(crate) mod drain;
mod skeleton;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use formsvc_server::delivery::{DeliveryOptions, Equipment, Slots, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::metrics::Metrics;
use formsvc_server::secrets::Vault;
use formsvc_server::store::{Store, system_clock};
use serde::{Deserialize, Serialize};

use crate::accounting::{Watch, cpu_of, in_quiet};
use crate::args::{Bench, Draining};
use crate::child;
use crate::database::{self, Scratch};
use crate::disk;
use crate::error::BenchError;
use crate::export::Directory;
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::sink::Sink;

const BENCHMARK: &str = "deliver";
/// Attempts under way at a time.
pub(crate) const AT_A_TIME: u32 = 64;
/// Deliveries prepared.
const BACKLOG: u64 = 150_000;
/// Deliveries made when each is recorded by itself, which takes much longer.
const FEW: u64 = 20_000;

/// What delivers: the service's engine, on a store and a vault, with as many attempts at a time as
/// asked for, all to one endpoint if need be.
pub(crate) fn equipment(store: Arc<dyn Store>, vault: Vault, at_a_time: u32) -> Equipment {
    let mut options = DeliveryOptions::default();
    options.slots = Slots { in_all: at_a_time.max(options.slots.in_all), per_endpoint: at_a_time };
    let carrier = Arc::new(client(at_a_time));
    let (clock, random, metrics) = (system_clock(), system_random(), Metrics::new());
    Equipment { store, carrier, vault, clock, random, options, metrics }
}

/// The service's client, which may deliver to this machine.
fn client(at_a_time: u32) -> DeliveryClient {
    let idle_per_host_max = usize::try_from(at_a_time).unwrap_or(usize::MAX);
    let policy = EgressPolicy::dev();
    DeliveryClient::new(ClientOptions { policy, idle_per_host_max, ..ClientOptions::default() })
}

const SUBJECTS: [(&str, Draining, u64); 4] = [
    ("delivered, state on the disk", Draining::Engine, BACKLOG),
    ("posted, no state", Draining::Client, BACKLOG),
    ("delivered, a commit each", Draining::Alone, FEW),
    ("skeleton, one row changed each", Draining::Skeleton, BACKLOG),
];

struct Subject {
    what: &'static str,
    variant: Draining,
    count: u64,
    rate: Series,
    cpu: Series,
    syncs: Series,
    foreign: Series,
}

/// What a child did.
#[derive(Serialize, Deserialize)]
struct Drained {
    /// From the first to the last.
    seconds: f64,
    /// CPU seconds meanwhile.
    cpu: f64,
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("deliveries need two cores, one for the endpoint"));
    }
    let dir = Directory::of(bench)?;
    let sink = Sink::start()?;
    let template = prepare(&dir, &sink)?;
    let mut subjects = SUBJECTS.map(|(what, variant, count)| {
        let new = Series::new;
        Subject { what, variant, count, rate: new(), cpu: new(), syncs: new(), foreign: new() }
    });
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || {
                let (drained, syncs, foreign) = measure(subject, &template, &dir, &sink)?;
                Ok(((drained, syncs), foreign))
            };
            let patience = Duration::from_secs(bench.patience);
            let ((drained, syncs), foreign) = in_quiet(patience, measured)?;
            if round > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
                let count = subject.count as f64;
                subject.rate.push(count / drained.seconds);
                subject.cpu.push(drained.cpu * 1e6 / count);
                subject.syncs.push(syncs);
                subject.foreign.push(foreign);
            }
        }
    }
    std::fs::remove_file(&template).map_err(BenchError::at(&template))?;
    tell(&subjects, report);
    Ok(())
}

/// A database with a backlog for the endpoint.
fn prepare(dir: &Directory, sink: &Sink) -> Result<PathBuf, BenchError> {
    let template = dir.path().join("backlog.db");
    // One that is left from an earlier run is for an endpoint that is gone.
    for leftover in ["", "-wal", "-shm", ".key", ".lock"] {
        let _ = std::fs::remove_file(dir.path().join(format!("backlog.db{leftover}")));
    }
    database::block_on(async {
        let store: Arc<dyn Store> = Arc::new(database::open(&template)?);
        let vault = database::vault(&template)?;
        let form = database::add_form(&*store).await?;
        database::add_endpoint(&*store, &vault, &form, &sink.url()).await?;
        database::submit(&store, &form, 0..BACKLOG).await?;
        store.close().await.map_err(|why| BenchError::caused("cannot close", &why))
    })?;
    Ok(template)
}

/// What came of it, what the disk did just before, and what others did meanwhile.
fn measure(
    subject: &Subject,
    template: &std::path::Path,
    dir: &Directory,
    sink: &Sink,
) -> Result<(Drained, f64, f64), BenchError> {
    let scratch = Scratch::copy(template, dir.path())?;
    let syncs = disk::syncs_per_second(dir.path())?;
    let variant = clap::ValueEnum::to_possible_value(&subject.variant);
    let variant = variant.expect("no variant is skipped");
    let mut command = child::this_program()?;
    command.arg("deliver").arg(variant.get_name()).arg(scratch.database());
    command.arg(sink.url()).arg(subject.count.to_string());
    let (watch, before) = (Watch::start(), cpu_of(sink.pid())?);
    let own = crate::startup::own_cpu()?;
    let drained: Drained = child::run(&mut command, &())?;
    let ours = cpu_of(sink.pid())? - before + crate::startup::own_cpu()? - own;
    Ok((drained, syncs, watch.foreign(ours)))
}

fn tell(subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.to_owned(),
            values: vec![
                ("a second", subject.rate.median()),
                ("CPU us each", subject.cpu.median()),
                ("fdatasync/s", subject.syncs.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [engine, bare, alone, skeleton] = subjects else {
        unreachable!("the subjects are those of the table")
    };
    let mut compare = |subject: &Subject, floor: &Subject, goal| {
        let what = format!("{} / {}, a second", subject.what, floor.what);
        let ratio = subject.rate.over(&floor.rate);
        report.compared(BENCHMARK, what, (ratio, "x"), goal);
    };
    compare(engine, bare, Some(Goal::AtLeast(0.75)));
    compare(engine, alone, Some(Goal::AtLeast(5.0)));
    compare(skeleton, bare, None);
    compare(engine, skeleton, None);
    let what = format!("{} / {}, CPU", engine.what, bare.what);
    report.compared(BENCHMARK, what, (engine.cpu.over(&bare.cpu), "x"), None);
    report.note(format!(
        "{BACKLOG} deliveries to one endpoint, {AT_A_TIME} at a time, with bodies of about 430 bytes, \
         each signed when it is sent; a commit each: {FEW}, each attempt waiting for its own. \
         `fdatasync/s` is what appending 1 KiB and waiting for the disk gave just before"
    ));
}
