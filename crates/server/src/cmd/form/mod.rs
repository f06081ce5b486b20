//! `formsvc-server form`.

pub(super) mod import;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Make a form from a file of submissions, whole or not at all, and print it as JSON.
    Import(import::Args),
}
