//! Synchronization of submissions with a database of the user.
//!
//! | Concept | Item |
//! |---|---|
//! | the address of a database | [`SyncTarget`] |
//! | the database, with the submissions of any number of forms | [`SyncStore`] |
//! | one form in it, locked by this process | `FormStore` |
//! | positions of answers, columns of views | `labels` |

mod error;
mod form_store;
pub(crate) mod labels;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod sqlite;
mod status;
mod target;
mod verify;

use formsvc_client::{Client, FormId};

use crate::error::ExportError;
use crate::pull::{PullOptions, PullProgress, PullSummary, pull_into, until};
use target::Location;

pub use error::SyncError;
pub(crate) use form_store::{FormRef, FormStore};
#[cfg(feature = "postgres")]
pub use postgres::PostgresError;
pub use rows::FormRows;
pub use status::SyncStatus;
pub use target::SyncTarget;
pub(crate) use verify::SeenIds;
pub use verify::{VerifyOptions, VerifySummary};

/// A database with the submissions of any number of forms: exact rows, and a view per form with a column
/// per question.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_export::{PullOptions, SyncTarget};
/// let target: SyncTarget = "sqlite:rows.db".parse()?;
/// let store = target.open().await?;
/// let form = "frm_1".parse()?;
/// let options = PullOptions::default();
/// let summary = store.sync(&client, &form, Some("Survey"), &options, |_| {}).await?;
/// println!("{} new submissions, see the view {}", summary.pull.new, summary.view);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SyncStore {
    location: Location,
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
}

/// Changes of a view and of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewChanges {
    /// Columns that were added.
    pub new_columns: Vec<String>,
    /// Submissions with a character that the database refuses: NUL or a lone surrogate. It is replaced
    /// by U+FFFD in cells, and exact in `data`.
    pub cleaned_rows: u64,
    /// Why the view lacks columns, and the statement that allows this user to add them.
    pub outdated: Option<String>,
}

impl SyncStore {
    /// Returns remarks about the connection, such as a password file that was ignored.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Stores the submissions of a form that the database does not have, and adds columns for new
    /// labels to its view. With nothing new this is one request.
    ///
    /// Each page is stored before the next is requested, so that a dropped future or an error loses at
    /// most the page in flight, and the next call continues. A form that another process synchronizes
    /// is refused with [`SyncError::Locked`].
    pub async fn sync(
        &self,
        client: &Client,
        form: &FormId,
        title: Option<&str>,
        options: &PullOptions,
        on_page: impl FnMut(PullProgress<'_>),
    ) -> Result<SyncSummary, ExportError> {
        let run = async {
            let mut store = self.open_form(client, form, title).await?;
            let pull = pull_into(client, form, &mut store, options, on_page).await?;
            let (view, changes) = store.into_view();
            Ok(SyncSummary { pull, view, changes })
        };
        // Another session of the database can block the run for any time.
        until(options.deadline, run).await
    }

    /// Locks a form; adds it if it is new.
    async fn open_form(
        &self,
        client: &Client,
        form: &FormId,
        title: Option<&str>,
    ) -> Result<FormStore<'static>, ExportError> {
        let form = FormRef { origin: client.base_url(), id: form.as_str(), title };
        match &self.location {
            Location::Sqlite(path) => Ok(FormStore::Sqlite(sqlite::SqliteForm::open(path, form)?)),
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => {
                Ok(FormStore::Postgres(postgres::PgForm::open(address, form).await?))
            }
        }
    }
}
