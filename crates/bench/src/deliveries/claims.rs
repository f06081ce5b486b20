//! What claiming and settling costs, out of a small backlog and out of a large one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_server::store::{Settled, Store};

use super::drain::{claim_request, delivered};
use super::{AT_A_TIME, Drained};
use crate::accounting::{Watch, in_quiet};
use crate::args::{Bench, Claim};
use crate::database::{self, NOWHERE};
use crate::disk;
use crate::error::BenchError;
use crate::export::Directory;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::startup::own_cpu;
use crate::{child, pin};

const BENCHMARK: &str = "claims";
/// Deliveries claimed and settled in a measurement.
const CLAIMED: u64 = 5_000;
/// Deliveries that are due, in the two databases.
const DUE: [u64; 2] = [10_000, 1_000_000];

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let dir = Directory::of(bench)?;
    let mut subjects = DUE.map(|due| Subject::new(due, dir.path()));
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            subject.fill()?;
            let measured = || subject.measure(dir.path());
            let patience = Duration::from_secs(bench.patience);
            let ((drained, syncs), foreign) = in_quiet(patience, measured)?;
            if round > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
                let count = CLAIMED as f64;
                subject.wall.push(drained.seconds * 1e6 / count);
                subject.cpu.push(drained.cpu * 1e6 / count);
                subject.syncs.push(syncs);
                subject.foreign.push(foreign);
            }
        }
    }
    for subject in &subjects {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: format!("claimed and settled, {} due", subject.due),
            values: vec![
                ("us each", subject.wall.median()),
                ("CPU us each", subject.cpu.median()),
                ("fdatasync/s", subject.syncs.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let [few, many] = &subjects;
    let what = format!("claimed and settled, {} due / {}, time", many.due, few.due);
    report.compared(BENCHMARK, what, (many.wall.over(&few.wall), "x"), Some(Goal::AtMost(1.5)));
    let what = format!("claimed and settled, {} due / {}, CPU", many.due, few.due);
    report.compared(BENCHMARK, what, (many.cpu.over(&few.cpu), "x"), None);
    report.note(format!(
        "{CLAIMED} of the deliveries that are due to one endpoint, {AT_A_TIME} in a commit, on core {}",
        pin::SERVER
    ));
    Ok(())
}

struct Subject {
    due: u64,
    database: PathBuf,
    wall: Series,
    cpu: Series,
    syncs: Series,
    foreign: Series,
}

impl Subject {
    fn new(due: u64, dir: &Path) -> Self {
        let new = Series::new;
        let database = dir.join(format!("due-{due}.db"));
        Self { due, database, wall: new(), cpu: new(), syncs: new(), foreign: new() }
    }

    /// Sees that as many are due as should be.
    fn fill(&self) -> Result<(), BenchError> {
        let failed = |why| BenchError::caused("cannot fill", &why);
        database::block_on(async {
            let store: Arc<dyn Store> = Arc::new(database::open(&self.database)?);
            let public_id = database::PUBLIC_ID.parse().expect("letters");
            let known = store.form_by_public_id(&public_id).await.map_err(failed)?;
            let form = if let Some(form) = known {
                form
            } else {
                let form = database::add_form(&*store).await?;
                let vault = database::vault(&self.database)?;
                database::add_endpoint(&*store, &vault, &form, NOWHERE).await?;
                form
            };
            let there = store.backlog().await.map_err(failed)?.unfinished;
            if there < self.due {
                // Ids must be new: those of earlier runs were before now.
                let now = formsvc_server::store::system_clock()().micros().unsigned_abs();
                database::submit(&store, &form, now..now + self.due - there).await?;
            }
            store.close().await.map_err(failed)
        })
    }

    /// What it took, what the disk did just before, and what others did meanwhile.
    fn measure(&self, dir: &Path) -> Result<((Drained, f64), f64), BenchError> {
        let syncs = disk::syncs_per_second(dir)?;
        let (watch, own) = (Watch::start(), own_cpu()?);
        let mut command = child::this_program()?;
        let drained: Drained = child::run(command.arg("claim").arg(&self.database), &())?;
        let foreign = watch.foreign(own_cpu()? - own);
        Ok(((drained, syncs), foreign))
    }
}

/// The child `claim`.
pub(crate) fn claim(args: &Claim) -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let drained = database::block_on(async {
        let store = database::open(&args.database)?;
        let (since, cpu) = (Instant::now(), own_cpu()?);
        let mut left = CLAIMED;
        while left > 0 {
            let wanted = u32::try_from(left).unwrap_or(u32::MAX).min(AT_A_TIME);
            let claims = store.claim(claim_request(wanted)).await;
            let claims = claims.map_err(|why| BenchError::caused("cannot claim", &why))?.deliveries;
            let settlements: Vec<_> = claims.iter().map(delivered).collect();
            let settled = store.settle(settlements).await;
            let settled = settled.map_err(|why| BenchError::caused("cannot settle", &why))?;
            if settled.is_empty() || settled.iter().any(|one| *one != Settled::Kept) {
                return Err(BenchError::new("claims were lost"));
            }
            left -= u64::try_from(settled.len()).unwrap_or(u64::MAX).min(left);
        }
        let drained = Drained { seconds: since.elapsed().as_secs_f64(), cpu: own_cpu()? - cpu };
        store.close().await.map_err(|why| BenchError::caused("cannot close", &why))?;
        Ok(drained)
    })?;
    child::print_json(&drained)
}
