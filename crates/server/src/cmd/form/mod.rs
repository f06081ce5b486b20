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
    /// Make a form, and print it as JSON.
    Create(create::Args),
    /// Change a form, and print it as JSON.
    Edit(edit::Args),
    /// Make a form from a file of submissions, whole or not at all, and print it as JSON.
    Import(import::Args),
    /// List a user's forms, newest first, at most 200.
    List(list::Args),
    /// Show a form: its address, title and status, its fields, and who may send to it.
    Show(show::Args),
    /// Print a form's fields as JSON, to be edited and given back to `form edit --fields`.
    Fields(fields::Args),
    /// Print what robots sent to a form as JSON lines, newest first, at most 1,000. It is no
    /// submission: nothing else lists it, and no webhook gets it.
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
