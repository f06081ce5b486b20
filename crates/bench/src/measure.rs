//! Running another program: to its end, to see what it used, or until it is no longer needed.

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::args::{Keep, Measure};
use crate::error::BenchError;
use crate::{child, pin};

/// Time a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What a program used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Used {
    /// CPU seconds, user and system.
    pub(crate) cpu: f64,
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Largest resident set, in KiB.
    pub(crate) peak_kib: i64,
}

/// The child `measure`: runs one program, so that what this process's children used is what the
/// program used, and prints that.
pub(crate) fn measure(args: &Measure) -> Result<(), BenchError> {
    if let Some(core) = args.core {
        pin::to_core(core)?;
    }
    let since = Instant::now();
    let mut child = start(&args.program)?;
    let status = wait(&mut child, Duration::from_secs(args.limit))?;
    let wall = since.elapsed().as_secs_f64();
    if !status.success() {
        let name = args.program.first().map(OsString::as_os_str).unwrap_or_default();
        return Err(BenchError::new(format!("`{}` failed: {status}", name.display())));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|why| BenchError::because("cannot read what was used", why))?;
    child::print_json(&Used { cpu: cpu_of(&usage), wall, peak_kib: usage.max_rss() })
}

/// CPU seconds, user and system.
pub(crate) fn cpu_of(usage: &Usage) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of years fit in 52 bits")]
    let micros = (usage.user_time() + usage.system_time()).num_microseconds() as f64;
    micros / 1e6
}

/// The child `keep`: runs a program until standard input ends, which it also does when the
/// benchmark is killed.
pub(crate) fn keep(args: &Keep) -> Result<(), BenchError> {
    if let Some(core) = args.core {
        pin::to_core(core)?;
    }
    let mut child = start(&args.program)?;
    // An error means as much as the end.
    let _ = std::io::stdin().read(&mut [0]);
    stop(&mut child)
}

fn start(program: &[OsString]) -> Result<Child, BenchError> {
    let [name, args @ ..] = program else { return Err(BenchError::new("no program was named")) };
    Command::new(name)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|why| BenchError::because(format_args!("cannot start `{}`", name.display()), why))
}

/// Waits for the end of a program, which is killed when it takes longer than `limit`.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, BenchError> {
    let since = Instant::now();
    let failed = |why| BenchError::io("cannot wait for a program", why);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        if since.elapsed() > limit {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Err(BenchError::new(format!("a program was killed after {limit:?}")));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Asks a program to end, and sees that it does.
fn stop(child: &mut Child) -> Result<(), BenchError> {
    let pid = i32::try_from(child.id()).expect("process ids of Linux fit");
    // It may have ended by itself.
    let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    wait(child, GRACE).map(|_| ())
}
