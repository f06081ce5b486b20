//! Where everything is kept: one trait, one contract, any number of backends.
//!
//! A backend promises, and `contract` (behind the feature of that name) checks:
//! - an `Ok` from a write means the write is committed and survives a crash;
//! - a write whose future is dropped is still carried out or not at all, never in part;
//! - the submissions of one form have strictly increasing instants in commit order;
//! - a page is one consistent read.

#[cfg(feature = "contract")]
pub mod contract;
mod error;
pub mod item;
mod records;
pub mod sqlite;

use std::future::Future;
use std::pin::Pin;

use formsvc_protocol::{Form, FormId, FormInstant, FormStatus, KeyId, PublicId, User, UserId};

pub use error::StoreError;
pub use records::{
    Accepted, Authenticated, KeyHash, KeyRecord, NewForm, NewKey, NewSubmission, PageRequest,
    StagedForm, StagedSubmission, StoredPage, UserRecord,
};

/// A boxed future of a store call; it borrows the store only.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A place that keeps users, keys, forms and submissions.
///
/// # Time
///
/// A call gives no promise of how long it takes; a caller that must answer in time sets a deadline
/// around it, as the API does with 10 s. A deadline ends the waiting at an `.await`. It cannot end
/// what a backend does within one poll: an embedded backend may read a few rows there and then (as
/// [`SqliteStore`](sqlite::SqliteStore) does for look-ups, lists and small pages: microseconds each),
/// and must bound its own waiting there. `SqliteStore` waits at most 1 s for a locked file; a disk
/// that hangs it cannot bound. Pages with large items, and all writes, leave the caller's thread.
pub trait Store: Send + Sync + 'static {
    /// Adds a user. The e-mail address is unique: [`StoreError::Exists`].
    fn add_user(&self, user: UserRecord) -> StoreFuture<'_, User>;
    /// The user with an e-mail address.
    fn user_by_email(&self, email: &str) -> StoreFuture<'_, Option<User>>;

    /// Adds a key; only its hash is ever given to the store.
    fn add_key(&self, key: NewKey) -> StoreFuture<'_, KeyRecord>;
    /// Marks a key revoked; revoking twice keeps the first time. [`StoreError::NotFound`].
    fn revoke_key(&self, key: &KeyId) -> StoreFuture<'_, KeyRecord>;
    /// The keys of a user, newest first.
    fn keys(&self, user: &UserId) -> StoreFuture<'_, Vec<KeyRecord>>;
    /// The key with a hash, revoked or not, with its owner: what each API request asks first.
    fn authenticate(&self, hash: &KeyHash) -> StoreFuture<'_, Option<Authenticated>>;

    /// Adds a form. The public id is unique: [`StoreError::Exists`].
    fn add_form(&self, form: NewForm) -> StoreFuture<'_, Form>;
    /// Sets the status of a form. [`StoreError::NotFound`].
    fn set_form_status(&self, form: &FormId, status: FormStatus) -> StoreFuture<'_, Form>;
    /// A user's forms, newest first, at most
    /// [`FORMS_LISTED_MAX`](formsvc_protocol::limits::FORMS_LISTED_MAX).
    fn forms(&self, user: &UserId) -> StoreFuture<'_, Vec<Form>>;
    /// The form with a public id.
    fn form_by_public_id(&self, id: &PublicId) -> StoreFuture<'_, Option<Form>>;

    /// Accepts a submission: takes the form's next instant and keeps the answers, in one
    /// transaction with others that wait at the same time. [`StoreError::NotFound`] when the form
    /// does not exist, [`StoreError::Closed`] when it is not published, [`StoreError::Invalid`] when
    /// the answers are longer than [`ANSWERS_MAX`](formsvc_protocol::limits::ANSWERS_MAX).
    fn submit(&self, submission: NewSubmission) -> StoreFuture<'_, Accepted>;
    /// One page of a user's form, newest first; `None` when the form does not exist or is not the
    /// user's. It ends early, with `has_more`, before the row that would take it beyond
    /// [`PAGE_BYTES_MAX`](formsvc_protocol::limits::PAGE_BYTES_MAX), but not before its first.
    fn page(&self, request: PageRequest) -> StoreFuture<'_, Option<StoredPage>>;

    /// Begins a form that nobody sees until [`publish_staged`](Self::publish_staged): an import
    /// appears whole or not at all, and does not hold up other writers while it runs.
    fn stage_form(&self, form: NewForm) -> StoreFuture<'_, StagedForm>;
    /// Appends submissions to a staged form, oldest first, in one transaction. An instant that is
    /// not later than the one before it, and answers longer than
    /// [`ANSWERS_MAX`](formsvc_protocol::limits::ANSWERS_MAX), are refused with
    /// [`StoreError::Invalid`].
    fn stage_submissions(
        &self,
        form: &StagedForm,
        submissions: Vec<StagedSubmission>,
    ) -> StoreFuture<'_, ()>;
    /// Makes a staged form visible. [`StoreError::NotFound`] when it was discarded meanwhile.
    fn publish_staged(&self, form: &StagedForm) -> StoreFuture<'_, Form>;
    /// Removes a staged form and what was staged in it.
    fn discard_staged(&self, form: &StagedForm) -> StoreFuture<'_, ()>;

    /// A write that changes nothing: fails when the store cannot take writes.
    fn probe(&self) -> StoreFuture<'_, ()>;
    /// Finishes queued writes, checkpoints, and closes. Later calls fail with
    /// [`StoreError::Unavailable`], except that closing again does nothing.
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// Time as the store reads it, injected so that tests own it.
pub type Clock = std::sync::Arc<dyn Fn() -> FormInstant + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    std::sync::Arc::new(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = now.map_or(0, |now| now.as_micros());
        FormInstant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    })
}
