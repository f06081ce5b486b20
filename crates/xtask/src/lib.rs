//! Generates the files that are derived from tables in the code, and reports those that are out of date.
//!
//! `cargo run -p xtask -- gen` writes them. `gen --check` writes nothing and fails if a file is out of
//! date. The files are committed, so that the diff of a change shows its effect on the documentation.

mod cli_errors;
mod cli_files;
mod cli_page;
mod config_page;
mod contract_page;
mod delivery_codes;
mod env_page;
mod error_codes;
mod errors_page;
mod exit_codes;
mod faults_page;
mod generated;
mod markdown;
mod metrics_page;
mod settings_page;

pub use contract_page::contract_problems;
pub use generated::{Generated, all, stale, write};
