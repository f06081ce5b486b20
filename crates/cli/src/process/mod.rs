//! The process: starts a command, handles signals and panics, and returns its exit code.

pub(crate) mod log;
pub(crate) mod panics;
pub(crate) mod run;
