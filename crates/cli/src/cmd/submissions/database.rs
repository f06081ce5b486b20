//! `--from`: a database of `submissions sync`, which is read instead of the service.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use clap::Args;
use formsvc_client::Completeness;
use formsvc_export::{
    ExportError, FormRows, Format, RowRange, StoreProblem, SyncStatus, SyncStore, SyncTarget,
};
use secrecy::{ExposeSecret, SecretString};

use super::export::spools;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::matching;

/// The database of `--from`.
#[derive(Debug, Args)]
pub(super) struct DatabaseSource {
    /// Read a database of `submissions sync` instead of the service: `sqlite:PATH` or `postgres://…`
    #[arg(long, value_name = "URL", value_parser = address)]
    from: Option<SecretString>,
    /// The schema of a PostgreSQL database [default: public]
    #[arg(long, value_name = "NAME", requires = "from", hide_short_help = true)]
    schema: Option<String>,
}

/// An open database and its forms.
pub(super) struct Database {
    store: SyncStore,
    pub(super) forms: Vec<SyncStatus>,
}

/// Reads the URL of a database. It may contain a password, so that it is never shown.
#[expect(clippy::unnecessary_wraps, reason = "clap requires a function that returns a `Result`")]
pub(super) fn address(text: &str) -> Result<SecretString, Infallible> {
    Ok(SecretString::from(text))
}

/// Parses the URL of a database.
pub(super) fn read_target(
    flag: &str,
    url: &SecretString,
    schema: Option<&str>,
) -> Result<SyncTarget, CliError> {
    let url = url.expose_secret();
    let target = url.parse::<SyncTarget>().map_err(|error| {
        let error = CliError::from(error);
        if url.starts_with("duckdb:") {
            return error
                .hint("for DuckDB, export a Parquet file with `formsvc submissions export`");
        }
        // A text with `:` or `@` may contain a password.
        let is_file = Format::from_path(Path::new(url)) == Some(Format::Sqlite);
        if is_file && !url.contains([':', '@']) {
            error.hint(format!("for an SQLite file, use `{flag} sqlite:{url}`"))
        } else {
            error
        }
    })?;
    match schema {
        None => Ok(target),
        Some(_) if !target.is_postgres() => {
            Err(CliError::usage("an SQLite database has no schema").hint("omit `--schema`"))
        }
        Some(schema) => Ok(target.schema(schema)),
    }
}

/// Opens a database and reports warnings about the connection.
pub(super) async fn open_store(
    cx: &Context,
    target: &SyncTarget,
) -> Result<SyncStore, ExportError> {
    let store = target.open().await?;
    store.warnings().iter().for_each(|warning| cx.progress.warn(warning));
    Ok(store)
}

/// Returns the forms of a database.
pub(super) async fn stored_forms(store: &SyncStore) -> Result<Vec<SyncStatus>, CliError> {
    store.status().await.map_err(|error| {
        let is_missing = match &error {
            ExportError::Store(error) => match error.problem() {
                StoreProblem::Io(error) => error.kind() == io::ErrorKind::NotFound,
                _ => false,
            },
            _ => false,
        };
        let hint = "`formsvc submissions sync FORM --to sqlite:PATH` creates the database";
        CliError::from(error).hint(if is_missing { hint } else { "" })
    })
}

impl DatabaseSource {
    /// Opens the database; `None` without `--from`.
    pub(super) async fn open(&self, cx: &Context) -> Result<Option<Database>, CliError> {
        let Some(url) = &self.from else { return Ok(None) };
        let store = open_store(cx, &read_target("--from", url, self.schema.as_deref())?).await?;
        let forms = stored_forms(&store).await?;
        Ok(Some(Database { store, forms }))
    }
}

impl Database {
    /// Finds a form by its id, its public id, its title or the beginning of either id.
    pub(super) fn find(&self, name: &str) -> Result<&SyncStatus, CliError> {
        let found = matching(&self.forms, name, |form| {
            [Some(&form.form_id), form.public_id.as_deref(), form.title.as_deref()]
        });
        match found[..] {
            [form] => Ok(form),
            [] => {
                let what = format!("the database does not contain the form `{name}`");
                let hint = "`formsvc submissions sync status --to URL` lists its forms";
                Err(CliError::new(Exit::NotFound, what).hint(hint))
            }
            _ => {
                let ids = found.iter().map(|form| format!("{} of {}", form.form_id, form.origin));
                let ids = ids.collect::<Vec<_>>().join(", ");
                let what = format!("`{name}` is more than one form: {ids}");
                Err(CliError::usage(what).hint("use the full id"))
            }
        }
    }

    /// Returns the stored submissions of a form within a range.
    pub(super) async fn rows(
        &self,
        cx: &Context,
        form: &SyncStatus,
        range: RowRange,
    ) -> Result<FormRows, CliError> {
        Ok(self.store.rows(form, range, &spools(cx)?).await?)
    }
}

/// Returns an error with exit 9 if the database lacks submissions of a form.
pub(super) fn check_stored(rows: &FormRows, form: &SyncStatus) -> Result<(), CliError> {
    if rows.completeness != Completeness::Incomplete {
        return Ok(());
    }
    let what = format!("the database does not have all submissions of `{}`", form.form_id);
    let hint = "complete it with `formsvc submissions sync`, or with `sync verify` if submissions were \
                left out";
    Err(CliError::new(Exit::DataPolicy, what).hint(hint))
}
