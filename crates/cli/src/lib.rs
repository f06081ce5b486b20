//! The command line `formsvc`. A command passes through five stages, one module each:
//! [`args`] (as typed) → [`settings`] (as meant: flags, environment and terminal resolved once) →
//! `context` (client, output, progress) → `cmd` (what it does) → `output` (what the reader sees).
//!
//! A library only so that help, documents and tests can be derived from the same tables.

mod abort;
mod address;
mod again;
mod answer_type;
pub mod args;
mod ask;
pub mod at_once;
mod checks;
mod child;
mod cmd;
mod complete;
pub mod config;
mod context;
mod credentials;
mod early;
mod editor;
pub mod env;
pub mod error;
pub mod exit;
mod form_ref;
mod junit;
mod key;
mod log;
mod masked;
mod message;
mod opened;
mod output;
mod panics;
mod paths;
mod pretty;
#[cfg(unix)]
mod private_file;
mod progress;
mod reader;
mod run;
#[cfg(feature = "sandbox")]
mod sandbox;
mod sanitize;
pub mod settings;
mod shell;
mod signals;
mod suggest;
mod when;
mod wrap;

pub use cmd::{completion_scripts, man_pages};
pub use message::MESSAGE_FIELDS;
pub use run::main;

/// The whole command line as the parser has it, for the documents that are made of it.
pub fn command() -> clap::Command {
    <args::Cli as clap::CommandFactory>::command()
}
