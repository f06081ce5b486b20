//! `formsvc webhook`, through the binary.

mod check;
#[cfg(unix)]
mod listen;
#[cfg(unix)]
pub(crate) mod recorder;
mod sign;
mod support;
#[cfg(unix)]
mod trigger;
mod verify;
