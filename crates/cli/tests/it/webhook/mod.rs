//! `formsvc webhook`, through the binary.

#[cfg(unix)]
mod chain;
mod check;
mod events;
#[cfg(unix)]
mod explained;
#[cfg(unix)]
mod hidden;
#[cfg(unix)]
mod inspector;
#[cfg(unix)]
pub(crate) mod kept;
#[cfg(unix)]
mod listen;
#[cfg(unix)]
mod open;
#[cfg(unix)]
mod passing;
#[cfg(unix)]
mod poll;
#[cfg(unix)]
pub(crate) mod recorder;
#[cfg(unix)]
mod replay;
#[cfg(unix)]
mod sandbox;
#[cfg(unix)]
mod secret;
#[cfg(unix)]
mod shown;
mod sign;
#[cfg(unix)]
mod store;
mod support;
#[cfg(unix)]
mod trigger;
mod verify;
