//! `formsvc webhook`, through the binary.

mod check;
mod events;
#[cfg(unix)]
mod inspector;
#[cfg(unix)]
mod kept;
#[cfg(unix)]
mod listen;
#[cfg(unix)]
mod passing;
#[cfg(unix)]
mod poll;
#[cfg(unix)]
pub(crate) mod recorder;
#[cfg(unix)]
mod replay;
mod sign;
#[cfg(unix)]
mod store;
mod support;
#[cfg(unix)]
mod trigger;
mod verify;
