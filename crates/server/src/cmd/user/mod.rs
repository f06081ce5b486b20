//! `formsvc-server user`.

pub(super) mod add;
pub(super) mod list;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Add a user, and print it as JSON.
    Add(add::Args),
    /// List the users, oldest first.
    List(list::Args),
}
