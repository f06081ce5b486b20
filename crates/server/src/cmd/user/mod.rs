//! `formsvc-server user`.

pub(super) mod add;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Add a user, and print it as JSON.
    Add(add::Args),
}
