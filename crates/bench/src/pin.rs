//! Keeping a process on one core.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::args::Pinned;
use crate::error::BenchError;

/// The core that servers are kept on.
pub(crate) const SERVER: usize = 0;
/// The core that clients are kept on.
pub(crate) const CLIENT: usize = 1;

/// Keeps this thread on a core, and every thread and process it starts from now on.
pub(crate) fn to_core(core: usize) -> Result<(), BenchError> {
    let failed = |why| BenchError::because(format_args!("cannot stay on core {core}"), why);
    let mut cores = CpuSet::new();
    cores.set(core).map_err(failed)?;
    sched_setaffinity(Pid::from_raw(0), &cores).map_err(failed)
}

/// The child `pinned`: becomes another program, with this process's number and its pipes.
pub(crate) fn become_program(args: &Pinned) -> Result<(), BenchError> {
    to_core(args.core)?;
    let [name, rest @ ..] = &*args.program else {
        return Err(BenchError::new("no program was named"));
    };
    // Comes back only when it fails.
    let why = Command::new(name).args(rest).exec();
    Err(BenchError::because(format_args!("cannot start `{}`", name.display()), why))
}

/// Whether this process may use a core for servers and another for clients.
pub(crate) fn two_cores() -> bool {
    let allowed = sched_getaffinity(Pid::from_raw(0));
    allowed.is_ok_and(|cores| [SERVER, CLIENT].iter().all(|core| cores.is_set(*core) == Ok(true)))
}
