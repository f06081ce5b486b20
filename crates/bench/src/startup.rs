//! How long a process takes to say how it is used, against one that does nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use tempfile::TempDir;

use crate::accounting::{Watch, wait_for_quiet};
use crate::args::Bench;
use crate::error::BenchError;
use crate::report::{Goal, Measurement, Report};
use crate::rounds::Series;
use crate::{child, measure};

const BENCHMARK: &str = "startup";
/// Starts of each in a round; one start takes about a millisecond.
const STARTS: u32 = 40;

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<(), BenchError> {
    let installed = Installed::new()?;
    let formsvc = installed.copy_of(&child::formsvc(bench)?)?;
    let hello = installed.copy_of(&child::clap_hello()?)?;
    let starts: [Start<'_>; 6] = [
        ("/bin/true", Path::new("/bin/true"), &[]),
        ("formsvc --help", &formsvc, &["--help"]),
        ("formsvc --version", &formsvc, &["--version"]),
        ("clap hello-world", &hello, &[]),
        ("formsvc completion bash", &formsvc, &["completion", "bash"]),
        (COMPLETES, &formsvc, &["--", "formsvc", "forms", "view", "pen"]),
    ];
    let mut walls = [const { Series::new() }; 6];
    let mut foreign = Series::default();
    for round in 0..=bench.rounds.get() {
        wait_for_quiet(Duration::from_secs(bench.patience));
        let (watch, own) = (Watch::start(), own_cpu()?);
        let mut round_walls = [const { Series::new() }; 6];
        for _ in 0..STARTS {
            for (start, wall) in starts.iter().zip(&mut round_walls) {
                wall.push(time_of(*start)?);
            }
        }
        if round > 0 {
            foreign.push(watch.foreign(own_cpu()? - own));
            for (all, one) in walls.iter_mut().zip(&round_walls) {
                all.push(one.median());
            }
        }
    }
    for ((what, _, _), wall) in starts.iter().zip(&walls) {
        report.measured(Measurement {
            benchmark: BENCHMARK,
            what: (*what).to_owned(),
            values: vec![("ms", wall.median() * 1e3)],
            foreign: foreign.max(),
        });
    }
    for at in [1, 2] {
        let what = format!("{} / /bin/true, time", starts[at].0);
        let ratio = walls[at].over(&walls[0]);
        report.compared(BENCHMARK, what, (ratio, "x"), Some(Goal::AtMost(2.0)));
    }
    for at in [2, 4] {
        let what = format!("{} / {}, time", starts[at].0, starts[3].0);
        let ratio = walls[at].over(&walls[3]);
        report.compared(BENCHMARK, what, (ratio, "x"), Some(Goal::AtMost(1.5)));
    }
    let completes = (walls[5].median() * 1e3, "ms");
    report.compared(BENCHMARK, COMPLETES.to_owned(), completes, Some(Goal::AtMost(200.0)));
    let bytes = std::fs::metadata(&formsvc).map_err(|why| BenchError::io("no size", why))?.len();
    #[expect(clippy::cast_precision_loss, reason = "a size for reading needs no more digits")]
    let size = bytes as f64 / f64::from(1 << 20);
    report.measured(Measurement {
        benchmark: BENCHMARK,
        what: "size of formsvc".to_owned(),
        values: vec![("MiB", size)],
        foreign: foreign.max(),
    });
    Ok(())
}

/// Where copies of programs are. Who installs a program copies it; the file that a linker wrote lies in memory
/// in small pieces, and starts 5 to 15 % more slowly than its copy.
struct Installed(TempDir);

impl Installed {
    fn new() -> Result<Self, BenchError> {
        let folder = tempfile::tempdir();
        folder.map(Self).map_err(|why| BenchError::io("cannot make a folder for programs", why))
    }

    fn copy_of(&self, program: &Path) -> Result<PathBuf, BenchError> {
        let copy = self.0.path().join(program.file_name().unwrap_or_default());
        std::fs::copy(program, &copy).map_err(BenchError::at(program))?;
        Ok(copy)
    }
}

/// What it is, the program and its arguments.
type Start<'a> = (&'a str, &'a Path, &'a [&'a str]);

/// A shell that asks which form is meant, while nothing answers where the service should be.
const COMPLETES: &str = "completion of a form, service down";

/// Seconds from starting a program to its end.
fn time_of((what, program, args): Start<'_>) -> Result<f64, BenchError> {
    let since = Instant::now();
    let mut command = Command::new(program);
    if what == COMPLETES {
        // A port that nobody may listen on without being somebody, and nobody does.
        command.env("FORMSVC_COMPLETE", "fish").env("FORMSVC_BASE_URL", "http://127.0.0.1:9");
        command.env("FORMSVC_API_KEY", "fsk_none");
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |why: &dyn std::fmt::Display| {
        BenchError::because(format_args!("`{}`", program.display()), why)
    };
    let status = command.status().map_err(|why| failed(&why))?;
    let took = since.elapsed().as_secs_f64();
    if status.success() { Ok(took) } else { Err(failed(&status)) }
}

/// CPU seconds of this process and of its children that have ended.
pub(crate) fn own_cpu() -> Result<f64, BenchError> {
    let mut cpu = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).map_err(|why| BenchError::because("no usage", why))?;
        cpu += measure::cpu_of(&usage);
    }
    Ok(cpu)
}
