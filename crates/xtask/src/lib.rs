//! Generates the files that follow from tables in the code, and says which of them are stale.
//!
//! `cargo run -p xtask -- gen` writes them; `gen --check` writes nothing and fails when one is not
//! what would be written. They are committed, so that a change to a table shows in the diff what
//! users will read.

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
