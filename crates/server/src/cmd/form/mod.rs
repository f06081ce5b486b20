//! `formsvc-server form`.

pub(super) mod create;
pub(super) mod edit;
mod given;
pub(super) mod import;
pub(super) mod list;
pub(super) mod spam;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Make a form, and print it as JSON.
    Create(create::Args),
    /// Change a form, and print it as JSON.
    Edit(edit::Args),
    /// Make a form from a file of submissions, whole or not at all, and print it as JSON.
    Import(import::Args),
    /// Print a user's forms as JSON lines, newest first, at most 200.
    List(list::Args),
    /// Print what robots sent to a form as JSON lines, newest first, at most 1,000. It is no
    /// submission: nothing else lists it, and no webhook gets it.
    Spam(spam::Args),
}
