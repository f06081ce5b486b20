//! `formsvc webhook`, through the binary.

mod check;
#[cfg(unix)]
pub(crate) mod recorder;
#[cfg(unix)]
mod trigger;
