//! Where everything is kept: one trait, one contract, any number of backends.
//!
//! A backend promises, and `contract` (behind the feature of that name) checks:
//! - an `Ok` from a write means the write is committed and survives a crash;
//! - a write whose future is dropped is still carried out or not at all, never in part;
//! - the submissions of one form have strictly increasing instants in commit order;
//! - a page is one consistent read;
//! - a submission and its deliveries are kept together or not at all;
//! - a delivery is claimed by one worker at a time, and only the last to claim it can settle it.

mod accounts;
#[cfg(feature = "contract")]
pub mod contract;
mod delivery;
mod endpoint;
mod error;
pub mod item;
mod observer;
#[cfg(feature = "postgres")]
pub mod postgres;
mod prune;
mod records;
mod rules;
mod schema_policy;
pub mod sqlite;
mod work;

use std::future::Future;
use std::pin::Pin;

use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_protocol::{
    DeliveryId, EndpointId, Form, FormId, FormInstant, FormStatus, KeyId, PublicId, User, UserId,
};

use crate::rate_limit::RateLimit;

pub use accounts::{
    Credentials, LINK_HAS_USER, LINK_WANTS_USER, LinkRecord, NewLink, NewSession, OwnedEndpoint,
    PasswordHash, Redemption, SessionRecord, TokenHash,
};
pub use delivery::{
    Attempt, Backlog, ClaimRequest, Claimed, ClaimedEndpoint, Claims, DeliveriesRequest,
    DeliveryDetail, DeliveryKey, DeliveryRecord, DeliveryState, Due, EndpointsAtOnce, Lane, Lease,
    Settled, Settlement, Verdict, Want,
};
pub use endpoint::{
    ENDPOINT_DISABLED, ENDPOINT_REMOVED, ENDPOINT_URL, ENDPOINTS_FULL, ENDPOINTS_MAX, EndpointNo,
    EndpointRecord, EndpointStatus, NewEndpoint, SealedSecret,
};
pub use error::StoreError;
pub use observer::{Commit, StoreObserver};
pub use prune::{Prunable, PruneCursor, PruneRequest, Pruned};
pub use records::{
    Accepted, Authenticated, FormChange, Idempotency, KeyHash, KeyRecord, NewForm, NewKey, NewSpam,
    NewSubmission, PageRequest, PublicForm, Revision, SPAM_BYTES_MAX, SPAM_MAX, SpamRecord,
    SpamRequest, StagedForm, StagedSubmission, StoredPage, UserRecord,
};
pub(crate) use rules::email_key;
pub use schema_policy::SchemaPolicy;
pub use work::WorkSignal;

/// A boxed future of a store call; it borrows the store only.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Says which page is asked for by whoever was found, if any, and whether there is one to be read.
pub type Judge<'a> = Box<dyn FnOnce(Option<Authenticated>) -> Option<PageRequest> + Send + 'a>;

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
    /// The user with an id.
    fn user(&self, id: &UserId) -> StoreFuture<'_, Option<User>>;
    /// All users, oldest first.
    fn users(&self) -> StoreFuture<'_, Vec<User>>;

    /// What somebody who signs in with an e-mail address, in any case, is judged by.
    fn credentials(&self, email: &str) -> StoreFuture<'_, Option<Credentials>>;
    /// Whether any user has a password.
    fn can_sign_in(&self) -> StoreFuture<'_, bool>;
    /// Sets a password. All sessions and links of the user end with it. [`StoreError::NotFound`].
    fn set_password(&self, user: &UserId, password: PasswordHash) -> StoreFuture<'_, ()>;
    /// Begins a session. [`StoreError::NotFound`] when there is no such user, or the password is not
    /// theirs any more.
    fn add_session(&self, session: NewSession) -> StoreFuture<'_, SessionRecord>;
    /// The session with a token, until it expires or is ended.
    fn session(&self, token: &TokenHash) -> StoreFuture<'_, Option<SessionRecord>>;
    /// Ends a session; one that is none is ended already.
    fn end_session(&self, token: &TokenHash) -> StoreFuture<'_, ()>;
    /// Ends the sessions of a user but one, and says how many. [`StoreError::NotFound`].
    fn end_sessions(&self, user: &UserId, except: Option<TokenHash>) -> StoreFuture<'_, u64>;
    /// Makes a link that sets a password once. Earlier ones of the same user, or of the first owner,
    /// stop working. [`StoreError::NotFound`] when there is no such user.
    fn add_link(&self, link: NewLink) -> StoreFuture<'_, LinkRecord>;
    /// The link with a token, until it is used or expires; that of the first owner, until somebody can
    /// sign in.
    fn link(&self, token: &TokenHash) -> StoreFuture<'_, Option<LinkRecord>>;
    /// Uses a link up: sets the password of its user, who is made first where the link is for the first
    /// owner, and ends the user's sessions. Of those who use it at the same time one succeeds.
    /// [`StoreError::NotFound`] when [`link`](Self::link) would find none, [`StoreError::Exists`] when
    /// the new user's e-mail address is taken, [`StoreError::Invalid`] when a new user is given and not
    /// wanted, or the other way round; the link can still be used after those two.
    fn redeem_link(&self, token: TokenHash, redemption: Redemption) -> StoreFuture<'_, User>;
    /// Forgets sessions and links that have expired, at most some hundreds in one call; `true` when
    /// there may be more.
    fn forget_expired(&self) -> StoreFuture<'_, bool>;

    /// Adds a key; only its hash is ever given to the store.
    fn add_key(&self, key: NewKey) -> StoreFuture<'_, KeyRecord>;
    /// Marks a key revoked; revoking twice keeps the first time. [`StoreError::NotFound`].
    fn revoke_key(&self, key: &KeyId) -> StoreFuture<'_, KeyRecord>;
    /// The key with an id.
    fn key(&self, id: &KeyId) -> StoreFuture<'_, Option<KeyRecord>>;
    /// The keys of a user, newest first.
    fn keys(&self, user: &UserId) -> StoreFuture<'_, Vec<KeyRecord>>;
    /// The key with a hash, revoked or not, with its owner: what each API request asks first.
    ///
    /// Where other processes may share the store, the request is counted as well, unless the key was
    /// revoked: among those of all of them, as a [`RateLimiter`](crate::rate_limit::RateLimiter) counts
    /// those of one.
    fn authenticate(
        &self,
        hash: &KeyHash,
        limit: RateLimit,
    ) -> StoreFuture<'_, Option<Authenticated>>;

    /// The page that a request with a key asks for: looks the key up as
    /// [`authenticate`](Self::authenticate) does, lets `judge` say which page is asked for by whom it
    /// found, and reads that as [`page`](Self::page) does. `None` too when it names no page. One call,
    /// because a backend may answer both at once.
    fn page_for_key<'a>(
        &'a self,
        hash: &KeyHash,
        limit: RateLimit,
        judge: Judge<'a>,
    ) -> StoreFuture<'a, Option<StoredPage>> {
        let hash = *hash;
        Box::pin(async move {
            match judge(self.authenticate(&hash, limit).await?) {
                Some(request) => self.page(request).await,
                None => Ok(None),
            }
        })
    }

    /// Notes when keys were used last. An earlier time than the one noted changes nothing, nor does an
    /// unknown key.
    fn note_key_uses(&self, uses: Vec<(KeyId, FormInstant)>) -> StoreFuture<'_, ()>;

    /// Adds a form. The public id is unique: [`StoreError::Exists`].
    fn add_form(&self, form: NewForm) -> StoreFuture<'_, Form>;
    /// Sets the status of a form. [`StoreError::NotFound`].
    fn set_form_status(&self, form: &FormId, status: FormStatus) -> StoreFuture<'_, Form>;
    /// A user's forms, newest first, at most
    /// [`FORMS_LISTED_MAX`](formsvc_protocol::limits::FORMS_LISTED_MAX).
    fn forms(&self, user: &UserId) -> StoreFuture<'_, Vec<Form>>;
    /// How many submissions each form of a user has, as [`forms`](Self::forms) lists them. Counts
    /// nothing: costs the same however many there are.
    fn form_totals(&self, user: &UserId) -> StoreFuture<'_, Vec<(FormId, u64)>>;
    /// Whose form it is; `None` when there is no such form.
    fn form_owner(&self, form: &FormId) -> StoreFuture<'_, Option<UserId>>;
    /// The form with an id.
    fn form(&self, id: &FormId) -> StoreFuture<'_, Option<Form>>;
    /// The form with a public id.
    fn form_by_public_id(&self, id: &PublicId) -> StoreFuture<'_, Option<Form>>;

    /// What a visitor of a form meets, by the form's public id.
    fn public_form(&self, id: &PublicId) -> StoreFuture<'_, Option<PublicForm>>;
    /// Changes what is given of a form, and nothing else. [`StoreError::NotFound`];
    /// [`StoreError::Changed`] when the form is at another revision than the change is for.
    fn change_form(&self, form: &FormId, change: FormChange) -> StoreFuture<'_, Form>;

    /// Accepts a submission: takes the form's next instant, keeps the answers, and makes a delivery
    /// for each enabled endpoint of the form, in one transaction with others that wait at the same
    /// time. A submission whose idempotency key was used with the same fingerprint in the last day is
    /// answered with the first one's outcome, and nothing is kept. [`StoreError::NotFound`] when the
    /// form does not exist, [`StoreError::Closed`] when it is not published,
    /// [`StoreError::Changed`] when the answers were checked by another revision of it,
    /// [`StoreError::KeyReused`] when the key was used with another fingerprint,
    /// [`StoreError::Invalid`] when the answers are longer than
    /// [`ANSWERS_MAX`](formsvc_protocol::limits::ANSWERS_MAX).
    fn submit(&self, submission: NewSubmission) -> StoreFuture<'_, Accepted>;
    /// Whether a submission would be refused with [`StoreError::Unavailable`] for a reason that is
    /// known before it is read: the disk is nearly full, or the last commit failed a moment ago.
    /// Cheap enough to be asked before each.
    fn can_accept(&self) -> Result<(), StoreError>;
    /// Keeps what was sent by a machine rather than a visitor. It is no submission: no page shows it
    /// and no endpoint gets it. The newest of a form are kept, at most [`SPAM_MAX`] with
    /// [`SPAM_BYTES_MAX`] bytes of answers.
    fn keep_spam(&self, spam: NewSpam) -> StoreFuture<'_, ()>;
    /// What is kept of a form's spam, newest first. [`StoreError::NotFound`] when the form does not
    /// exist, or what the list is to go on after is not kept any more.
    fn spam(&self, request: SpamRequest) -> StoreFuture<'_, Vec<SpamRecord>>;
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

    /// Adds an endpoint. [`StoreError::NotFound`] when the form does not exist,
    /// [`StoreError::Exists`] when it has an endpoint with this URL, and [`StoreError::Invalid`] when it
    /// has [`ENDPOINTS_MAX`] already; removed ones do not count.
    fn add_endpoint(&self, endpoint: NewEndpoint) -> StoreFuture<'_, EndpointRecord>;
    /// A form's endpoints, oldest first, without removed ones. [`StoreError::NotFound`] when the form
    /// does not exist.
    fn endpoints(&self, form: &FormId) -> StoreFuture<'_, Vec<EndpointRecord>>;
    /// The endpoint with an id, also a removed one, with its owner.
    fn endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<OwnedEndpoint>>;
    /// The endpoint with an id, enabled or not, as a delivery to it would be made now: with the
    /// secrets that it would be signed with. `None` for a removed one.
    fn signing_endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<ClaimedEndpoint>>;
    /// The enabled endpoints of all forms, oldest first.
    fn enabled_endpoints(&self) -> StoreFuture<'_, Vec<EndpointRecord>>;
    /// The secrets of all endpoints that were not removed, enabled or not, oldest first; not those in
    /// their grace.
    fn sealed_secrets(&self) -> StoreFuture<'_, Vec<(EndpointId, SealedSecret)>>;
    /// Gives an endpoint a new secret. For `grace` from now on deliveries are signed with the one it
    /// replaces as well; one that was in its grace already is forgotten. [`StoreError::NotFound`],
    /// also for a removed endpoint.
    fn rotate_secret(
        &self,
        endpoint: &EndpointId,
        secret: SealedSecret,
        grace: Duration,
    ) -> StoreFuture<'_, EndpointRecord>;
    /// Enables or disables an endpoint. While it is disabled its deliveries wait, and new submissions
    /// make none. [`StoreError::NotFound`], also for a removed one.
    fn set_endpoint_enabled(
        &self,
        endpoint: &EndpointId,
        enabled: bool,
    ) -> StoreFuture<'_, EndpointRecord>;
    /// Removes an endpoint: its unfinished deliveries are canceled, its secrets erased. Nothing is
    /// claimed for it once this has begun. Removing twice does nothing more, but finishes what an
    /// earlier call left when its future was dropped, as [`finish_removals`](Self::finish_removals)
    /// does. [`StoreError::NotFound`].
    fn remove_endpoint(&self, endpoint: &EndpointId) -> StoreFuture<'_, EndpointRecord>;
    /// Takes one step of removals that were begun and not finished, of endpoints and of staged forms,
    /// and of staged forms that were given up; `true` when there may be more.
    fn finish_removals(&self) -> StoreFuture<'_, bool>;

    /// Makes claims of workers that are gone available at once, where the store can know that they
    /// are gone: in an embedded one, all claims older than the process. Also finishes removals of
    /// endpoints that a crash cut short. What a worker calls before it begins; says how many claims
    /// it gave back.
    fn recover_claims(&self) -> StoreFuture<'_, u64>;
    /// Every lane of an enabled endpoint with something in it. Costs a seek for each such lane,
    /// whatever their lengths.
    fn due(&self) -> StoreFuture<'_, Vec<Due>>;
    /// Claims deliveries that are due, in the order of their lanes. One delivery is claimed by one
    /// worker at a time; when its lease runs out, it can be claimed again. One that cannot be read as
    /// it is stored is left out and fails.
    fn claim(&self, request: ClaimRequest) -> StoreFuture<'_, Claims>;
    /// Endpoints as they are now, if this store can tell without a journey. Without it nothing should be
    /// claimed before it can be attempted.
    fn endpoints_at_once(&self) -> Option<&dyn EndpointsAtOnce> {
        None
    }
    /// Records the outcomes of claims, each for itself: the answers are in the order of the
    /// settlements. One that cannot be recorded is [`Settled::Refused`] beside others that are.
    fn settle(&self, settlements: Vec<Settlement>) -> StoreFuture<'_, Vec<Settled>>;
    /// Which lanes got something to do since somebody last looked: by a submission, by a resend, or
    /// because their endpoint was enabled. Announced before the call that did it is answered.
    fn work(&self) -> Arc<WorkSignal>;
    /// How much work there is. Counts, which takes longer the more there is.
    fn backlog(&self) -> StoreFuture<'_, Backlog>;

    /// Deliveries of a form, newest submission first. [`StoreError::NotFound`] when the form or the
    /// endpoint does not exist.
    fn deliveries(&self, request: DeliveriesRequest) -> StoreFuture<'_, Vec<DeliveryRecord>>;
    /// One delivery with its attempts.
    fn delivery(&self, id: &DeliveryId) -> StoreFuture<'_, Option<DeliveryDetail>>;
    /// Has a delivery attempted once more, at once and outside the budget of retries. An unfinished
    /// one keeps the retries it has left. [`StoreError::NotFound`]; [`StoreError::Invalid`] when it
    /// is being attempted now, or its endpoint is not enabled.
    fn resend(&self, id: &DeliveryId) -> StoreFuture<'_, DeliveryRecord>;

    /// Forgets idempotency keys older than a day, at most some hundreds in one call; `true` when there
    /// may be more.
    fn forget_idempotency_keys(&self) -> StoreFuture<'_, bool>;

    /// One step of removing what is old. The end of a form whose submissions are removed stays where it
    /// is, so that its instants go on increasing and no cursor finds a row twice; a repeat of what was
    /// removed is something new. [`StoreError::NotFound`] when there is no such form.
    fn prune(&self, request: PruneRequest) -> StoreFuture<'_, Pruned>;

    /// Has an observer told of what the store does from now on. The first one stays; a store may
    /// also tell nothing.
    fn observe(&self, _observer: Arc<dyn StoreObserver>) {}
    /// A write that changes nothing: fails when the store cannot take writes.
    fn probe(&self) -> StoreFuture<'_, ()>;
    /// Finishes queued writes, checkpoints, and closes. Later calls fail with
    /// [`StoreError::Unavailable`], except that closing again does nothing.
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// Time as the store reads it, injected so that tests own it.
pub type Clock = Arc<dyn Fn() -> FormInstant + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = now.map_or(0, |now| now.as_micros());
        FormInstant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    })
}

/// A clock that begins with the machine's and then never steps, whatever is done to that: what
/// retries and leases are timed by.
pub fn steady_clock() -> Clock {
    let (began, then) = (system_clock()(), Instant::now());
    Arc::new(move || began.plus(then.elapsed()))
}
