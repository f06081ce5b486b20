//! Opening the database that a command works on.

use std::future::Future;
use std::sync::Arc;

use clap::builder::TypedValueParser;

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
