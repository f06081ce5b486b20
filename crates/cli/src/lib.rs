//! The command line `formsvc`. A command passes through five stages, one module each:
//! [`settings::args`] (as typed) → [`settings`] (as meant: flags, environment and terminal resolved once) →
//! `context` (client, output, progress) → `cmd` (what it does) → `output` (what the reader sees).
//!
//! A library only so that help, documents and tests can be derived from the same tables.

mod abort;
mod account;
pub mod at_once;
pub mod base;
mod checks;
mod cmd;
mod complete;
mod context;
pub mod error;
pub mod exit;
mod form_ref;
mod output;
mod process;
#[cfg(feature = "sandbox")]
mod sandbox;
pub mod settings;
mod signals;

pub use cmd::{command, completion_scripts, man_pages};
pub use error::message::MESSAGE_FIELDS;
pub use process::run::main;
