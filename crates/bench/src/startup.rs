//! How long a process takes to say how it is used, against one that does nothing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

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
    let formsvc = child::formsvc(bench)?;
    let starts: [(&str, &Path, &[&str]); 3] = [
        ("/bin/true", Path::new("/bin/true"), &[]),
        ("formsvc --help", &formsvc, &["--help"]),
        ("formsvc --version", &formsvc, &["--version"]),
    ];
    let mut walls = [const { Series::new() }; 3];
    let mut foreign = Series::default();
    for round in 0..=bench.rounds.get() {
        wait_for_quiet(Duration::from_secs(bench.patience));
        let (watch, own) = (Watch::start(), own_cpu()?);
        let mut round_walls = [const { Series::new() }; 3];
        for _ in 0..STARTS {
            for ((_, program, args), wall) in starts.iter().zip(&mut round_walls) {
                wall.push(time_of(program, args)?);
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
    Ok(())
}

/// Seconds from starting a program to its end.
fn time_of(program: &Path, args: &[&str]) -> Result<f64, BenchError> {
    let since = Instant::now();
    let mut command = Command::new(program);
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
