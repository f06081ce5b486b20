//! Opening the database that a command works on.

use std::future::Future;
use std::sync::Arc;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::error::CommandError;
use super::exit::Exit;
pub(super) use super::place::Missing;
use super::place::Place;
use crate::admin::Admin;

#[derive(Debug, clap::Args)]
pub(super) struct DatabaseArgs {
    /// Path of the database file, or address of a PostgreSQL database like
    /// `postgres://user@host/database`; one with a password goes into the variable.
    #[arg(long, value_name = "DATABASE", env = "FORMSVC_SERVER_DATABASE", hide_env_values = true)]
    #[arg(value_parser = clap::builder::OsStringValueParser::new().map(Place::from))]
    pub(super) database: Place,
}

/// A command line that lacks a database and nothing else.
pub(super) fn unnamed(refusal: &clap::Error) -> Option<CommandError> {
    let Some(ContextValue::Strings(lacks)) = refusal.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_database = |argument: &String| argument.starts_with("--database ");
    let is_all = refusal.kind() == ErrorKind::MissingRequiredArgument
        && !lacks.is_empty()
        && lacks.iter().all(is_database);
    is_all.then(no_database)
}

/// The refusal of a command that was told of no database.
pub(super) fn no_database() -> CommandError {
    CommandError::usage("no database is named, and there is no default").hint(
        "name one with `--database`, in the variable FORMSVC_SERVER_DATABASE, or as `database` in the file \
         that `--config` names",
    )
}

/// Runs a command that needs no second thread.
pub(super) fn block_on<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::of(Exit::LocalIo, &error))?.block_on(work)
}

/// Opens the database beside a server that may run on it, does the work, and closes it.
pub(super) async fn with<T>(
    DatabaseArgs { database }: &DatabaseArgs,
    missing: Missing,
    work: impl AsyncFnOnce(&Admin) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let store = database.open(missing).await?;
    let outcome = work(&Admin::new(Arc::clone(&store))).await;
    let closed = store.close().await;
    let value = outcome?;
    closed?;
    Ok(value)
}
