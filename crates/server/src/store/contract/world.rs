//! What the checks stand on.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use formsvc_protocol::limits::{ANSWERS_MAX, PAGE_BYTES_MAX};
use formsvc_protocol::{
    Answers, Form, FormId, FormInstant, FormStatus, PublicId, Submission, SubmissionId, User,
    UserId,
};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::admin::new_id;
use crate::store::{
    Accepted, Clock, NewForm, NewSubmission, PageRequest, Store, StoreError, StoredPage, UserRecord,
};

/// A store that has nothing in it.
pub struct Fresh {
    /// The store.
    pub store: Arc<dyn Store>,
    /// What has to live as long: a directory, a server.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Makes a fresh store that reads a given clock; a store over a network connects.
pub type Factory = fn(Clock) -> BoxFuture<'static, Fresh>;

/// A clock that stands still until it is set.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock at an instant.
    pub fn at(micros: i64) -> Self {
        Self(Arc::new(AtomicI64::new(micros)))
    }

    /// Sets it, forward or back.
    pub fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }

    /// Moves it.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// The clock as a store takes it.
    pub fn clock(&self) -> Clock {
        let micros = Arc::clone(&self.0);
        Arc::new(move || FormInstant::from_micros(micros.load(Ordering::SeqCst)))
    }
}

/// 2026-01-01T00:00:00Z.
pub(super) const NOW: i64 = 1_767_225_600_000_000;

/// A store with a user and a published form.
pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: ManualClock,
    pub(super) user: User,
    pub(super) form: Form,
    _keep: Box<dyn Any + Send + Sync>,
}

impl World {
    pub(super) async fn new(factory: Factory) -> Self {
        let clock = ManualClock::at(NOW);
        let Fresh { store, keep } = factory(clock.clock()).await;
        let user = add_user(&*store, "owner@example.org").await;
        let form = store.add_form(new_form(&user.id)).await.expect("a form is added");
        Self { store, clock, user, form, _keep: keep }
    }

    pub(super) async fn add_form(&self) -> Form {
        self.store.add_form(new_form(&self.user.id)).await.expect("a form is added")
    }

    pub(super) async fn submit(&self, data: &str) -> Accepted {
        self.submit_to(&self.form.id, data).await.expect("a submission is accepted")
    }

    pub(super) async fn submit_to(
        &self,
        form: &FormId,
        data: &str,
    ) -> Result<Accepted, StoreError> {
        self.store.submit(submission(form, data)).await
    }

    /// Many submissions that wait at the same time, in the order they were committed.
    pub(super) async fn submit_together(&self, count: usize) -> Vec<Accepted> {
        let mut tasks = JoinSet::new();
        for n in 0..count {
            let store = Arc::clone(&self.store);
            let new = submission(&self.form.id, &format!("{{\"n\":{n}}}"));
            tasks.spawn(async move { store.submit(new).await.expect("a submission is accepted") });
        }
        tasks.join_all().await
    }

    pub(super) async fn page(&self, before: Option<FormInstant>, limit: u32) -> StoredPage {
        let page = self.page_of(&self.user.id, &self.form.id, before, limit).await;
        page.expect("the form is the user's")
    }

    pub(super) async fn page_of(
        &self,
        user: &UserId,
        form: &FormId,
        before: Option<FormInstant>,
        limit: u32,
    ) -> Option<StoredPage> {
        let request = PageRequest { user: user.clone(), form: form.clone(), before, limit };
        let page = self.store.page(request).await.expect("a page is read");
        if let (Some(before), Some(last)) = (before, page.as_ref().and_then(|page| page.last)) {
            assert!(
                last < before,
                "a page is strictly older than its cursor, or no walk would end"
            );
        }
        page
    }

    /// All rows from a cursor on, newest first.
    pub(super) async fn walk(
        &self,
        mut before: Option<FormInstant>,
        limit: u32,
    ) -> Vec<Submission> {
        let mut rows = Vec::new();
        loop {
            let page = self.page(before, limit).await;
            let found = parse(&page);
            assert!(found.len() <= limit as usize, "a page has at most its limit");
            assert!(
                !page.has_more
                    || found.len() == limit as usize
                    || page.items.len() > PAGE_BYTES_MAX - ANSWERS_MAX - 1_024,
                "a page before the last is full"
            );
            rows.extend(found);
            if !page.has_more {
                return rows;
            }
            before = page.last;
        }
    }
}

pub(super) async fn add_user(store: &dyn Store, email: &str) -> User {
    let user =
        UserRecord { id: UserId::from_bits(new_id()), email: email.into(), name: "Zoë".into() };
    store.add_user(user).await.expect("a user is added")
}

pub(super) fn new_form(user: &UserId) -> NewForm {
    NewForm {
        id: FormId::from_bits(new_id()),
        user: user.clone(),
        public_id: PublicId::from_bits(new_id()),
        title: "Survey".into(),
        status: FormStatus::Published,
    }
}

pub(super) fn submission(form: &FormId, data: &str) -> NewSubmission {
    NewSubmission {
        id: SubmissionId::from_bits(new_id()),
        form: form.clone(),
        answers: answers(data),
        revision: None,
        idempotency: None,
    }
}

pub(super) fn answers(data: &str) -> Answers {
    Answers::parse(data).expect("the answers are an object")
}

/// The rows of a page, with what the page says about itself checked.
pub(super) fn parse(page: &StoredPage) -> Vec<Submission> {
    let text = std::str::from_utf8(&page.items).expect("a page is text");
    let rows: Vec<Submission> =
        serde_json::from_str(&format!("[{text}]")).expect("a page is submissions with commas");
    assert_eq!(rows.len(), page.len);
    assert_eq!(rows.is_empty(), page.last.is_none());
    if let (Some(row), Some(last)) = (rows.last(), page.last) {
        assert_eq!(row.created_at.as_str(), last.to_timestamp().as_str());
    }
    rows
}

pub(super) fn ids(rows: &[Submission]) -> Vec<&SubmissionId> {
    rows.iter().map(|row| &row.id).collect()
}
