//! The reference service inside this process: for `formsvc sandbox`, and for `--demo`.
//!
//! It runs on a thread and a runtime of its own, so that a command that waits for it cannot hold it
//! up.

mod attempts;
mod banner;
mod data;
mod key;
mod visitor;
mod webhooks;

pub(crate) use banner::banner;
pub(crate) use data::FORM_NAMES;
pub(crate) use key::Key;
pub(crate) use webhooks::{Wanted, Webhook, wanted};

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use formsvc_client::types::PublicId;
use formsvc_client::{Form, User};
use formsvc_server::admin::{Admin, AdminError, Registrar};
use formsvc_server::delivery::{
    AttemptObserver, Deliveries, DeliveryOptions, Equipment, system_random,
};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::faults::{FaultSetting, Faults};
use formsvc_server::public::{self, PublicOptions};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::secrets::{KeyFile, Missing, Vault};
use formsvc_server::seed::{SeedOptions, seed_form};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::Store;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{steady_clock, system_clock};
use tokio::sync::{mpsc, oneshot};

use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::args::Rate;
use attempts::Teller;
use visitor::Visitor;

/// The user the sandbox's forms belong to.
const OWNER_EMAIL: &str = "sandbox@formsvc.invalid";
const OWNER_NAME: &str = "Sandbox";

/// Time limit of the requests in flight when the sandbox stops. Shorter than the time that a command has to end
/// after Ctrl-C (2 s), so that the database is closed before the process ends.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(1);

/// Requested submissions that wait to be made.
const PENDING_SUBMISSIONS: usize = 16;

/// What may be the matter when a sandbox without a file cannot be filled.
const IN_MEMORY: &str =
    "a sandbox in memory holds at most 1 GiB; --database PATH keeps it in a file";

/// What kind of sandbox.
#[derive(Clone, Debug)]
pub(crate) struct SandboxOptions {
    /// A file to keep it in; memory if none.
    pub(crate) database: Option<PathBuf>,
    /// Where to listen.
    pub(crate) addr: SocketAddr,
    /// Requests a minute for a key; `Off` lifts the limits of public forms as well.
    pub(crate) rate_limit: Option<Rate>,
    /// Endpoints that are to be there.
    pub(crate) webhooks: Vec<Wanted>,
    /// How deliveries to them are made.
    pub(crate) delivery: DeliveryOptions,
    /// Where they may go.
    pub(crate) egress: EgressPolicy,
    /// Whether a key is made although the database has one.
    pub(crate) new_key: bool,
    /// Generated forms, besides the real ones.
    pub(crate) generate: Vec<(PublicId, u64)>,
    /// How it fails.
    pub(crate) faults: Vec<FaultSetting>,
    /// Time between two submissions to the forms of `webhooks` and `submit_to`, in turn.
    pub(crate) submit_every: Option<Duration>,
    /// Forms without an endpoint that get submissions.
    pub(crate) submit_to: Vec<PublicId>,
    /// Accepts requests for submissions: see [`Sandbox::submitter`].
    pub(crate) submit_on_request: bool,
}

impl SandboxOptions {
    /// One in memory, on any free port, as `--demo` has it.
    pub(crate) fn demo() -> Self {
        Self {
            database: None,
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            rate_limit: None,
            webhooks: Vec::new(),
            delivery: DeliveryOptions::default(),
            egress: EgressPolicy::dev(),
            new_key: false,
            generate: Vec::new(),
            faults: Vec::new(),
            submit_every: None,
            submit_to: Vec::new(),
            submit_on_request: false,
        }
    }
}

/// A sandbox that answers. Dropping it shuts it down and waits until it is.
pub(crate) struct Sandbox {
    /// What there is to know of it.
    pub(crate) facts: Facts,
    /// A line for every attempt to deliver, once it is over.
    pub(crate) attempts: mpsc::Receiver<String>,
    submissions: mpsc::Sender<()>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Requests submissions to the forms of a sandbox.
pub(crate) struct Submitter(mpsc::Sender<()>);

impl Submitter {
    /// Requests a submission. Ignores the request if many are pending. Returns false if the sandbox has ended.
    pub(crate) fn submit(&self) -> bool {
        !matches!(self.0.try_send(()), Err(mpsc::error::TrySendError::Closed(())))
    }
}

/// What there is to know of a sandbox.
pub(crate) struct Facts {
    /// Its address.
    pub(crate) base_url: String,
    /// The key for its forms.
    pub(crate) key: Key,
    /// Its forms, newest first.
    pub(crate) forms: Vec<Form>,
    /// Forms that were to be generated but are in the database already.
    pub(crate) kept: Vec<PublicId>,
    /// Endpoints of its forms.
    pub(crate) webhooks: Vec<Webhook>,
    /// Forms that somebody submits to in turn, and how often.
    pub(crate) visits: Option<(Vec<PublicId>, Duration)>,
    /// How it failed when it was started.
    pub(crate) faults: Vec<FaultSetting>,
}

type Started = (Facts, mpsc::Receiver<String>);

impl Sandbox {
    /// Starts one and waits until it answers.
    pub(crate) async fn start(options: SandboxOptions) -> Result<Self, CliError> {
        let (started, answers) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let (submissions, requests) = mpsc::channel(PENDING_SUBMISSIONS);
        let thread = thread::Builder::new()
            .name("sandbox".into())
            .spawn(move || run(options, started, stopped, requests))
            .map_err(|error| failed("cannot start the sandbox").because(&error))?;
        let gone = |_| failed("the sandbox stopped before it answered");
        let (facts, attempts) = answers.await.map_err(gone)??;
        Ok(Self { facts, attempts, submissions, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns a handle that requests submissions, if the options allow it.
    pub(crate) fn submitter(&self) -> Submitter {
        Submitter(self.submissions.clone())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have stopped by itself; then there is nobody to tell.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    options: SandboxOptions,
    started: oneshot::Sender<Result<Started, CliError>>,
    stopped: oneshot::Receiver<()>,
    requests: mpsc::Receiver<()>,
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = started.send(Err(failed("cannot start the sandbox").because(&error)));
            return;
        }
    };
    runtime.block_on(serve(options, started, stopped, requests));
}

/// Serves until told to stop, then lets requests finish and closes the store.
async fn serve(
    options: SandboxOptions,
    started: oneshot::Sender<Result<Started, CliError>>,
    mut stopped: oneshot::Receiver<()>,
    requests: mpsc::Receiver<()>,
) {
    let opened = tokio::select! {
        opened = open(options) => opened,
        // Stopping while the data is still being loaded must not wait for it.
        _ = &mut stopped => return,
    };
    match opened {
        Ok((running, ready, visitor)) => {
            if started.send(Ok(ready)).is_ok() {
                let visits = async {
                    if let Some(visitor) = visitor {
                        visitor.submit(requests).await;
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    // An error means that whoever would tell us is gone, which tells us as well.
                    _ = stopped => {}
                    () = visits => {}
                }
            }
            if let Err(error) = running.shutdown().await {
                tracing::error!(%error, "the sandbox's store did not close");
            }
        }
        Err(error) => {
            // The receiver is gone only when the whole command is.
            let _ = started.send(Err(error));
        }
    }
}

async fn open(options: SandboxOptions) -> Result<(Running, Started, Option<Visitor>), CliError> {
    let store = store(options.database.as_deref())?;
    let admin = Admin::new(Arc::clone(&store));
    let vault = vault(&store, options.database.as_deref()).await?;
    let cannot_fill = |error: AdminError| failed("cannot fill the sandbox").because(&error);
    let owner = owner(&admin).await.map_err(cannot_fill)?;
    data::load(&admin, &owner).await?;
    let kept = generate_all(&admin, &owner, &options).await?;
    let forms = admin.list_forms(&owner.id).await.map_err(cannot_fill)?;
    let registrar = Registrar::new(vault.clone(), options.egress.clone());
    let wanted = webhooks::check(&admin, &registrar, &forms, &options.webhooks).await?;
    let has_visitor = options.submit_every.is_some() || options.submit_on_request;
    let (visitor, visits) = match options.submit_every {
        every if has_visitor => {
            let names = options.webhooks.iter().map(|wanted| &wanted.form);
            let names: Vec<_> = names.chain(&options.submit_to).cloned().collect();
            let visited = visitor::visited(&forms, &names);
            let visitor =
                Visitor::of(&admin, &owner, &visited, every).await.map_err(cannot_fill)?;
            let names = visited.iter().map(|form| form.public_id.clone()).collect();
            (Some(visitor), every.map(|every| (names, every)))
        }
        _ => (None, None),
    };
    let serving = serving(options.addr, options.rate_limit);
    let faults = Faults::new();
    options.faults.iter().for_each(|fault| faults.set(*fault));
    let metrics = Arc::clone(&serving.metrics);
    let index = public::index(Arc::clone(&store), owner.id.clone());
    let around = |router| faults.around(router).merge(index);
    let running = Server::bind_with(serving, Arc::clone(&store), around).await;
    let running = running.map_err(|error| {
        failed("cannot start the sandbox").because(&error).hint("`--port 0` finds a free port")
    })?;
    // Last, when nothing is left to fail: what is made here is shown once.
    let webhooks = webhooks::add(&admin, &registrar, &forms, wanted).await?;
    let key = key::of(&admin, &owner, options.new_key).await.map_err(cannot_fill)?;
    let (teller, attempts) = Teller::of(&forms);
    let client = ClientOptions { policy: options.egress, ..ClientOptions::default() };
    let equipment = Equipment {
        store,
        carrier: faults.carrier(Arc::new(DeliveryClient::new(client))),
        vault,
        clock: faults.clock(system_clock()),
        options: options.delivery,
        random: system_random(),
        metrics,
    };
    let teller: Arc<dyn AttemptObserver> = Arc::new(teller);
    let running = running.with_deliveries(Deliveries::start_observed(equipment, Some(teller)));
    let facts = Facts {
        base_url: running.base_url(),
        key,
        forms,
        kept,
        webhooks,
        visits,
        faults: options.faults,
    };
    Ok((running, (facts, attempts), visitor))
}

fn store(database: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let store = match database {
        Some(path) => SqliteStore::open_exclusive(path, system_clock()),
        None => SqliteStore::in_memory(system_clock()),
    };
    let store = store.map_err(|error| {
        let place = database.map_or("memory".into(), |path| path.display().to_string());
        failed(format!("cannot open the sandbox's database `{place}`")).because(&error)
    })?;
    Ok(Arc::new(store.with_steady_clock(steady_clock())))
}

fn serving(addr: SocketAddr, rate_limit: Option<Rate>) -> ServeOptions {
    let rate_limit = match rate_limit {
        None => RateLimit::default(),
        Some(Rate::Off) => RateLimit::Off,
        Some(Rate::PerMinute(requests)) => RateLimit::per_minute(requests),
    };
    let mut public = PublicOptions::default();
    if rate_limit == RateLimit::Off {
        (public.per_address, public.per_form) = (RateLimit::Off, RateLimit::Off);
    }
    let shutdown_deadline = SHUTDOWN_DEADLINE;
    ServeOptions { addr, rate_limit, public, shutdown_deadline, ..ServeOptions::default() }
}

/// What opens the signing secrets: a key beside the database, or one that is gone with the sandbox.
/// Where there are secrets, a missing key is not replaced by one that does not open them.
async fn vault(store: &Arc<dyn Store>, database: Option<&Path>) -> Result<Vault, CliError> {
    let Some(database) = database else {
        let ephemeral = Vault::ephemeral();
        return ephemeral.map_err(|error| failed("cannot start the sandbox").because(&error));
    };
    let unreadable = |error: &dyn std::error::Error| {
        failed("cannot use the key beside the sandbox's database").because(error)
    };
    let sealed = store.sealed_secrets().await.map_err(|error| unreadable(&error))?;
    let missing = if sealed.is_empty() { Missing::Create } else { Missing::Refuse };
    let file = KeyFile::beside(database).map_err(|error| unreadable(&error))?;
    let key = file.open(missing).map_err(|error| unreadable(&error))?;
    Ok(Vault::new(&key))
}

/// The owner of the sandbox's forms; a kept database has one already.
async fn owner(admin: &Admin) -> Result<User, AdminError> {
    match admin.store().user_by_email(OWNER_EMAIL).await? {
        Some(owner) => Ok(owner),
        None => admin.create_user(OWNER_EMAIL, OWNER_NAME).await,
    }
}

/// Generates forms; those that were there already are given back.
async fn generate_all(
    admin: &Admin,
    owner: &User,
    options: &SandboxOptions,
) -> Result<Vec<PublicId>, CliError> {
    let mut kept = Vec::new();
    for (public_id, submissions) in &options.generate {
        let generated = generate(admin, owner, public_id, *submissions).await;
        let made = generated.map_err(|error| match options.database {
            None => error.hint(IN_MEMORY),
            Some(_) => error,
        })?;
        if !made {
            kept.push(public_id.clone());
        }
    }
    Ok(kept)
}

/// Generates a form; `false` when there is one of that name already.
async fn generate(
    admin: &Admin,
    owner: &User,
    public_id: &PublicId,
    submissions: u64,
) -> Result<bool, CliError> {
    let cannot = |error: AdminError| {
        failed(format!("cannot generate the form `{public_id}`")).because(&error)
    };
    let kept = admin.store().form_by_public_id(public_id).await;
    if kept.map_err(|error| cannot(error.into()))?.is_some() {
        return Ok(false);
    }
    let options = SeedOptions::new(public_id.clone(), submissions);
    seed_form(admin, &owner.id, &options).await.map_err(cannot)?;
    Ok(true)
}

fn failed(message: impl Into<String>) -> CliError {
    CliError::new(Exit::LocalIo, message)
}
