//! The calls of the store: each becomes a write for the writer, or a read for a reader.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use formsvc_protocol::{
    DeliveryId, EndpointId, Form, FormId, FormInstant, FormStatus, KeyId, PublicId, User, UserId,
};
use rusqlite::Connection;

use super::claims::Claiming;
use super::forms::Ready;
use super::settle::Settling;
use super::store::SqliteStore;
use super::submissions::{Found, Items, Moment};
use super::{
    accounts, claims, deliveries, due, endpoints, forms, prune, removals, repeats, settle, spam,
    staged, submissions, users,
};
use crate::fault_point::fault_point;
use crate::rate_limit::RateLimit;
use crate::store::{
    Accepted, Authenticated, Backlog, ClaimRequest, ClaimedEndpoint, Claims, Credentials,
    DeliveriesRequest, DeliveryDetail, DeliveryRecord, Due, EndpointNo, EndpointRecord,
    EndpointsAtOnce, FormChange, Judge, KeyHash, KeyRecord, Lane, LinkRecord, NewEndpoint, NewForm,
    NewKey, NewLink, NewSession, NewSpam, NewSubmission, OwnedEndpoint, PageRequest, PasswordHash,
    PruneRequest, Pruned, PublicForm, Redemption, SealedSecret, SessionRecord, Settled, Settlement,
    SpamRecord, SpamRequest, StagedForm, StagedSubmission, Store, StoreError, StoreFuture,
    StoreObserver, StoredPage, TokenHash, UserRecord, Verdict, WorkSignal,
};

/// Further ahead than this no retry is put on purpose: the longest pause that can be configured is
/// about 70 days.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(100 * 24 * 60 * 60);

impl SqliteStore {
    /// A write; it reads the clock when its turn has come.
    fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, FormInstant) -> Result<T, StoreError> + Send + 'static,
    {
        let clock = Arc::clone(&self.clock);
        Box::pin(self.writer.run(move |db| work(db, clock())))
    }

    /// A write timed by the clock that does not step.
    fn write_steadily<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, FormInstant) -> Result<T, StoreError> + Send + 'static,
    {
        let clock = Arc::clone(&self.steady);
        Box::pin(self.writer.run(move |db| work(db, clock())))
    }

    /// A write that changes an endpoint.
    fn change_endpoint<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, FormInstant) -> Result<T, StoreError> + Send + 'static,
    {
        let changes = Arc::clone(&self.endpoint_changes);
        self.write(move |db, now| {
            changes.note();
            work(db, now)
        })
    }

    /// Notes lanes that get deliveries by a write, to be announced when it is committed.
    fn waker(&self) -> impl FnOnce(&[EndpointNo], &[Lane]) + Send + 'static {
        let woken = Arc::clone(&self.woken);
        move |endpoints, lanes| {
            if !endpoints.is_empty() {
                let mut woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
                let all = endpoints
                    .iter()
                    .flat_map(|endpoint| lanes.iter().map(|lane| (*endpoint, *lane)));
                woken.extend(all);
            }
        }
    }

    /// A read that may take long, on a thread that may block.
    fn read_long<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        Box::pin(Arc::clone(&self.readers).read_large(work))
    }

    /// Cancels what is left of a removed endpoint's deliveries, in steps that do not hold up others.
    async fn cancel_deliveries(&self, endpoint: EndpointNo) -> Result<(), StoreError> {
        loop {
            let canceled =
                self.write(move |db, now| endpoints::cancel_some(db, endpoint, now)).await?;
            self.report_canceled(canceled.deliveries);
            if canceled.all {
                return Ok(());
            }
            fault_point!(MidRemoval);
        }
    }

    fn report_canceled(&self, deliveries: u64) {
        if let (1.., Some(observer)) = (deliveries, self.observer.get()) {
            observer.canceled(deliveries);
        }
    }

    /// A page that may have any item.
    async fn page_with_large(
        &self,
        request: PageRequest,
    ) -> Result<Option<StoredPage>, StoreError> {
        let readers = Arc::clone(&self.readers);
        let any =
            move |db: &Connection| submissions::page(&Moment::begin(db)?, &request, Items::Any);
        match readers.read_large(any).await? {
            Found::Page(page) => Ok(page),
            Found::TooLong => unreachable!("any item is allowed"),
        }
    }

    /// A read of a few rows, done at once.
    fn read<'a, T, F>(&'a self, work: F) -> StoreFuture<'a, T>
    where
        T: Send + 'a,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'a,
    {
        Box::pin(async move { self.readers.read(work) })
    }
}

impl Store for SqliteStore {
    fn add_user(&self, user: UserRecord) -> StoreFuture<'_, User> {
        self.write(move |db, now| users::add_user(db, user, now))
    }

    fn user_by_email(&self, email: &str) -> StoreFuture<'_, Option<User>> {
        let email = email.to_owned();
        self.read(move |db| users::user_by_email(db, &email))
    }

    fn user(&self, id: &UserId) -> StoreFuture<'_, Option<User>> {
        let id = id.clone();
        self.read(move |db| users::user(db, &id))
    }

    fn users(&self) -> StoreFuture<'_, Vec<User>> {
        self.read(users::all)
    }

    fn credentials(&self, email: &str) -> StoreFuture<'_, Option<Credentials>> {
        let email = email.to_owned();
        self.read(move |db| accounts::credentials(db, &email))
    }

    fn can_sign_in(&self) -> StoreFuture<'_, bool> {
        self.read(accounts::can_sign_in)
    }

    fn set_password(&self, user: &UserId, password: PasswordHash) -> StoreFuture<'_, ()> {
        let user = user.clone();
        self.write(move |db, _| accounts::set_password(db, &user, &password))
    }

    fn add_session(&self, session: NewSession) -> StoreFuture<'_, SessionRecord> {
        self.write(move |db, now| accounts::add_session(db, &session, now))
    }

    fn session(&self, token: &TokenHash) -> StoreFuture<'_, Option<SessionRecord>> {
        let (token, now) = (*token, (self.clock)());
        self.read(move |db| accounts::session(db, &token, now))
    }

    fn end_session(&self, token: &TokenHash) -> StoreFuture<'_, ()> {
        let token = *token;
        self.write(move |db, _| accounts::end_session(db, &token))
    }

    fn end_sessions(&self, user: &UserId, except: Option<TokenHash>) -> StoreFuture<'_, u64> {
        let user = user.clone();
        self.write(move |db, _| accounts::end_sessions(db, &user, except))
    }

    fn add_link(&self, link: NewLink) -> StoreFuture<'_, LinkRecord> {
        self.write(move |db, now| accounts::add_link(db, &link, now))
    }

    fn link(&self, token: &TokenHash) -> StoreFuture<'_, Option<LinkRecord>> {
        let (token, now) = (*token, (self.clock)());
        self.read(move |db| accounts::link(db, &token, now))
    }

    fn redeem_link(&self, token: TokenHash, redemption: Redemption) -> StoreFuture<'_, User> {
        self.write(move |db, now| accounts::redeem_link(db, &token, redemption, now))
    }

    fn forget_expired(&self) -> StoreFuture<'_, bool> {
        self.write(accounts::forget_expired)
    }

    fn add_key(&self, key: NewKey) -> StoreFuture<'_, KeyRecord> {
        self.write(move |db, now| users::add_key(db, &key, now))
    }

    fn revoke_key(&self, key: &KeyId) -> StoreFuture<'_, KeyRecord> {
        let key = key.clone();
        self.write(move |db, now| users::revoke_key(db, &key, now))
    }

    fn key(&self, id: &KeyId) -> StoreFuture<'_, Option<KeyRecord>> {
        let id = id.clone();
        self.read(move |db| users::key_by_id(db, &id))
    }

    fn keys(&self, user: &UserId) -> StoreFuture<'_, Vec<KeyRecord>> {
        let user = user.clone();
        self.read(move |db| users::keys(db, &user))
    }

    fn authenticate(
        &self,
        hash: &KeyHash,
        _limit: RateLimit,
    ) -> StoreFuture<'_, Option<Authenticated>> {
        let hash = *hash;
        self.read(move |db| users::authenticate(db, &hash))
    }

    fn page_for_key<'a>(
        &'a self,
        hash: &KeyHash,
        _: RateLimit,
        judge: Judge<'a>,
    ) -> StoreFuture<'a, Option<StoredPage>> {
        let hash = *hash;
        Box::pin(async move {
            tokio::task::coop::consume_budget().await;
            // Two transactions would lock the file twice, which is a twelfth of a page.
            let read = self.readers.read(|db| {
                let moment = Moment::begin(db)?;
                let request = judge(users::authenticate(db, &hash)?);
                let found = |request| {
                    let found = submissions::page(&moment, &request, Items::Small)?;
                    Ok::<_, StoreError>((request, found))
                };
                request.map(found).transpose()
            })?;
            match read {
                None => Ok(None),
                Some((_, Found::Page(page))) => Ok(page),
                Some((request, Found::TooLong)) => self.page_with_large(request).await,
            }
        })
    }

    fn note_key_uses(&self, uses: Vec<(KeyId, FormInstant)>) -> StoreFuture<'_, ()> {
        self.write(move |db, _| users::note_key_uses(db, &uses))
    }

    fn add_form(&self, form: NewForm) -> StoreFuture<'_, Form> {
        self.write(move |db, now| {
            forms::add_form(db, &form, Ready::Yes, now)?;
            forms::form(db, &form.id)
        })
    }

    fn set_form_status(&self, form: &FormId, status: FormStatus) -> StoreFuture<'_, Form> {
        let form = form.clone();
        self.write(move |db, now| forms::set_status(db, &form, &status, now))
    }

    fn forms(&self, user: &UserId) -> StoreFuture<'_, Vec<Form>> {
        let user = user.clone();
        self.read(move |db| forms::forms(db, &user))
    }

    fn form_totals(&self, user: &UserId) -> StoreFuture<'_, Vec<(FormId, u64)>> {
        let user = user.clone();
        self.read(move |db| forms::totals(db, &user))
    }

    fn form_owner(&self, form: &FormId) -> StoreFuture<'_, Option<UserId>> {
        let form = form.clone();
        self.read(move |db| forms::owner(db, &form))
    }

    fn form(&self, id: &FormId) -> StoreFuture<'_, Option<Form>> {
        let id = id.clone();
        self.read(move |db| forms::form_by_id(db, &id))
    }

    fn form_by_public_id(&self, id: &PublicId) -> StoreFuture<'_, Option<Form>> {
        let id = id.clone();
        self.read(move |db| forms::form_by_public_id(db, &id))
    }

    fn public_form(&self, id: &PublicId) -> StoreFuture<'_, Option<PublicForm>> {
        let id = id.clone();
        self.read(move |db| forms::public_form(db, &id))
    }

    fn change_form(&self, form: &FormId, change: FormChange) -> StoreFuture<'_, Form> {
        let form = form.clone();
        self.write(move |db, now| forms::change(db, &form, &change, now))
    }

    fn submit(&self, submission: NewSubmission) -> StoreFuture<'_, Accepted> {
        let began = Instant::now();
        Box::pin(async move {
            let accepted = self.writer.submit(submission).await?;
            if let (false, Some(observer)) = (accepted.repeated, self.observer.get()) {
                let ahead = accepted.instant.since((self.clock)());
                observer.accepted(began.elapsed(), ahead);
            }
            Ok(accepted)
        })
    }

    fn can_accept(&self) -> Result<(), StoreError> {
        self.gate.check()
    }

    fn keep_spam(&self, spam: NewSpam) -> StoreFuture<'_, ()> {
        self.write(move |db, now| spam::keep(db, &spam, now))
    }

    fn spam(&self, request: SpamRequest) -> StoreFuture<'_, Vec<SpamRecord>> {
        self.read_long(move |db| spam::list(db, &request))
    }

    fn page(&self, request: PageRequest) -> StoreFuture<'_, Option<StoredPage>> {
        Box::pin(async move {
            // A caller that asks for page after page must not keep others from their turn.
            tokio::task::coop::consume_budget().await;
            // Handing every page to another thread and back took an eighth of the server's CPU.
            let small =
                |db: &Connection| submissions::page(&Moment::begin(db)?, &request, Items::Small);
            match self.readers.read(small)? {
                Found::Page(page) => Ok(page),
                Found::TooLong => self.page_with_large(request).await,
            }
        })
    }

    fn stage_form(&self, form: NewForm) -> StoreFuture<'_, StagedForm> {
        Box::pin(async move {
            // A server that runs for long starts seldom.
            for id in self.write(staged::given_up).await? {
                self.discard_staged(&StagedForm { id }).await?;
            }
            let stage = move |db: &Connection, now| {
                forms::add_form(db, &form, Ready::NotYet, now)?;
                Ok(StagedForm { id: form.id })
            };
            self.write(stage).await
        })
    }

    fn stage_submissions(
        &self,
        form: &StagedForm,
        submissions: Vec<StagedSubmission>,
    ) -> StoreFuture<'_, ()> {
        let form = form.id.clone();
        self.write(move |db, now| staged::append(db, &form, &submissions, now))
    }

    fn publish_staged(&self, form: &StagedForm) -> StoreFuture<'_, Form> {
        let form = form.id.clone();
        self.write(move |db, now| staged::publish(db, &form, now))
    }

    fn discard_staged(&self, form: &StagedForm) -> StoreFuture<'_, ()> {
        let form = form.id.clone();
        Box::pin(async move {
            loop {
                let form = form.clone();
                if self.write(move |db, _| staged::remove_some(db, &form)).await? {
                    return Ok(());
                }
            }
        })
    }

    fn add_endpoint(&self, endpoint: NewEndpoint) -> StoreFuture<'_, EndpointRecord> {
        self.write(move |db, now| endpoints::add(db, &endpoint, now))
    }

    fn endpoints(&self, form: &FormId) -> StoreFuture<'_, Vec<EndpointRecord>> {
        let (form, now) = (form.clone(), (self.clock)());
        self.read(move |db| endpoints::list(db, &form, now))
    }

    fn endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<OwnedEndpoint>> {
        let (id, now) = (id.clone(), (self.clock)());
        self.read(move |db| endpoints::owned(db, &id, now))
    }

    fn signing_endpoint(&self, id: &EndpointId) -> StoreFuture<'_, Option<ClaimedEndpoint>> {
        let (id, now) = (id.clone(), (self.clock)());
        self.read(move |db| endpoints::signing(db, &id, now))
    }

    fn enabled_endpoints(&self) -> StoreFuture<'_, Vec<EndpointRecord>> {
        let now = (self.clock)();
        self.read(move |db| endpoints::enabled(db, now))
    }

    fn sealed_secrets(&self) -> StoreFuture<'_, Vec<(EndpointId, SealedSecret)>> {
        self.read(endpoints::sealed)
    }

    fn rotate_secret(
        &self,
        endpoint: &EndpointId,
        secret: SealedSecret,
        grace: Duration,
    ) -> StoreFuture<'_, EndpointRecord> {
        let id = endpoint.clone();
        self.change_endpoint(move |db, now| endpoints::rotate_secret(db, &id, &secret, grace, now))
    }

    fn set_endpoint_enabled(
        &self,
        endpoint: &EndpointId,
        enabled: bool,
    ) -> StoreFuture<'_, EndpointRecord> {
        let (id, wake) = (endpoint.clone(), self.waker());
        self.change_endpoint(move |db, now| {
            let (record, number) = endpoints::set_enabled(db, &id, enabled, now)?;
            if enabled {
                wake(&[number], &Lane::ALL);
            }
            Ok(record)
        })
    }

    fn remove_endpoint(&self, endpoint: &EndpointId) -> StoreFuture<'_, EndpointRecord> {
        let id = endpoint.clone();
        Box::pin(async move {
            let (record, number) =
                self.change_endpoint(move |db, now| endpoints::begin_removal(db, &id, now)).await?;
            fault_point!(InRemoval);
            self.cancel_deliveries(number).await?;
            Ok(record)
        })
    }

    fn finish_removals(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let step = self.write(removals::step).await?;
            self.report_canceled(step.canceled);
            Ok(step.more)
        })
    }

    fn recover_claims(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let given_back = self.write_steadily(settle::give_back_all).await?;
            self.write_steadily(|db, now| settle::bring_near(db, now, RETRY_PAUSE_MAX)).await?;
            fault_point!(MidRecovery);
            while self.finish_removals().await? {}
            Ok(given_back)
        })
    }

    fn due(&self) -> StoreFuture<'_, Vec<Due>> {
        let now = (self.steady)();
        // Only seeks; a worker must not wait behind large pages.
        self.read(move |db| due::due(db, now))
    }

    fn claim(&self, request: ClaimRequest) -> StoreFuture<'_, Claims> {
        let today = Arc::clone(&self.clock);
        let token = self.next_claim.fetch_add(1, Ordering::Relaxed);
        self.write_steadily(move |db, now| {
            claims::claim(db, &request, &Claiming { now, today: today(), token })
        })
    }

    fn endpoints_at_once(&self) -> Option<&dyn EndpointsAtOnce> {
        Some(self)
    }

    fn settle(&self, settlements: Vec<Settlement>) -> StoreFuture<'_, Vec<Settled>> {
        let (today, wake) = (Arc::clone(&self.clock), self.waker());
        self.write_steadily(move |db, now| {
            let settled = settle::settle(db, &settlements, Settling { now, today: today() })?;
            let back = settlements.iter().filter(|one| one.verdict == Verdict::Release);
            let back: Vec<EndpointNo> = back.map(|one| one.key.endpoint).collect();
            wake(&back, &[Lane::Fresh, Lane::Late]);
            Ok(settled)
        })
    }

    fn work(&self) -> Arc<WorkSignal> {
        Arc::clone(&self.work)
    }

    fn backlog(&self) -> StoreFuture<'_, Backlog> {
        self.read_long(deliveries::backlog)
    }

    fn deliveries(&self, request: DeliveriesRequest) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        self.read_long(move |db| deliveries::list(db, &request))
    }

    fn delivery(&self, id: &DeliveryId) -> StoreFuture<'_, Option<DeliveryDetail>> {
        let id = id.clone();
        self.read_long(move |db| deliveries::detail(db, &id))
    }

    fn resend(&self, id: &DeliveryId) -> StoreFuture<'_, DeliveryRecord> {
        let (id, wake) = (id.clone(), self.waker());
        self.write(move |db, _| {
            let record = deliveries::resend(db, &id)?;
            wake(&[record.key.endpoint], &[Lane::Late]);
            Ok(record)
        })
    }

    fn forget_idempotency_keys(&self) -> StoreFuture<'_, bool> {
        self.write(repeats::forget_some)
    }

    fn prune(&self, request: PruneRequest) -> StoreFuture<'_, Pruned> {
        if request.dry {
            let now = (self.clock)();
            return self.read_long(move |db| prune::count(db, &request, now));
        }
        self.write(move |db, now| prune::prune(db, &request, now))
    }

    fn observe(&self, observer: Arc<dyn StoreObserver>) {
        // The first one stays.
        let _ = self.observer.set(observer);
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        self.write(|db, now| {
            // Writing the value that is there would not touch the disk.
            db.prepare_cached("UPDATE probe SET written_us = max(?1, written_us + 1)")?
                .execute([now.micros()])?;
            Ok(())
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        let (writer, readers) = (Arc::clone(&self.writer), Arc::clone(&self.readers));
        let checkpointer = self.checkpointer.clone();
        let close = move || {
            writer.close();
            // Readers first: they would keep the last checkpoint from emptying the log.
            readers.close();
            if let Some(checkpointer) = checkpointer {
                checkpointer.close();
            }
        };
        Box::pin(async move {
            tokio::task::spawn_blocking(close)
                .await
                .map_err(|panic| StoreError::Internal(Box::new(panic)))
        })
    }
}
