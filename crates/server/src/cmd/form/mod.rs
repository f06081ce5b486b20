//! `formsvc-server form`.

pub(super) mod import;
pub(super) mod list;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Make a form from a file of submissions, whole or not at all, and print it as JSON.
    Import(import::Args),
    /// Print a user's forms as JSON lines, newest first, at most 200.
    List(list::Args),
}
