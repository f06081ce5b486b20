//! The client as programs use it: what it costs to have submissions yielded, beside reading the same
//! bodies and dropping them; and what asking for the next page early saves.

mod decode;
mod overlap;
pub(crate) mod read;

use std::path::Path;
use std::time::Duration;

use crate::accounting::{Watch, in_quiet};
use crate::args::Bench;
use crate::child;
use crate::error::BenchError;
use crate::pin;
use crate::report::Report;
use crate::sandbox::{Sandbox, Settings};

use read::{Reader, Told};

const BENCHMARK: &str = "client";
/// Submissions of the form that is read with waits.
const FEW: u64 = 30_000;
/// That form, as the sandbox generates it.
const MANY: &str = "many";

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("the client needs two cores, one for the service"));
    }
    let prepared = decode::run(bench, report)?;
    overlap::run(bench, prepared, report)
}

/// The sandbox with a form of 30 000 submissions, and faults.
fn far(bench: &Bench, dir: &Path, rate_limit: &str, fault: &str) -> Result<Sandbox, BenchError> {
    Sandbox::start(&Settings {
        formsvc: &child::formsvc(bench)?,
        database: &dir.join(format!("client-{FEW}.db")),
        dir,
        core: Some(pin::SERVER),
        rate_limit,
        forms: vec![(MANY, FEW)],
        faults: &[fault],
    })
}

/// Reads a form to its end; tells what came of it, and what others did meanwhile.
fn read(
    bench: &Bench,
    service: &Sandbox,
    form: &str,
    reader: &Reader,
) -> Result<(Told, f64), BenchError> {
    let patience = Duration::from_secs(bench.patience);
    in_quiet(patience, || read_once(service, form, reader))
}

fn read_once(service: &Sandbox, form: &str, reader: &Reader) -> Result<(Told, f64), BenchError> {
    let mut command = child::this_program()?;
    command.arg("read").arg(service.base_url()).arg(service.form_id(form)?);
    service.credentials(&mut command);
    let (watch, before) = (Watch::start(), service.cpu()?);
    let told: Told = child::run(&mut command, reader)?;
    let ours = told.cpu + (service.cpu()? - before);
    Ok((told, watch.foreign(ours)))
}
