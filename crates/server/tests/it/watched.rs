//! A store that passes everything on to another: it counts the pages that are asked of it, can give ones that
//! nobody can read, and can be far away. It cannot tell of endpoints at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use formsvc_protocol::{
    DeliveryId, EndpointId, Form, FormId, FormInstant, FormStatus, KeyId, PublicId, User, UserId,
};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::store::{
    Accepted, Authenticated, Backlog, ClaimRequest, ClaimedEndpoint, Claims, Credentials,
    DeliveriesRequest, DeliveryDetail, DeliveryRecord, Due, EndpointRecord, FormChange, KeyHash,
    KeyRecord, LinkRecord, NewEndpoint, NewForm, NewKey, NewLink, NewSession, NewSpam,
    NewSubmission, OwnedEndpoint, PageRequest, PasswordHash, PruneRequest, Pruned, PublicForm,
    Redemption, SealedSecret, SessionRecord, Settled, Settlement, SpamRecord, SpamRequest,
    StagedForm, StagedSubmission, Store, StoreError, StoreFuture, StoreObserver, StoredPage,
    TokenHash, UserRecord, WorkSignal,
};
use tokio::sync::{Semaphore, watch};

/// What a service keeps everything in.
pub(crate) struct Watched {
    inner: Arc<dyn Store>,
    pages: AtomicUsize,
    tears: AtomicBool,
    /// Pages that wait to be answered, and the threads that asked for them.
    held: watch::Sender<Vec<ThreadId>>,
    answers: Semaphore,
    /// What every claim takes.
    journey: Duration,
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self::at(Duration::ZERO, inner)
    }

    /// So far away that every claim takes a while.
    pub(crate) fn at(journey: Duration, inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            pages: AtomicUsize::new(0),
            tears: AtomicBool::new(false),
            held: watch::Sender::default(),
            answers: Semaphore::new(Semaphore::MAX_PERMITS),
            journey,
        }
    }

    /// Pages that were asked for since it was asked last.
    pub(crate) fn pages(&self) -> usize {
        self.pages.swap(0, Ordering::SeqCst)
    }

    /// From now on pages wait for [`release_pages`](Self::release_pages).
    pub(crate) fn hold_pages(&self) {
        self.answers.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Waits until so many pages are held. Returns the threads that asked for them.
    pub(crate) async fn held_pages(&self, count: usize) -> Vec<ThreadId> {
        let mut held = self.held.subscribe();
        held.wait_for(|held| held.len() >= count).await.unwrap().clone()
    }

    /// Answers the pages that are held, and those to come.
    pub(crate) fn release_pages(&self) {
        self.answers.add_permits(Semaphore::MAX_PERMITS);
    }

    /// From now on pages lack their end.
    pub(crate) fn tear_pages(&self) {
        self.tears.store(true, Ordering::SeqCst);
    }
}

macro_rules! passed_on {
    ($( $name:ident($($arg:ident: $type:ty),*) -> $out:ty; )+) => {
        impl Store for Watched {
            fn page(&self, request: PageRequest) -> StoreFuture<'_, Option<StoredPage>> {
                self.pages.fetch_add(1, Ordering::SeqCst);
                let tears = self.tears.load(Ordering::SeqCst);
                let thread = std::thread::current().id();
                Box::pin(async move {
                    self.held.send_modify(|held| held.push(thread));
                    drop(self.answers.acquire().await);
                    let mut page = self.inner.page(request).await?;
                    if let Some(page) = page.as_mut().filter(|_| tears) {
                        page.items.truncate(page.items.len() / 2);
                    }
                    Ok(page)
                })
            }
            fn claim(&self, request: ClaimRequest) -> StoreFuture<'_, Claims> {
                Box::pin(async move {
                    let claims = self.inner.claim(request).await;
                    // Sleeps because a store whose answer is long under way is the point.
                    tokio::time::sleep(self.journey).await;
                    claims
                })
            }
            fn can_accept(&self) -> Result<(), StoreError> {
                self.inner.can_accept()
            }
            fn observe(&self, observer: Arc<dyn StoreObserver>) {
                self.inner.observe(observer);
            }
            fn work(&self) -> Arc<WorkSignal> {
                self.inner.work()
            }
            $( fn $name(&self, $($arg: $type),*) -> StoreFuture<'_, $out> {
                self.inner.$name($($arg),*)
            } )+
        }
    };
}

passed_on! {
    add_user(user: UserRecord) -> User;
    user_by_email(email: &str) -> Option<User>;
    user(id: &UserId) -> Option<User>;
    users() -> Vec<User>;
    credentials(email: &str) -> Option<Credentials>;
    can_sign_in() -> bool;
    set_password(user: &UserId, password: PasswordHash) -> ();
    add_session(session: NewSession) -> SessionRecord;
    session(token: &TokenHash) -> Option<SessionRecord>;
    end_session(token: &TokenHash) -> ();
    end_sessions(user: &UserId, except: Option<TokenHash>) -> u64;
    add_link(link: NewLink) -> LinkRecord;
    link(token: &TokenHash) -> Option<LinkRecord>;
    redeem_link(token: TokenHash, redemption: Redemption) -> User;
    forget_expired() -> bool;
    add_key(key: NewKey) -> KeyRecord;
    revoke_key(key: &KeyId) -> KeyRecord;
    key(id: &KeyId) -> Option<KeyRecord>;
    keys(user: &UserId) -> Vec<KeyRecord>;
    authenticate(hash: &KeyHash, limit: RateLimit) -> Option<Authenticated>;
    note_key_uses(uses: Vec<(KeyId, FormInstant)>) -> ();
    add_form(form: NewForm) -> Form;
    set_form_status(form: &FormId, status: FormStatus) -> Form;
    forms(user: &UserId) -> Vec<Form>;
    form_totals(user: &UserId) -> Vec<(FormId, u64)>;
    form_owner(form: &FormId) -> Option<UserId>;
    form(id: &FormId) -> Option<Form>;
    form_by_public_id(id: &PublicId) -> Option<Form>;
    public_form(id: &PublicId) -> Option<PublicForm>;
    change_form(form: &FormId, change: FormChange) -> Form;
    submit(submission: NewSubmission) -> Accepted;
    keep_spam(spam: NewSpam) -> ();
    spam(request: SpamRequest) -> Vec<SpamRecord>;
    stage_form(form: NewForm) -> StagedForm;
    stage_submissions(form: &StagedForm, submissions: Vec<StagedSubmission>) -> ();
    publish_staged(form: &StagedForm) -> Form;
    discard_staged(form: &StagedForm) -> ();
    add_endpoint(endpoint: NewEndpoint) -> EndpointRecord;
    endpoints(form: &FormId) -> Vec<EndpointRecord>;
    endpoint(id: &EndpointId) -> Option<OwnedEndpoint>;
    signing_endpoint(id: &EndpointId) -> Option<ClaimedEndpoint>;
    enabled_endpoints() -> Vec<EndpointRecord>;
    sealed_secrets() -> Vec<(EndpointId, SealedSecret)>;
    rotate_secret(endpoint: &EndpointId, secret: SealedSecret, grace: Duration) -> EndpointRecord;
    set_endpoint_enabled(endpoint: &EndpointId, enabled: bool) -> EndpointRecord;
    remove_endpoint(endpoint: &EndpointId) -> EndpointRecord;
    finish_removals() -> bool;
    recover_claims() -> u64;
    due() -> Vec<Due>;
    settle(settlements: Vec<Settlement>) -> Vec<Settled>;
    backlog() -> Backlog;
    deliveries(request: DeliveriesRequest) -> Vec<DeliveryRecord>;
    delivery(id: &DeliveryId) -> Option<DeliveryDetail>;
    resend(id: &DeliveryId) -> DeliveryRecord;
    forget_idempotency_keys() -> bool;
    prune(request: PruneRequest) -> Pruned;
    probe() -> ();
    close() -> ();
}
