//! The command line `formsvc`. A command passes through five modules: [`settings::args`] (the flags) →
//! [`settings`] (values of flags, environment and files) → `context` (client, output, progress) → `cmd` (the
//! commands) → `output` (tables, JSON, messages).
//!
//! It is a library so that documents and tests can use its tables.

mod account;
pub mod base;
mod checks;
mod cmd;
mod complete;
mod context;
pub mod error;
pub mod exit;
mod form_cache;
mod form_ref;
mod output;
mod process;
#[cfg(feature = "sandbox")]
mod sandbox;
pub mod settings;

pub use cmd::{command, completion_scripts, man_pages};
pub use error::message::MESSAGE_FIELDS;
pub use process::main;
