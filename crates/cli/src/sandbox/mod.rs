//! The reference service in this process, for `formsvc sandbox` and for `--demo`.

mod attempts;
mod banner;
mod data;
mod options;
mod visitor;
mod webhooks;

pub(crate) use banner::banner;
pub(crate) use data::FORM_NAMES;
pub(crate) use options::{RequestedWebhook, SandboxOptions};
pub(crate) use webhooks::Webhook;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use formsvc_client::types::PublicId;
use formsvc_client::{Form, User};
use formsvc_server::admin::{Admin, AdminError, Registrar};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::faults::Faults;
use formsvc_server::public::{self, PublicOptions};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::secrets::{KeyFile, Missing, Vault};
use formsvc_server::seed::{SeedOptions, seed_form};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, steady_clock, system_clock};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::args::Rate;
use attempts::AttemptReporter;
use visitor::Visitor;

/// The owner of the forms.
const OWNER_EMAIL: &str = "sandbox@formsvc.invalid";
const OWNER_NAME: &str = "Sandbox";

/// Time limit for stopping a sandbox. Requests in flight have half of it to complete.
pub(crate) const STOP_TIME: Duration = Duration::from_secs(1);
/// Largest number of pending requests to submit.
const PENDING_SUBMISSIONS: usize = 16;

/// A running sandbox. Dropping it stops it at once.
pub(crate) struct Sandbox {
    pub(crate) info: SandboxInfo,
    /// A line for each delivery attempt.
    pub(crate) attempts: mpsc::Receiver<String>,
    /// Each message makes one submission, unless the channel is full.
    pub(crate) submissions: mpsc::Sender<()>,
    running: Running,
    /// The task that makes the submissions.
    _visitor: JoinSet<()>,
}

/// A description of a running sandbox: the content of a ready file.
#[derive(Serialize)]
pub(crate) struct SandboxInfo {
    pid: u32,
    pub(crate) base_url: String,
    /// A new API key.
    #[serde(serialize_with = "expose")]
    pub(crate) api_key: SecretString,
    /// The forms, newest first.
    forms: Vec<Form>,
    webhooks: Vec<Webhook>,
    /// The forms that get submissions.
    #[serde(skip)]
    visited: Vec<PublicId>,
}

impl Sandbox {
    /// Starts a sandbox on a port of this machine; port 0 is a free one.
    pub(crate) async fn start(port: u16, options: SandboxOptions) -> Result<Self, CliError> {
        let schedule = options.schedule();
        let database = options.database.as_deref();
        let store = open_store(database)?;
        let admin = Admin::new(Arc::clone(&store));
        let vault = open_vault(database)?;
        let cannot_fill = |error: AdminError| failed("cannot fill the sandbox").because(&error);
        let owner = find_owner(&admin).await.map_err(cannot_fill)?;
        data::load(&admin, &owner).await?;
        generate_forms(&admin, &owner, &options).await?;
        let forms = admin.list_forms(&owner.id).await.map_err(cannot_fill)?;
        // Deliveries to this machine are allowed.
        let policy =
            options.egress_allow.into_iter().fold(EgressPolicy::dev(), EgressPolicy::allow);
        let registrar = Registrar::new(vault.clone(), policy.clone());
        webhooks::add(&admin, &registrar, &forms, &options.webhook).await?;
        let webhooks = webhooks::list(&admin, &vault, &forms).await?;
        let names = options.webhook.iter().map(|webhook| &webhook.form);
        let names: Vec<_> = names.chain(&options.submit_to).map(PublicId::as_str).collect();
        let names = if names.is_empty() { &FORM_NAMES[..1] } else { &names };
        let is_visited = |form: &&Form| names.contains(&form.public_id.as_str());
        let visited: Vec<&Form> = forms.iter().filter(is_visited).collect();
        let visitor = Visitor::new(&admin, &visited).await.map_err(cannot_fill)?;
        let visited = visited.into_iter().map(|form| form.public_id.clone()).collect();

        let faults = Faults::new();
        options.fault.iter().for_each(|fault| faults.set(*fault));
        let serve = serve_options(port, options.rate_limit);
        let metrics = Arc::clone(&serve.metrics);
        let index = public::index(Arc::clone(&store), owner.id.clone());
        let wrap = |router| faults.around(router).merge(index);
        let running =
            Server::bind_with(serve, Arc::clone(&store), wrap).await.map_err(|error| {
                failed("cannot start the sandbox")
                    .because(&error)
                    .hint("`--port 0` finds a free port")
            })?;
        let created = admin.create_key(&owner.id, "sandbox").await.map_err(cannot_fill)?;
        let (reporter, attempts) = AttemptReporter::new(&forms);
        let client = ClientOptions { policy, ..ClientOptions::default() };
        let mut delivery = DeliveryOptions::default();
        delivery.schedule = schedule;
        let equipment = Equipment {
            store,
            carrier: faults.carrier(Arc::new(DeliveryClient::new(client))),
            vault,
            clock: faults.clock(system_clock()),
            options: delivery,
            random: system_random(),
            metrics,
        };
        let deliveries = Deliveries::start_observed(equipment, Some(Arc::new(reporter)));
        let running = running.with_deliveries(deliveries);
        let (submissions, requests) = mpsc::channel(PENDING_SUBMISSIONS);
        let mut task = JoinSet::new();
        task.spawn(visitor.run(options.submit_every, requests));
        let (base_url, api_key) = (running.base_url(), created.secret);
        let pid = std::process::id();
        let info = SandboxInfo { pid, base_url, api_key, forms, webhooks, visited };
        Ok(Self { info, attempts, submissions, running, _visitor: task })
    }

    /// Completes the requests in flight and closes the database. Attempts to deliver that take longer are
    /// repeated at the next start.
    pub(crate) async fn stop(self) -> Result<(), CliError> {
        let stopped = timeout(STOP_TIME, self.running.shutdown())
            .await
            .map_or(Ok(()), |stopped| stopped.map(drop));
        stopped.map_err(|error| failed("cannot close the sandbox's database").because(&error))
    }
}

fn open_store(database: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let store = match database {
        Some(path) => SqliteStore::open_exclusive(path, system_clock()),
        None => SqliteStore::in_memory(system_clock()),
    };
    let store = store.map_err(|error| {
        let name = database.map_or("memory".into(), |path| path.display().to_string());
        failed(format!("cannot open the sandbox's database `{name}`")).because(&error)
    })?;
    Ok(Arc::new(store.with_steady_clock(steady_clock())))
}

/// Opens the key that encrypts the secrets: a file beside the database, or temporary.
fn open_vault(database: Option<&Path>) -> Result<Vault, CliError> {
    let Some(database) = database else {
        let vault = Vault::ephemeral();
        return vault.map_err(|error| failed("cannot start the sandbox").because(&error));
    };
    let cannot_use = |error: &dyn std::error::Error| {
        failed("cannot use the key beside the sandbox's database").because(error)
    };
    let file = KeyFile::beside(database).map_err(|error| cannot_use(&error))?;
    let key = file.open(Missing::Create).map_err(|error| cannot_use(&error))?;
    Ok(Vault::new(&key))
}

fn serve_options(port: u16, rate_limit: Option<Rate>) -> ServeOptions {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let rate_limit = match rate_limit {
        None => RateLimit::default(),
        Some(Rate::Off) => RateLimit::Off,
        Some(Rate::PerMinute(requests)) => RateLimit::per_minute(requests),
    };
    let mut public = PublicOptions::default();
    if rate_limit == RateLimit::Off {
        (public.per_address, public.per_form) = (RateLimit::Off, RateLimit::Off);
    }
    let shutdown_deadline = STOP_TIME / 2;
    ServeOptions { addr, rate_limit, public, shutdown_deadline, ..ServeOptions::default() }
}

/// Returns the owner of the forms. The owner is created unless the database is from an earlier start.
async fn find_owner(admin: &Admin) -> Result<User, AdminError> {
    match admin.store().user_by_email(OWNER_EMAIL).await? {
        Some(owner) => Ok(owner),
        None => admin.create_user(OWNER_EMAIL, OWNER_NAME).await,
    }
}

/// Generates the forms of `--generate` that the database does not have yet.
async fn generate_forms(
    admin: &Admin,
    owner: &User,
    options: &SandboxOptions,
) -> Result<(), CliError> {
    for (public_id, submissions) in &options.generate {
        let generate = async {
            if admin.store().form_by_public_id(public_id).await?.is_none() {
                let seed = SeedOptions::new(public_id.clone(), *submissions);
                seed_form(admin, &owner.id, &seed).await?;
            }
            Ok(())
        };
        generate.await.map_err(|error: AdminError| {
            let what = format!("cannot generate the form `{public_id}`");
            let hint = "a sandbox in memory holds at most 1 GiB; use `--database PATH`";
            let error = failed(what).because(&error);
            if options.database.is_none() { error.hint(hint) } else { error }
        })?;
    }
    Ok(())
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

fn failed(message: impl Into<String>) -> CliError {
    CliError::new(Exit::LocalIo, message)
}
