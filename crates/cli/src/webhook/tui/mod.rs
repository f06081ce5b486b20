//! The terminal interface: deliveries as they come, what is in them, and what can be done with them.
//!
//! All that is seen follows from a [`model`], which [`update`] changes without I/O and [`draw`] reads. A
//! [`run`] of it has a thread of its own, so that no delivery waits for a terminal.

mod args;
mod desk;
mod detail;
mod doc;
mod draw;
mod explanations;
mod facts;
mod field;
mod filter;
mod keys;
mod layout;
mod list;
mod look;
mod model;
mod notes;
mod reads;
mod replay;
mod row;
mod run;
#[cfg(test)]
mod samples;
mod screen;
mod sheets;
mod signals;
mod terminal;
#[cfg(test)]
mod tests;
mod update;

pub(crate) use args::{TuiArgs, can_be_shown};
pub(crate) use notes::Notes;
pub(crate) use run::{Tui, Watched};
