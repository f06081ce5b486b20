//! `formsvc-server user`.

pub(super) mod add;
pub(super) mod link;
pub(super) mod list;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Create a user and print it as JSON.
    Add(add::Args),
    /// Create and print a link that sets a user's password, once and within 24 hours.
    Link(link::Args),
    /// List the users, oldest first.
    List(list::Args),
}
