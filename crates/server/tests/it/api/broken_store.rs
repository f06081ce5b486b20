//! Stores that do not work, and what clients are told then.

use std::future::pending;
use std::sync::Arc;

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
    Redemption, Revision, SealedSecret, SessionRecord, Settled, Settlement, SpamRecord,
    SpamRequest, StagedForm, StagedSubmission, Store, StoreError, StoreFuture, StoredPage,
    TokenHash, UserRecord, WorkSignal,
};

use super::service::{Answer, Service, answer, edge_of};

/// What a store that does not work does.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Broken {
    Hangs,
    Fails,
    /// Finds a key for every hash, and it is another key's.
    FindsAnotherKey,
    /// Finds a form for every id, and knows beforehand that it can take nothing.
    IsFull,
    /// Finds a form for every id, and it is another one whenever something is written.
    IsChanged,
    /// Finds a form for every id, and never ends what it is given to keep.
    HangsAtWrites,
}

impl Broken {
    fn call<T: Send + 'static>(&self) -> StoreFuture<'_, T> {
        match self {
            Self::Hangs | Self::HangsAtWrites => Box::pin(pending()),
            Self::IsChanged => {
                let form = FormId::new("frm_1").unwrap();
                Box::pin(async { Err(StoreError::Changed { form }) })
            }
            Self::Fails | Self::FindsAnotherKey | Self::IsFull => {
                Box::pin(async { Err(StoreError::Internal("row 7 of submissions is torn".into())) })
            }
        }
    }

    pub(super) async fn get(self, target: &str) -> Answer {
        let edge = edge_of(Arc::new(self), RateLimit::default(), Arc::default());
        let request = http::Request::get(target).header("host", "service.test");
        let request = request.header("authorization", "Bearer fsk_x");
        answer(&edge, request.body(axum::body::Body::empty()).unwrap()).await
    }
}

macro_rules! all_broken {
    ($( $name:ident($($arg:ty),*) -> $out:ty; )+) => {
        impl Store for Broken {
            fn authenticate(&self, _: &KeyHash, _: RateLimit) -> StoreFuture<'_, Option<Authenticated>> {
                if *self == Self::FindsAnotherKey {
                    Box::pin(async { Ok(Some(another_key())) })
                } else {
                    self.call()
                }
            }
            fn public_form(&self, _: &PublicId) -> StoreFuture<'_, Option<PublicForm>> {
                match self {
                    Self::IsFull | Self::IsChanged | Self::HangsAtWrites => {
                        Box::pin(async { Ok(Some(a_form())) })
                    }
                    _ => self.call(),
                }
            }
            fn can_accept(&self) -> Result<(), StoreError> {
                match self {
                    Self::IsFull => Err(StoreError::Unavailable(Some("no space is left".into()))),
                    _ => Ok(()),
                }
            }
            fn work(&self) -> Arc<WorkSignal> {
                Arc::default()
            }
            $( fn $name(&self, $(_: $arg),*) -> StoreFuture<'_, $out> {
                self.call()
            } )+
        }
    };
}

all_broken! {
    add_user(UserRecord) -> User;
    user_by_email(&str) -> Option<User>;
    user(&UserId) -> Option<User>;
    users() -> Vec<User>;
    credentials(&str) -> Option<Credentials>;
    can_sign_in() -> bool;
    set_password(&UserId, PasswordHash) -> ();
    add_session(NewSession) -> SessionRecord;
    session(&TokenHash) -> Option<SessionRecord>;
    end_session(&TokenHash) -> ();
    end_sessions(&UserId, Option<TokenHash>) -> u64;
    add_link(NewLink) -> LinkRecord;
    link(&TokenHash) -> Option<LinkRecord>;
    redeem_link(TokenHash, Redemption) -> User;
    forget_expired() -> bool;
    add_key(NewKey) -> KeyRecord;
    revoke_key(&KeyId) -> KeyRecord;
    key(&KeyId) -> Option<KeyRecord>;
    note_key_uses(Vec<(KeyId, FormInstant)>) -> ();
    keys(&UserId) -> Vec<KeyRecord>;
    add_form(NewForm) -> Form;
    set_form_status(&FormId, FormStatus) -> Form;
    forms(&UserId) -> Vec<Form>;
    form_totals(&UserId) -> Vec<(FormId, u64)>;
    form_owner(&FormId) -> Option<UserId>;
    form(&FormId) -> Option<Form>;
    form_by_public_id(&PublicId) -> Option<Form>;
    change_form(&FormId, FormChange) -> Form;
    submit(NewSubmission) -> Accepted;
    keep_spam(NewSpam) -> ();
    spam(SpamRequest) -> Vec<SpamRecord>;
    endpoint(&EndpointId) -> Option<OwnedEndpoint>;
    signing_endpoint(&EndpointId) -> Option<ClaimedEndpoint>;
    enabled_endpoints() -> Vec<EndpointRecord>;
    sealed_secrets() -> Vec<(EndpointId, SealedSecret)>;
    add_endpoint(NewEndpoint) -> EndpointRecord;
    endpoints(&FormId) -> Vec<EndpointRecord>;
    rotate_secret(&EndpointId, SealedSecret, Duration) -> EndpointRecord;
    set_endpoint_enabled(&EndpointId, bool) -> EndpointRecord;
    remove_endpoint(&EndpointId) -> EndpointRecord;
    finish_removals() -> bool;
    recover_claims() -> u64;
    due() -> Vec<Due>;
    claim(ClaimRequest) -> Claims;
    settle(Vec<Settlement>) -> Vec<Settled>;
    backlog() -> Backlog;
    deliveries(DeliveriesRequest) -> Vec<DeliveryRecord>;
    delivery(&DeliveryId) -> Option<DeliveryDetail>;
    resend(&DeliveryId) -> DeliveryRecord;
    forget_idempotency_keys() -> bool;
    prune(PruneRequest) -> Pruned;
    page(PageRequest) -> Option<StoredPage>;
    stage_form(NewForm) -> StagedForm;
    stage_submissions(&StagedForm, Vec<StagedSubmission>) -> ();
    publish_staged(&StagedForm) -> Form;
    discard_staged(&StagedForm) -> ();
    probe() -> ();
    close() -> ();
}

fn a_form() -> PublicForm {
    let (id, public_id) = (FormId::new("frm_1").unwrap(), PublicId::new("form").unwrap());
    let now = FormInstant::from_micros(0).to_timestamp();
    let form = Form::new(id, public_id, "Form", FormStatus::Published, now.clone(), now);
    PublicForm { form, revision: Revision(1), fields: None, origins: None }
}

fn another_key() -> Authenticated {
    let user = User::new(UserId::new("usr_1").unwrap(), "a@b.c", "A");
    let key = KeyId::new("key_1").unwrap();
    Authenticated { key, hash: KeyHash([0; 32]), revoked: false, user, counted: None }
}

#[tokio::test]
async fn a_key_whose_hash_differs_is_not_taken_on_the_stores_word() {
    let answer = Broken::FindsAnotherKey.get("/api/v1/me").await;
    answer.assert_error(401, "invalid_key");
}

#[tokio::test]
async fn a_fault_of_the_store_is_a_500_that_tells_nothing() {
    let answer = Broken::Fails.get("/api/v1/me").await;
    answer.assert_error(500, "internal_error");
    assert!(!answer.body.contains("torn"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_a_503_before_clients_give_up() {
    let began = tokio::time::Instant::now();
    let answer = Broken::Hangs.get("/api/v1/me").await;
    answer.assert_error(503, "unavailable");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(began.elapsed().as_secs() <= 10);
}

#[tokio::test]
async fn a_closed_store_is_a_503_with_a_wait() {
    let service = Service::new().await;
    service.store.close().await.unwrap();
    for target in ["/api/v1/me", "/readyz"] {
        let answer = service.get(target).await;
        answer.assert_error(503, "unavailable");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    }
}
