//! Synchronization of submissions with a database of the user.
//!
//! | Concept | Item |
//! |---|---|
//! | the address of a database | [`SyncTarget`] |
//! | the database, with the submissions of any number of forms | [`SyncStore`] |
//! | one form in it, locked by this process | `FormStore` |
//! | positions of answers, columns of views | `labels`, `names` |

mod error;
mod form_store;
pub(crate) mod labels;
mod names;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod sqlite;
mod status;
mod target;
mod verify;

use std::path::PathBuf;

use formsvc_client::{Client, FormId};
use tokio::time::Instant;

use crate::error::ExportError;
use crate::pull::{PageStore, PullOptions, PullProgress, PullSummary, pull_into};

pub use error::SyncError;
pub(crate) use form_store::{FormRef, FormStore};
#[cfg(feature = "postgres")]
pub use postgres::PostgresError;
pub use rows::FormRows;
pub use status::SyncStatus;
pub use target::SyncTarget;
pub use verify::{VerifyOptions, VerifySummary};

/// A database with the submissions of any number of forms: exact rows, and a view per form with a column
/// per question.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_export::{SyncOptions, SyncTarget};
/// let target: SyncTarget = "sqlite:rows.db".parse()?;
/// let mut store = target.open().await?;
/// let form = "frm_1".parse()?;
/// let options = SyncOptions::default();
/// let summary = store.sync(&client, &form, Some("Survey"), &options, |_| {}).await?;
/// println!("{} new submissions, see the view {}", summary.pull.new, summary.view);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SyncStore(Backend);

#[derive(Debug)]
enum Backend {
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<postgres::PgStore>),
}

/// How to synchronize a form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncOptions {
    /// The oldest wanted time, in microseconds since 1970.
    pub since: i64,
    /// Submissions per request.
    pub page_size: u32,
    /// Continues where more submissions share a unit of the service's cursor than a page can show.
    pub allow_incomplete: bool,
    /// Stops at this time. The next run continues.
    pub deadline: Option<Instant>,
}

impl Default for SyncOptions {
    fn default() -> Self {
        let PullOptions { since, page_size, allow_incomplete, deadline, .. } =
            PullOptions::default();
        Self { since, page_size, allow_incomplete, deadline }
    }
}

/// A step of a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SyncEvent<'a> {
    /// The form is locked; the pull begins.
    #[non_exhaustive]
    Opened {
        /// The view of the form.
        view: &'a str,
    },
    /// A page was stored.
    Page(PullProgress<'a>),
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
    /// Columns of which the type became wider.
    pub widened_columns: Vec<String>,
    /// Submissions with a character that the database refuses: NUL or a lone surrogate. It is replaced
    /// by U+FFFD in cells, and exact in `data`.
    pub cleaned_rows: u64,
    /// Submissions with answers in the column `other_answers`, because the view has no room for more
    /// columns.
    pub other_answers_rows: u64,
    /// Why the view lacks columns, and the statement that allows this user to add them.
    pub outdated: Option<String>,
}

impl SyncStore {
    pub(crate) fn sqlite(path: PathBuf) -> Self {
        Self(Backend::Sqlite(path))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(store: postgres::PgStore) -> Self {
        Self(Backend::Postgres(Box::new(store)))
    }

    /// Returns remarks about the connection, such as a password file that was ignored.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            Backend::Sqlite(_) => &[],
            #[cfg(feature = "postgres")]
            Backend::Postgres(store) => store.warnings(),
        }
    }

    /// Stores the submissions of a form that the database does not have, and adds columns for new
    /// labels to its view. With nothing new this is one request.
    ///
    /// Each page is stored before the next is requested, so that a dropped future or an error loses at
    /// most the page in flight, and the next call continues. A form that another process synchronizes
    /// is refused with [`SyncError::Locked`].
    pub async fn sync(
        &mut self,
        client: &Client,
        form: &FormId,
        title: Option<&str>,
        options: &SyncOptions,
        mut on_event: impl FnMut(SyncEvent<'_>),
    ) -> Result<SyncSummary, ExportError> {
        let mut store = self.open_form(client, form, title).await?;
        let view = store.view().to_owned();
        on_event(SyncEvent::Opened { view: &view });
        let pull_options = PullOptions {
            since: options.since,
            page_size: options.page_size,
            allow_incomplete: options.allow_incomplete,
            deadline: options.deadline,
            ..PullOptions::default()
        };
        let on_page = |page: PullProgress<'_>| on_event(SyncEvent::Page(page));
        let pages = PageStore::Form(&mut store);
        let pull = pull_into(client, form, pages, &pull_options, on_page).await;
        let changes = store.take_changes();
        self.close_form(store).await;
        Ok(SyncSummary { pull: pull?, view, changes })
    }

    /// Locks a form; adds it if it is new.
    async fn open_form(
        &mut self,
        client: &Client,
        form: &FormId,
        title: Option<&str>,
    ) -> Result<FormStore, SyncError> {
        let form = FormRef { origin: client.base_url(), id: form.as_str(), title };
        match &mut self.0 {
            Backend::Sqlite(path) => Ok(FormStore::Sqlite(sqlite::SqliteForm::open(path, form)?)),
            #[cfg(feature = "postgres")]
            Backend::Postgres(store) => Ok(FormStore::Postgres(store.open_form(form).await?)),
        }
    }

    /// Ends the lock of a form. A dropped form ends it too, but not at once.
    async fn close_form(&mut self, store: FormStore) {
        match (&mut self.0, store) {
            #[cfg(feature = "postgres")]
            (Backend::Postgres(backend), FormStore::Postgres(form)) => {
                backend.close_form(form).await;
            }
            (_, store) => drop(store),
        }
    }
}
