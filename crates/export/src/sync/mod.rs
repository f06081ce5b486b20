//! Synchronization of submissions with a database of the user.
//!
//! | Concept | Item |
//! |---|---|
//! | the address of a database | [`SyncTarget`] |
//! | the database, with the submissions of any number of forms | [`SyncStore`] |
//! | one form in it, locked by this process | `FormStore` in `store` |

mod rows;
mod target;
mod verify;

use std::path::PathBuf;

use formsvc_client::{Client, Form, FormId};
use tokio::time::Instant;

use crate::blocking::{Blocking, run_blocking};
use crate::error::{ExportError, StoreError};
use crate::pull::{PullOptions, PullProgress, PullSummary, pull, until};
#[cfg(feature = "postgres")]
use crate::store::postgres;
use crate::store::{Finished, FormRef, FormStore, RowStore, SqliteForm, SyncStatus, ViewChanges};
use target::Location;

pub use rows::FormRows;
pub use target::SyncTarget;
pub use verify::{VerifyOptions, VerifySummary};

/// A database with the submissions of any number of forms: exact rows, and a view per form with a column
/// per question.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_export::{PullOptions, SyncTarget};
/// let target: SyncTarget = "sqlite:rows.db".parse()?;
/// let store = target.open().await?;
/// let options = PullOptions::default();
/// for form in &client.forms().await? {
///     let summary = store.sync(&client, &form.id, Some(form), &options, |_| {}).await?;
///     println!("{} new submissions, see the view {}", summary.pull.new, summary.view);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SyncStore {
    location: Location,
    deadline: Option<Instant>,
    warnings: Vec<String>,
}

/// The effect of a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SyncSummary {
    /// The submissions.
    pub pull: PullSummary,
    /// The name of the form's view.
    pub view: String,
    /// The changes of the view and of its cells.
    pub changes: ViewChanges,
    /// The write-ahead log beside an SQLite database, if it contains submissions that the database file lacks,
    /// because another program was reading the database at the end of the run. A copy then needs both files.
    pub log: Option<PathBuf>,
}

impl SyncStore {
    /// Returns remarks about the connection, such as a password file that was ignored.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Describes the forms of the database, in the order in which they were added.
    pub async fn status(&self) -> Result<Vec<SyncStatus>, ExportError> {
        match &self.location {
            Location::Sqlite(path) => {
                let (path, deadline) = (path.clone(), self.deadline);
                let read = move || {
                    std::fs::metadata(&path).map_err(|error| StoreError::new(&path, error))?;
                    let store = RowStore::open_existing(&path, deadline)?;
                    store.map_or(Ok(Vec::new()), |store| store.status())
                };
                Ok(run_blocking(read).await?)
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => Ok(postgres::read_status(address).await?),
        }
    }

    /// Stores the submissions of a form that the database does not have, and adds columns for new
    /// labels to its view. With nothing new this is one request.
    ///
    /// While a page is stored, the next one is requested. After an error, a dropped future or a kill, the next
    /// call requests the newest page and at most two pages again, then continues.
    ///
    /// `listed` is the form as the service lists it, if the caller knows it: its title and its public id are
    /// stored. A form that another process synchronizes is refused with
    /// [`SyncError::Locked`](crate::SyncError::Locked).
    pub async fn sync(
        &self,
        client: &Client,
        form: &FormId,
        listed: Option<&Form>,
        options: &PullOptions,
        on_page: impl FnMut(PullProgress<'_>),
    ) -> Result<SyncSummary, ExportError> {
        let deadline = options.deadline();
        let run = async {
            let mut store = self.open_form(client, form, listed, deadline).await?;
            let pull = pull(client, form, &mut store, options, on_page).await?;
            let Finished { view, changes, log } = store.finish().await?;
            Ok(SyncSummary { pull, view, changes, log })
        };
        // Another session of the database can block the run for any time.
        until(deadline, run).await
    }

    /// Locks a form; adds it if it is new.
    async fn open_form(
        &self,
        client: &Client,
        form: &FormId,
        listed: Option<&Form>,
        deadline: Option<Instant>,
    ) -> Result<FormStore, ExportError> {
        match &self.location {
            Location::Sqlite(path) => {
                let deadline = deadline.or(self.deadline);
                let (path, origin) = (path.clone(), client.base_url().to_owned());
                let (id, listed) = (form.clone(), listed.cloned());
                let open = move || {
                    let form = form_ref(&origin, &id, listed.as_ref());
                    SqliteForm::open(&path, form, deadline)
                };
                Ok(FormStore::Sqlite(Blocking::new(run_blocking(open).await?)))
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => {
                let form = form_ref(client.base_url(), form, listed);
                let form = postgres::PgForm::open(address, form).await?;
                Ok(FormStore::Postgres(Box::new(form)))
            }
        }
    }
}

fn form_ref<'a>(origin: &'a str, id: &'a FormId, listed: Option<&'a Form>) -> FormRef<'a> {
    let title = listed.map(|form| &*form.title);
    FormRef {
        origin,
        id: id.as_str(),
        title,
        public_id: listed.map(|form| form.public_id.as_str()),
    }
}
