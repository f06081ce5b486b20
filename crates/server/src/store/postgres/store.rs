//! The store itself: what it is made of, how it is opened, and what its calls run in.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool, Transaction};
use formsvc_protocol::EndpointId;
use secrecy::SecretString;
use tokio::task::JoinHandle;

use super::connect::Connector;
use super::fault::is_conflict;
use super::lent::{Lent, in_time};
use super::notify::Notice;
use super::requests::Requests;
use super::submitter::{self, Submitter, Told};
use super::tell::{Teller, Untold};
use super::time::Time;
use super::{OpenError, endpoints, notify, schema, staged};
use crate::admin::new_id;
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::{
    Clock, Commit, EndpointNo, Lane, SchemaPolicy, SealedSecret, StoreError, StoreFuture,
    StoreObserver, WorkSignal,
};
use crate::supervise::supervise;

/// Times that a transaction is begun when others stand in its way.
const TRIES: usize = 5;
/// Connections of a process, unless it is told otherwise.
const CONNECTIONS: usize = 16;
/// How long after a failed commit nothing is taken in. After it one submission finds out whether commits
/// succeed again.
const STANDS: Duration = Duration::from_secs(1);

/// The database ends a statement after 30 s, and says so.
const ANSWER_WITHIN: Duration = Duration::from_secs(35);
/// A transaction may take so many times as long as one answer.
const ANSWERS: u32 = 3;

/// How a database is used.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Where it is, like `postgres://user:password@host:5432/database`. What such an address may say of
    /// TLS, of timeouts and of the schema is libpq's: `sslmode`, `connect_timeout`, `options`.
    pub address: SecretString,
    /// Connections at most; one more hears notices.
    pub connections: usize,
    /// What may be done to the schema.
    pub schema: SchemaPolicy,
    /// How long an answer of the database is waited for. Longer than the database takes at most for one
    /// statement, which is 30 s unless the address says otherwise.
    pub answer_within: Duration,
}

impl PostgresOptions {
    /// The usual of a server, for an address.
    pub fn of(address: SecretString) -> Self {
        let schema = SchemaPolicy::Upgrade;
        Self { address, connections: CONNECTIONS, schema, answer_within: ANSWER_WITHIN }
    }
}

/// A store in a PostgreSQL database, which other processes may use at the same time.
pub struct PostgresStore {
    pub(super) shared: Arc<Shared>,
    pub(super) submitter: Submitter,
    pub(super) requests: Requests,
    pub(super) work: Arc<WorkSignal>,
    pub(super) listening: JoinHandle<()>,
    pub(super) telling: Teller,
}

/// What tasks take along.
pub(super) struct Shared {
    pub(super) pool: Pool,
    pub(super) time: Time,
    pub(super) notice: Notice,
    pub(super) gate: Arc<Gate>,
    pub(super) observer: Arc<OnceLock<Arc<dyn StoreObserver>>>,
    /// How long a transaction may take.
    within: Duration,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore")
            .field("pool", &self.shared.pool.status())
            .finish_non_exhaustive()
    }
}

/// Whether the last commit succeeded.
#[derive(Debug, Default)]
pub(super) struct Gate(std::sync::Mutex<Option<Instant>>);

/// A commit failed a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("the last commit failed a moment ago")]
struct JustFailed;

impl Gate {
    fn committed(&self, succeeded: bool) {
        let failed = (!succeeded).then(Instant::now);
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = failed;
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        let failed = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match failed {
            Some(failed) if failed.elapsed() < STANDS => {
                Err(StoreError::Unavailable(Some(Box::new(JustFailed))))
            }
            _ => Ok(()),
        }
    }
}

/// A piece of work inside a transaction.
pub(super) type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

impl PostgresStore {
    /// Connects, brings the schema to the current version if the options allow it, and begins to hear of
    /// work. Must be called within a tokio runtime.
    pub async fn open(options: &PostgresOptions) -> Result<Self, OpenError> {
        Self::start(options, Time::OfDatabase).await
    }

    /// The same, with a clock that a test sets.
    #[doc(hidden)]
    pub async fn open_at(options: &PostgresOptions, clock: Clock) -> Result<Self, OpenError> {
        Self::start(options, Time::Given(clock)).await
    }

    /// Whether an address can be read. Nothing is asked.
    pub fn check_address(address: &SecretString) -> Result<(), OpenError> {
        Connector::new(address).map(drop)
    }

    /// Whether there is a database of ours that this release can read and serve, and the sealed secrets of
    /// its endpoints. Changes nothing.
    pub async fn inspect(
        address: &SecretString,
    ) -> Result<Vec<(EndpointId, SealedSecret)>, OpenError> {
        let client = Connector::new(address)?.pool(1)?.get().await.map_err(StoreError::from)?;
        schema::check(&client, SchemaPolicy::Require).await?;
        if schema::is_unfinished(&client).await? {
            return Err(OpenError::Unfinished);
        }
        Ok(endpoints::sealed(&client).await?)
    }

    /// The schema that the tables of a database are in, or would be made in.
    pub async fn schema(address: &SecretString) -> Result<Option<String>, OpenError> {
        let client = Connector::new(address)?.pool(1)?.get().await.map_err(StoreError::from)?;
        Ok(schema::current(&client).await?)
    }

    async fn start(options: &PostgresOptions, time: Time) -> Result<Self, OpenError> {
        let connector = Connector::new(&options.address)?;
        let pool = connector.pool(options.connections)?;
        let schema = schema::migrate(&pool, options.schema).await?;
        // Unlike those of any other process.
        let [_, _, _, _, _, _, _, _, random @ ..] = new_id();
        let notice = Notice::new(&schema, u64::from_be_bytes(random));
        let (gate, observer) = (Arc::<Gate>::default(), Arc::default());
        let work = Arc::<WorkSignal>::default();
        let untold = Arc::<Untold>::default();
        let told: Told = {
            let (gate, work, untold) = (Arc::clone(&gate), Arc::clone(&work), Arc::clone(&untold));
            let observer: Arc<OnceLock<Arc<dyn StoreObserver>>> = Arc::clone(&observer);
            Arc::new(move |commit: Commit, endpoints: &[EndpointNo]| {
                gate.committed(commit.succeeded);
                if let Some(observer) = observer.get() {
                    observer.committed(commit);
                }
                work.announce(endpoints.iter().map(|endpoint| (*endpoint, Lane::Fresh)));
                untold.add(endpoints);
            })
        };
        let desk = submitter::Desk {
            pool: pool.clone(),
            time: time.clone(),
            told,
            within: options.answer_within,
        };
        let listening = {
            let (notice, work) = (notice.clone(), Arc::clone(&work));
            tokio::spawn(supervise("notices", move || {
                notify::listen(connector.clone(), notice.clone(), Arc::clone(&work))
            }))
        };
        let telling = Teller::start(&untold, &pool, &notice, options.answer_within);
        let within = options.answer_within * ANSWERS;
        let shared = Arc::new(Shared { pool, time, notice, gate, observer, within });
        remove_given_up(&shared).await;
        let requests = Requests::start(&shared.pool, &shared.time, options.answer_within);
        Ok(Self { shared, submitter: Submitter::start(&desk), requests, work, listening, telling })
    }

    /// A read, on a connection of its own.
    pub(super) fn read<'a, T, F>(&'a self, work: F) -> StoreFuture<'a, T>
    where
        T: Send + 'a,
        F: for<'c> FnOnce(&'c Object, Option<i64>) -> Work<'c, T> + Send + 'a,
    {
        Box::pin(async move {
            let Shared { pool, time, within, .. } = &*self.shared;
            let client = pool.get().await?;
            let read = in_time(pool, *within, work(&client, time.given())).await;
            if read.is_err() {
                drop(Object::take(client));
            }
            read.flatten()
        })
    }

    /// A transaction, in a task that goes on when nobody waits for it.
    pub(super) fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c Transaction<'c>, &'c Shared) -> Work<'c, T> + Send + Sync + 'static,
    {
        Box::pin(async move {
            let shared = Arc::clone(&self.shared);
            let written = tokio::spawn(async move { shared.write(work).await }).await;
            written.unwrap_or_else(|panic| Err(StoreError::Internal(Box::new(panic))))
        })
    }

    /// Cancels what is left of a removed endpoint's deliveries, in steps that do not hold up others.
    pub(super) async fn cancel_deliveries(&self, id: EndpointId) -> Result<(), StoreError> {
        loop {
            let id = id.clone();
            let cancel = self.write(move |tx, shared| {
                let (id, now) = (id.clone(), shared.time.given());
                Box::pin(async move { endpoints::cancel_some(tx, &id, now).await })
            });
            let canceled = cancel.await?;
            self.report_canceled(canceled.deliveries);
            if canceled.all {
                return Ok(());
            }
            fault_point!(MidRemoval);
        }
    }

    pub(super) fn report_canceled(&self, deliveries: u64) {
        if let (1.., Some(observer)) = (deliveries, self.shared.observer.get()) {
            observer.canceled(deliveries);
        }
    }
}

impl Shared {
    /// Carries out a transaction; begins it again when others stood in its way.
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'c> Fn(&'c Transaction<'c>, &'c Self) -> Work<'c, T>,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_write(&work).await {
                Err(error) if is_conflict(&error) && tries < TRIES => {}
                outcome => return outcome,
            }
        }
    }

    async fn try_write<T, F>(&self, work: &F) -> Result<T, StoreError>
    where
        F: for<'c> Fn(&'c Transaction<'c>, &'c Self) -> Work<'c, T>,
    {
        let mut client = Lent::by(&self.pool).await?;
        let writing = async {
            let tx = client.transaction().await?;
            // Dropped without a commit, it is rolled back.
            let outcome = work(&tx, self).await?;
            tx.commit().await?;
            Ok(outcome)
        };
        let outcome = in_time(&self.pool, self.within, writing).await?;
        client.give_back();
        outcome
    }
}

/// Removes imports that nobody goes on with. What fails is left for the next start; nobody sees it
/// meanwhile.
pub(super) async fn remove_given_up(shared: &Shared) {
    let removed = async {
        let forms = {
            let client = shared.pool.get().await?;
            staged::given_up(&client, shared.time.given()).await?
        };
        for form in forms {
            loop {
                let id = form.clone();
                let some = shared.write(move |tx, _| {
                    let id = id.clone();
                    Box::pin(async move { staged::remove_some(tx, &id).await })
                });
                if some.await? {
                    break;
                }
            }
            tracing::info!(%form, "removed an import that was given up");
        }
        Ok::<_, StoreError>(())
    };
    if let Err(error) = removed.await {
        let cause = on_one_line(&error);
        tracing::warn!(cause, "imports that were given up could not be removed");
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
