//! `formsvc-server form`.

mod account;
mod create;
mod edit;
mod fields;
mod given;
mod import;
mod list;
mod show;
mod spam;

use super::error::CommandError;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Create a form and print it as JSON.
    Create(create::Args),
    /// Change a form and print it as JSON.
    Edit(edit::Args),
    /// Create a form from a file of submissions, all or none, and print it as JSON.
    Import(import::Args),
    /// List the forms of a user, newest first, at most 200.
    List(list::Args),
    /// Show a form: address, title, status, fields and allowed senders.
    Show(show::Args),
    /// Print the fields of a form as JSON, for editing and `form edit --fields`.
    Fields(fields::Args),
    /// Print the spam of a form as JSON lines, newest first, at most 1,000. Spam is not listed as a
    /// submission, and no webhook delivers it.
    Spam(spam::Args),
}

pub(super) async fn run(group: &Group) -> Result<(), CommandError> {
    match group {
        Group::Create(args) => create::run(args).await,
        Group::Edit(args) => edit::run(args).await,
        Group::Import(args) => import::run(args).await,
        Group::List(args) => list::run(args).await,
        Group::Show(args) => show::run(args).await,
        Group::Fields(args) => fields::run(args).await,
        Group::Spam(args) => spam::run(args).await,
    }
}
