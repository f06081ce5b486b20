//! `formsvc webhook`, through the binary.

mod check;
#[cfg(unix)]
pub(crate) mod recorder;
mod sign;
mod support;
#[cfg(unix)]
mod trigger;
mod verify;
