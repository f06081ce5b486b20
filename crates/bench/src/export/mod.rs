//! Exports as users run them, `formsvc submissions export` against `formsvc sandbox`, beside a client
//! that reads the same bodies and drops them.
//!
//! Two pairs of forms: as the sandbox generates them, with an answer of 1 MiB in every 10 000th
//! submission, and the same without those. The small form of a pair has a tenth of the submissions:
//! memory must not grow with rows.

pub(crate) mod data;
pub(crate) mod drain;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::accounting::{Watch, in_quiet};
use crate::args::Bench;
use crate::child;
use crate::error::BenchError;
use crate::measure::Used;
use crate::pin;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::sandbox::remove;

use data::{BIG, PLAIN, PLAIN_SMALL, Prepared, SMALL};

const BENCHMARK: &str = "export";
const OUT: &str = "export.out";
const MIB: f64 = 1024.0;

/// What reads a form.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// The floor.
    Drop,
    Export(&'static str),
    /// To standard output, which nobody keeps: what is left is what the file cost.
    Discard(&'static str),
}

const CSV: Reader = Reader::Export("csv");
const NDJSON: Reader = Reader::Export("ndjson");

/// One thing that is measured.
struct Subject {
    what: String,
    reader: Reader,
    form: &'static str,
    cpu: Series,
    wall: Series,
    peak: Series,
    foreign: Series,
}

impl Subject {
    fn new(reader: Reader, form: &'static str) -> Self {
        let what = match reader {
            Reader::Drop => format!("read and drop `{form}`"),
            Reader::Export(format) => format!("{format} of `{form}`"),
            Reader::Discard(format) => format!("{format} of `{form}`, discarded"),
        };
        let new = Series::default;
        Self { what, reader, form, cpu: new(), wall: new(), peak: new(), foreign: new() }
    }
}

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    if !pin::two_cores() {
        return Err(BenchError::new("the exports need two cores, one for the service"));
    }
    let prepared = Prepared::new(bench)?;
    let mut subjects: Vec<Subject> = Vec::new();
    for form in [BIG, PLAIN] {
        for reader in [Reader::Drop, CSV, NDJSON, Reader::Discard("ndjson")] {
            subjects.push(Subject::new(reader, form));
        }
    }
    for form in [SMALL, PLAIN_SMALL] {
        for reader in [CSV, NDJSON] {
            subjects.push(Subject::new(reader, form));
        }
    }
    for round in 0..=bench.rounds.get() {
        for subject in &mut subjects {
            let measured = || measure(subject, &prepared);
            let (used, foreign) = in_quiet(Duration::from_secs(bench.patience), measured)?;
            if round > 0 {
                subject.cpu.push(used.cpu);
                subject.wall.push(used.wall);
                #[expect(clippy::cast_precision_loss, reason = "mebibytes with two digits")]
                subject.peak.push(used.peak_kib as f64 / MIB);
                subject.foreign.push(foreign);
            }
        }
    }
    tell(&subjects, bench, report);
    Ok(())
}

/// What a subject used, and what others did meanwhile.
fn measure(subject: &Subject, prepared: &Prepared) -> Result<(Used, f64), BenchError> {
    // Freeing the blocks of an output that is replaced is no part of an export.
    remove(&prepared.dir().join(OUT))?;
    let watch = Watch::start();
    let service = prepared.service.cpu()?;
    let used: Used = child::run(&mut command(subject, prepared)?, &())?;
    let ours = used.cpu + (prepared.service.cpu()? - service);
    Ok((used, watch.foreign(ours)))
}

fn command(subject: &Subject, prepared: &Prepared) -> Result<Command, BenchError> {
    let program: Vec<OsString> = match subject.reader {
        Reader::Drop => {
            let this = std::env::current_exe().map_err(|why| BenchError::io("myself", why))?;
            let (service, form) = (&prepared.service, prepared.service.form_id(subject.form)?);
            vec![this.into(), "drain".into(), service.base_url().into(), form.into()]
        }
        Reader::Export(format) | Reader::Discard(format) => {
            let file = matches!(subject.reader, Reader::Export(_));
            let out = if file { prepared.dir().join(OUT) } else { PathBuf::from("-") };
            let fixed = ["--quiet", "--max-rate", "off", "submissions", "export", "--format"];
            let mut program: Vec<OsString> = vec![prepared.formsvc().into()];
            program.extend(fixed.map(OsString::from));
            program.extend([format.into(), "--out".into(), out.into(), subject.form.into()]);
            program
        }
    };
    let mut command = child::measured(pin::CLIENT, program)?;
    prepared.service.credentials(&mut command);
    Ok(command)
}

fn tell(subjects: &[Subject], bench: &Bench, report: &mut Report) {
    #[expect(clippy::cast_precision_loss, reason = "a number of rows a benchmark can read")]
    let rows = |form| data::rows(bench, form) as f64;
    for subject in subjects {
        let per_million = 1e6 / rows(subject.form);
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: subject.what.clone(),
            values: vec![
                ("CPU s/1M", subject.cpu.median() * per_million),
                ("rows/s", rows(subject.form) / subject.wall.median()),
                ("MiB peak", subject.peak.median()),
            ],
            foreign: subject.foreign.max(),
        });
    }
    let find = |reader, form| {
        let found = subjects.iter().find(|s| s.reader == reader && s.form == form);
        found.expect("every pair below is measured above")
    };
    for form in [BIG, PLAIN] {
        let discard = Reader::Discard("ndjson");
        for (reader, most) in [(CSV, Some(3.2)), (NDJSON, Some(2.1)), (discard, None)] {
            let (subject, floor) = (find(reader, form), find(Reader::Drop, form));
            let what = format!("{} / {}, CPU", subject.what, floor.what);
            let ratio = subject.cpu.over(&floor.cpu);
            report.compared(BENCHMARK, what, (ratio, "x"), most.map(Goal::AtMost));
        }
    }
    for (big, small) in [(BIG, SMALL), (PLAIN, PLAIN_SMALL)] {
        for reader in [CSV, NDJSON] {
            let (big, small) = (find(reader, big), find(reader, small));
            let what = format!("{}, worst peak", big.what);
            report.compared(BENCHMARK, what, (big.peak.max(), " MiB"), Some(Goal::AtMost(24.0)));
            let what = format!("{} / {}, peak", big.what, small.what);
            let growth = big.peak.over(&small.peak);
            report.compared(BENCHMARK, what, (growth, "x"), Some(Goal::AtMost(1.1)));
        }
    }
    report.note(format!(
        "`{BIG}` and `{SMALL}` are forms of {} and {} submissions as `formsvc sandbox --generate` \
         makes them, one answer of 1 MiB in every 10 000; `{PLAIN}` and `{PLAIN_SMALL}` have none",
        rows(BIG),
        rows(SMALL),
    ));
}

/// A directory for what is generated: the one that was named, or one that goes away.
pub(crate) enum Directory {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Directory {
    pub(crate) fn of(bench: &Bench) -> Result<Self, BenchError> {
        match &bench.dir {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(BenchError::at(path))?;
                Ok(Self::Kept(path.clone()))
            }
            None => tempfile::tempdir()
                .map(Self::Temporary)
                .map_err(|why| BenchError::io("cannot make a temporary directory", why)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(dir) => dir.path(),
        }
    }
}
