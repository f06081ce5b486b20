//! CPU time of processes, as /proc tells it.
//!
//! The machine's total in /proc/stat may be counted by ticks, which misses most of what runs in
//! between; the times of processes are exact.

use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};

use crate::error::BenchError;

/// CPU time of one process, in seconds: its own, and that of its children that have ended.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    own: f64,
    ended_children: f64,
}

/// The four times in `/proc/PID/stat`, in clock ticks.
fn parse_stat(stat: &str) -> Option<[u64; 4]> {
    // The second field is the program's name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11).map(|field| field.parse().ok());
    let mut next = || fields.next().flatten();
    Some([next()?, next()?, next()?, next()?])
}

fn times(process: &str) -> Option<Times> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let [user, system, ended_user, ended_system] = parse_stat(&stat)?;
    let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
    #[expect(clippy::cast_precision_loss, reason = "a century of ticks fits in 52 bits")]
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
    Some(Times { own: seconds(user + system), ended_children: seconds(ended_user + ended_system) })
}

/// CPU seconds of a running process.
pub(crate) fn cpu_of(pid: u32) -> Result<f64, BenchError> {
    let gone = || BenchError::new(format!("the process {pid} is gone"));
    times(&pid.to_string()).map(|times| times.own).ok_or_else(gone)
}

/// CPU seconds of every process there is, with the children each has outlived: the time of one that
/// ends goes over to its parent, so that the sum only grows.
fn cpu_of_all() -> f64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0.0 };
    let numbers = processes.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
    });
    numbers.filter_map(|pid| times(&pid)).map(|times| times.own + times.ended_children).sum()
}

/// What everybody used since a moment.
pub(crate) struct Watch {
    since: Instant,
    all: f64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { since: Instant::now(), all: cpu_of_all() }
    }

    /// Cores that others kept busy, on average, when `ours` CPU seconds were our own.
    pub(crate) fn foreign(&self, ours: f64) -> f64 {
        let wall = self.since.elapsed().as_secs_f64();
        ((cpu_of_all() - self.all - ours) / wall).max(0.0)
    }
}

/// Cores' worth of foreign work that counts as quiet.
pub(crate) const QUIET: f64 = 0.1;

/// How often a measurement that others disturbed is made, at most.
const TRIES: u32 = 4;

/// Measures when others are quiet, and again when they were not: what they did decides, never what
/// was measured. The last try stands whatever it met, and without patience so does the first.
pub(crate) fn in_quiet<T>(
    patience: Duration,
    mut measure: impl FnMut() -> Result<(T, f64), BenchError>,
) -> Result<(T, f64), BenchError> {
    let tries = if patience.is_zero() { 1 } else { TRIES };
    for _ in 1..tries {
        wait_for_quiet(patience);
        let (measured, foreign) = measure()?;
        if foreign <= QUIET {
            return Ok((measured, foreign));
        }
    }
    wait_for_quiet(patience);
    measure()
}

/// Waits until others are quiet, at most so long; says whether they are.
pub(crate) fn wait_for_quiet(patience: Duration) -> bool {
    let since = Instant::now();
    loop {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(500));
        if watch.foreign(0.0) < QUIET {
            return true;
        }
        if since.elapsed() >= patience {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_program_name() {
        let stat = "7 (a) b (c d) S 1 7 7 0 -1 4194560 1 0 0 0 11 12 13 14 20 0 1 0 5 6 7";
        assert_eq!(parse_stat(stat), Some([11, 12, 13, 14]));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn a_measurement_is_made_again_only_because_of_others() {
        let made = |patience: u64, foreign: &[f64]| {
            let mut tries = foreign.iter().enumerate();
            let next = || Ok(tries.next().map(|(at, foreign)| (at, *foreign)).unwrap());
            in_quiet(Duration::from_millis(patience), next).unwrap().0
        };
        assert_eq!(made(1, &[0.0]), 0);
        assert_eq!(made(1, &[0.5, 0.2, 0.1]), 2);
        assert_eq!(made(1, &[0.5, 0.5, 0.5, 0.5]), 3);
        assert_eq!(made(0, &[0.5]), 0);
    }

    #[test]
    fn work_of_this_process_is_seen() {
        let before = cpu_of(std::process::id()).unwrap();
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(60) {
            std::hint::spin_loop();
        }
        assert!(cpu_of(std::process::id()).unwrap() > before);
    }
}
