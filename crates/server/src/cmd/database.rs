//! Opening the database that a command works on.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::CommandError;
use super::exit::Exit;
use super::settings::bad;
use crate::admin::Admin;
use crate::printable::Excerpt;
use crate::store::sqlite::{OpenError, SqliteStore};
use crate::store::{Store, system_clock};

#[derive(Debug, clap::Args)]
pub(super) struct DatabaseArgs {
    /// Path of the database file.
    #[arg(long, value_name = "PATH", env = "FORMSVC_SERVER_DATABASE")]
    pub(super) database: PathBuf,
}

/// Whether a command may begin with a database that is not there yet.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Missing {
    Create,
    Refuse,
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
    // What the store refuses whether or not it is there must not send anyone to `migrate`.
    if missing == Missing::Refuse && !database.exists() && database.as_os_str() != ":memory:" {
        let path = database.display().to_string();
        let failed =
            CommandError::new(Exit::NotFound, format!("there is no database `{}`", Excerpt(&path)));
        return Err(failed.hint("`formsvc-server user add` makes one, with its first user"));
    }
    let store = SqliteStore::open(database, system_clock()).map_err(|e| refused(database, &e))?;
    let store: Arc<dyn Store> = Arc::new(store);
    let outcome = work(&Admin::new(Arc::clone(&store))).await;
    let closed = store.close().await;
    let value = outcome?;
    closed?;
    Ok(value)
}

/// A database that was not opened.
pub(super) fn refused(path: &Path, error: &OpenError) -> CommandError {
    let path = path.display().to_string();
    match error {
        OpenError::NotADatabase => {
            let what = format!("`{}` is not a formsvc database", Excerpt(&path));
            return CommandError::new(Exit::LocalIo, what).hint("choose another path");
        }
        OpenError::InMemory => {
            return bad("--database", &path, "must be the path of a file")
                .hint("`formsvc sandbox` serves a database in memory");
        }
        _ => {}
    }
    let hint = match error {
        OpenError::Locked { .. } => "one server at a time: stop the other one first",
        OpenError::NewerSchema { .. } => "use the release that wrote it, or a later one",
        OpenError::NotOurs => "choose another path",
        OpenError::NotALock { .. } => "find out who put it there, and remove it",
        _ => "check that its directory exists, is local, and can be written",
    };
    CommandError::of(Exit::LocalIo, error).hint(hint).about(&path)
}
