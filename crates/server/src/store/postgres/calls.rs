//! The calls of the store: each is a statement on a connection, or a transaction in a task.

use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_protocol::{
    DeliveryId, EndpointId, Form, FormId, FormInstant, FormStatus, KeyId, PublicId, User, UserId,
};

use super::claims::Claiming;
use super::forms::Ready;
use super::requests::Rule;
use super::store::{PostgresStore, remove_given_up};
use super::{
    accounts, claims, deliveries, due, endpoints, forms, pages, prune, removals, repeats, rows,
    settle, spam, staged, users,
};
use crate::admin::new_id;
use crate::fault_point::fault_point;
use crate::rate_limit::RateLimit;
use crate::store::{
    Accepted, Authenticated, Backlog, ClaimRequest, ClaimedEndpoint, Claims, Credentials,
    DeliveriesRequest, DeliveryDetail, DeliveryRecord, Due, EndpointNo, EndpointRecord, FormChange,
    KeyHash, KeyRecord, Lane, LinkRecord, NewEndpoint, NewForm, NewKey, NewLink, NewSession,
    NewSpam, NewSubmission, OwnedEndpoint, PageRequest, PasswordHash, PruneRequest, Pruned,
    PublicForm, Redemption, SealedSecret, SessionRecord, Settled, Settlement, SpamRecord,
    SpamRequest, StagedForm, StagedSubmission, Store, StoreError, StoreFuture, StoreObserver,
    StoredPage, TokenHash, UserRecord, WorkSignal,
};

impl Store for PostgresStore {
    fn add_user(&self, user: UserRecord) -> StoreFuture<'_, User> {
        self.write(move |tx, shared| {
            let (user, now) = (user.clone(), shared.time.given());
            Box::pin(users::add_user(tx, user, now))
        })
    }

    fn user(&self, id: &UserId) -> StoreFuture<'_, Option<User>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { users::user(db, &id).await }))
    }

    fn users(&self) -> StoreFuture<'_, Vec<User>> {
        self.read(move |db, _| Box::pin(users::users(db)))
    }

    fn user_by_email(&self, email: &str) -> StoreFuture<'_, Option<User>> {
        let email = email.to_owned();
        self.read(move |db, _| Box::pin(async move { users::user_by_email(db, &email).await }))
    }

    fn credentials(&self, email: &str) -> StoreFuture<'_, Option<Credentials>> {
        let email = email.to_owned();
        self.read(move |db, _| Box::pin(async move { accounts::credentials(db, &email).await }))
    }

    fn can_sign_in(&self) -> StoreFuture<'_, bool> {
        self.read(move |db, _| Box::pin(accounts::can_sign_in(db)))
    }

    fn set_password(&self, user: &UserId, password: PasswordHash) -> StoreFuture<'_, ()> {
        let user = user.clone();
        self.write(move |tx, _| {
            let (user, password) = (user.clone(), password.clone());
            Box::pin(async move { accounts::set_password(tx, &user, &password).await })
        })
    }

    fn add_session(&self, session: NewSession) -> StoreFuture<'_, SessionRecord> {
        self.write(move |tx, shared| {
            let (session, now) = (session.clone(), shared.time.given());
            Box::pin(async move { accounts::add_session(tx, &session, now).await })
        })
    }

    fn session(&self, token: &TokenHash) -> StoreFuture<'_, Option<SessionRecord>> {
        let token = *token;
        self.read(move |db, now| Box::pin(async move { accounts::session(db, &token, now).await }))
    }

    fn end_session(&self, token: &TokenHash) -> StoreFuture<'_, ()> {
        let token = *token;
        self.write(move |tx, _| Box::pin(async move { accounts::end_session(tx, &token).await }))
    }

    fn end_sessions(&self, user: &UserId, except: Option<TokenHash>) -> StoreFuture<'_, u64> {
        let user = user.clone();
        self.write(move |tx, _| {
            let user = user.clone();
            Box::pin(async move { accounts::end_sessions(tx, &user, except).await })
        })
    }

    fn add_link(&self, link: NewLink) -> StoreFuture<'_, LinkRecord> {
        self.write(move |tx, shared| {
            let (link, now) = (link.clone(), shared.time.given());
            Box::pin(async move { accounts::add_link(tx, &link, now).await })
        })
    }

    fn link(&self, token: &TokenHash) -> StoreFuture<'_, Option<LinkRecord>> {
        let token = *token;
        self.read(move |db, now| Box::pin(async move { accounts::link(db, &token, now).await }))
    }

    fn redeem_link(&self, token: TokenHash, redemption: Redemption) -> StoreFuture<'_, User> {
        self.write(move |tx, shared| {
            let (redemption, now) = (redemption.clone(), shared.time.given());
            Box::pin(async move { accounts::redeem_link(tx, &token, redemption, now).await })
        })
    }

    fn forget_expired(&self) -> StoreFuture<'_, bool> {
        self.write(move |tx, shared| Box::pin(accounts::forget_expired(tx, shared.time.given())))
    }

    fn add_key(&self, key: NewKey) -> StoreFuture<'_, KeyRecord> {
        self.write(move |tx, shared| {
            let (key, now) = (key.clone(), shared.time.given());
            Box::pin(async move { users::add_key(tx, &key, now).await })
        })
    }

    fn revoke_key(&self, key: &KeyId) -> StoreFuture<'_, KeyRecord> {
        let key = key.clone();
        self.write(move |tx, shared| {
            let (key, now) = (key.clone(), shared.time.given());
            Box::pin(async move { users::revoke_key(tx, &key, now).await })
        })
    }

    fn key(&self, id: &KeyId) -> StoreFuture<'_, Option<KeyRecord>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { users::key_by_id(db, &id).await }))
    }

    fn keys(&self, user: &UserId) -> StoreFuture<'_, Vec<KeyRecord>> {
        let user = user.clone();
        self.read(move |db, _| Box::pin(async move { users::keys(db, &user).await }))
    }

    fn authenticate(
        &self,
        hash: &KeyHash,
        limit: RateLimit,
    ) -> StoreFuture<'_, Option<Authenticated>> {
        Box::pin(self.requests.authenticate(*hash, Rule::of(limit)))
    }

    fn note_key_uses(&self, uses: Vec<(KeyId, FormInstant)>) -> StoreFuture<'_, ()> {
        let uses = Arc::new(uses);
        self.write(move |tx, _| {
            let uses = Arc::clone(&uses);
            Box::pin(async move { users::note_key_uses(tx, &uses).await })
        })
    }

    fn add_form(&self, form: NewForm) -> StoreFuture<'_, Form> {
        self.write(move |tx, shared| {
            let (form, now) = (form.clone(), shared.time.given());
            Box::pin(async move {
                forms::add_form(tx, &form, Ready::Yes, now).await?;
                forms::form(tx, &form.id).await
            })
        })
    }

    fn set_form_status(&self, form: &FormId, status: FormStatus) -> StoreFuture<'_, Form> {
        let form = form.clone();
        self.write(move |tx, shared| {
            let (form, status, now) = (form.clone(), status.clone(), shared.time.given());
            Box::pin(async move { forms::set_status(tx, &form, &status, now).await })
        })
    }

    fn forms(&self, user: &UserId) -> StoreFuture<'_, Vec<Form>> {
        let user = user.clone();
        self.read(move |db, _| Box::pin(async move { forms::forms(db, &user).await }))
    }

    fn form_totals(&self, user: &UserId) -> StoreFuture<'_, Vec<(FormId, u64)>> {
        let user = user.clone();
        self.read(move |db, _| Box::pin(async move { forms::totals(db, &user).await }))
    }

    fn form_owner(&self, form: &FormId) -> StoreFuture<'_, Option<UserId>> {
        let form = form.clone();
        self.read(move |db, _| Box::pin(async move { forms::owner(db, &form).await }))
    }

    fn form(&self, id: &FormId) -> StoreFuture<'_, Option<Form>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { forms::form_by_id(db, &id).await }))
    }

    fn form_by_public_id(&self, id: &PublicId) -> StoreFuture<'_, Option<Form>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { forms::form_by_public_id(db, &id).await }))
    }

    fn public_form(&self, id: &PublicId) -> StoreFuture<'_, Option<PublicForm>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { forms::public_form(db, &id).await }))
    }

    fn change_form(&self, form: &FormId, change: FormChange) -> StoreFuture<'_, Form> {
        let form = form.clone();
        self.write(move |tx, shared| {
            let (form, change, now) = (form.clone(), change.clone(), shared.time.given());
            Box::pin(async move { forms::change(tx, &form, &change, now).await })
        })
    }

    fn submit(&self, submission: NewSubmission) -> StoreFuture<'_, Accepted> {
        let began = Instant::now();
        Box::pin(async move {
            let accepted = self.submitter.submit(submission).await?;
            if let (false, Some(observer)) = (accepted.repeated, self.shared.observer.get()) {
                let ahead = accepted.instant.since(crate::store::system_clock()());
                observer.accepted(began.elapsed(), ahead);
            }
            Ok(accepted)
        })
    }

    fn can_accept(&self) -> Result<(), StoreError> {
        self.shared.gate.check()
    }

    fn keep_spam(&self, spam: NewSpam) -> StoreFuture<'_, ()> {
        self.write(move |tx, shared| {
            let (spam, now) = (spam.clone(), shared.time.given());
            Box::pin(async move { spam::keep(tx, &spam, now).await })
        })
    }

    fn spam(&self, request: SpamRequest) -> StoreFuture<'_, Vec<SpamRecord>> {
        self.read(move |db, _| Box::pin(async move { spam::list(db, &request).await }))
    }

    fn page(&self, request: PageRequest) -> StoreFuture<'_, Option<StoredPage>> {
        self.read(move |db, _| Box::pin(async move { pages::page(db, &request).await }))
    }

    fn stage_form(&self, form: NewForm) -> StoreFuture<'_, StagedForm> {
        Box::pin(async move {
            // A server that runs for long starts seldom.
            remove_given_up(&self.shared).await;
            let staged = self.write(move |tx, shared| {
                let (form, now) = (form.clone(), shared.time.given());
                Box::pin(async move {
                    forms::add_form(tx, &form, Ready::NotYet, now).await?;
                    Ok(StagedForm { id: form.id })
                })
            });
            staged.await
        })
    }

    fn stage_submissions(
        &self,
        form: &StagedForm,
        submissions: Vec<StagedSubmission>,
    ) -> StoreFuture<'_, ()> {
        let (form, submissions) = (form.id.clone(), Arc::new(submissions));
        self.write(move |tx, shared| {
            let (form, now) = (form.clone(), shared.time.given());
            let submissions = Arc::clone(&submissions);
            Box::pin(async move { staged::append(tx, &form, &submissions, now).await })
        })
    }

    fn publish_staged(&self, form: &StagedForm) -> StoreFuture<'_, Form> {
        let form = form.id.clone();
        self.write(move |tx, shared| {
            let (form, now) = (form.clone(), shared.time.given());
            Box::pin(async move { staged::publish(tx, &form, now).await })
        })
    }

    fn discard_staged(&self, form: &StagedForm) -> StoreFuture<'_, ()> {
        let form = form.id.clone();
        Box::pin(async move {
            loop {
                let form = form.clone();
                let some = self.write(move |tx, _| {
                    let form = form.clone();
                    Box::pin(async move { staged::remove_some(tx, &form).await })
                });
                if some.await? {
                    return Ok(());
                }
            }
        })
    }

    fn add_endpoint(&self, endpoint: NewEndpoint) -> StoreFuture<'_, EndpointRecord> {
        self.write(move |tx, shared| {
            let (endpoint, now) = (endpoint.clone(), shared.time.given());
            Box::pin(async move { endpoints::add(tx, &endpoint, now).await })
        })
    }

    fn endpoints(&self, form: &FormId) -> StoreFuture<'_, Vec<EndpointRecord>> {
        let form = form.clone();
        self.read(move |db, now| Box::pin(async move { endpoints::list(db, &form, now).await }))
    }

    fn endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<OwnedEndpoint>> {
        let id = id.clone();
        self.read(move |db, now| Box::pin(async move { endpoints::owned(db, &id, now).await }))
    }

    fn signing_endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<ClaimedEndpoint>> {
        let id = id.clone();
        self.read(move |db, now| Box::pin(async move { endpoints::signing(db, &id, now).await }))
    }

    fn enabled_endpoints(&self) -> StoreFuture<'_, Vec<EndpointRecord>> {
        self.read(move |db, now| Box::pin(endpoints::enabled(db, now)))
    }

    fn sealed_secrets(&self) -> StoreFuture<'_, Vec<(EndpointId, SealedSecret)>> {
        self.read(move |db, _| Box::pin(endpoints::sealed(db)))
    }

    fn rotate_secret(
        &self,
        endpoint: &EndpointId,
        secret: SealedSecret,
        grace: Duration,
    ) -> StoreFuture<'_, EndpointRecord> {
        let id = endpoint.clone();
        self.write(move |tx, shared| {
            let (id, secret, now) = (id.clone(), secret.clone(), shared.time.given());
            Box::pin(async move { endpoints::rotate_secret(tx, &id, &secret, grace, now).await })
        })
    }

    fn set_endpoint_enabled(
        &self,
        endpoint: &EndpointId,
        enabled: bool,
    ) -> StoreFuture<'_, EndpointRecord> {
        let id = endpoint.clone();
        Box::pin(async move {
            let set = self.write(move |tx, shared| {
                let (id, now) = (id.clone(), shared.time.given());
                Box::pin(async move {
                    let (record, number) = endpoints::set_enabled(tx, &id, enabled, now).await?;
                    if enabled {
                        shared.notice.send(tx, lanes_of(number)).await?;
                    }
                    Ok((record, number))
                })
            });
            let (record, number) = set.await?;
            if enabled {
                self.work.announce(lanes_of(number));
            }
            Ok(record)
        })
    }

    fn remove_endpoint(&self, endpoint: &EndpointId) -> StoreFuture<'_, EndpointRecord> {
        let id = endpoint.clone();
        Box::pin(async move {
            let removed = id.clone();
            let begin = self.write(move |tx, shared| {
                let (id, now) = (removed.clone(), shared.time.given());
                Box::pin(async move { endpoints::begin_removal(tx, &id, now).await })
            });
            let record = begin.await?;
            fault_point!(InRemoval);
            self.cancel_deliveries(id).await?;
            Ok(record)
        })
    }

    fn finish_removals(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let step = self.write(|tx, shared| Box::pin(removals::step(tx, shared.time.given())));
            let step = step.await?;
            self.report_canceled(step.canceled);
            Ok(step.more)
        })
    }

    fn recover_claims(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            // Other processes may be well; leases of those that are not run out.
            while self.finish_removals().await? {}
            Ok(0)
        })
    }

    fn due(&self) -> StoreFuture<'_, Vec<Due>> {
        self.read(move |db, now| Box::pin(due::due(db, now)))
    }

    fn claim(&self, request: ClaimRequest) -> StoreFuture<'_, Claims> {
        let request = Arc::new(request);
        // Unlike that of any other claim: the second half of an id is random but for its first bits.
        let [_, _, _, _, _, _, _, _, random @ ..] = new_id();
        let token = i64::from_be_bytes(random) & i64::MAX;
        self.write(move |tx, shared| {
            let with = Claiming { now: shared.time.given(), token };
            let request = Arc::clone(&request);
            Box::pin(async move { claims::claim(tx, &request, &with).await })
        })
    }

    fn settle(&self, settlements: Vec<Settlement>) -> StoreFuture<'_, Vec<Settled>> {
        let settlements = Arc::new(settlements);
        self.write(move |tx, shared| {
            let (settlements, now) = (Arc::clone(&settlements), shared.time.given());
            Box::pin(async move { settle::settle(tx, &settlements, now).await })
        })
    }

    fn work(&self) -> Arc<WorkSignal> {
        Arc::clone(&self.work)
    }

    fn backlog(&self) -> StoreFuture<'_, Backlog> {
        self.read(move |db, _| Box::pin(deliveries::backlog(db)))
    }

    fn deliveries(&self, request: DeliveriesRequest) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        self.read(move |db, _| Box::pin(async move { deliveries::list(db, &request).await }))
    }

    fn delivery(&self, id: &DeliveryId) -> StoreFuture<'_, Option<DeliveryDetail>> {
        let id = id.clone();
        self.read(move |db, _| Box::pin(async move { deliveries::detail(db, &id).await }))
    }

    fn resend(&self, id: &DeliveryId) -> StoreFuture<'_, DeliveryRecord> {
        let id = id.clone();
        Box::pin(async move {
            let resend = self.write(move |tx, shared| {
                let id = id.clone();
                Box::pin(async move {
                    let record = deliveries::resend(tx, &id).await?;
                    let lane = (record.key.endpoint, Lane::Late);
                    shared.notice.send(tx, [lane].into_iter()).await?;
                    Ok(record)
                })
            });
            let record = resend.await?;
            self.work.announce([(record.key.endpoint, Lane::Late)]);
            Ok(record)
        })
    }

    fn forget_idempotency_keys(&self) -> StoreFuture<'_, bool> {
        self.write(move |tx, shared| Box::pin(repeats::forget_some(tx, shared.time.given())))
    }

    fn prune(&self, request: PruneRequest) -> StoreFuture<'_, Pruned> {
        if request.dry {
            return self.read(move |db, now| {
                Box::pin(async move { prune::count(db, &request, now).await })
            });
        }
        self.write(move |tx, shared| {
            let (request, now) = (request.clone(), shared.time.given());
            Box::pin(async move { prune::prune(tx, &request, now).await })
        })
    }

    fn observe(&self, observer: Arc<dyn StoreObserver>) {
        // The first one stays.
        let _ = self.shared.observer.set(observer);
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        self.write(move |tx, shared| {
            let now = shared.time.given();
            Box::pin(async move {
                let sql = "UPDATE probe SET written_us = greatest(now_us($1), written_us + 1)";
                rows::execute(tx, sql, &[&now]).await.map(drop)
            })
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.submitter.close().await;
            self.telling.close().await;
            self.listening.abort();
            self.requests.close();
            self.shared.pool.close();
            Ok(())
        })
    }
}

fn lanes_of(endpoint: EndpointNo) -> impl Iterator<Item = (EndpointNo, Lane)> {
    Lane::ALL.into_iter().map(move |lane| (endpoint, lane))
}
