//! `formsvc-server serve`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tracing::level_filters::LevelFilter;

use super::dashboard::{DashboardArgs, invite};
use super::database::DatabaseArgs;
use super::delivery::DeliveryArgs;
use super::egress::{EgressArgs, EgressRootsArgs};
use super::error::CommandError;
use super::exit::Exit;
use super::front;
use super::public::PublicArgs;
use super::secret_key::SecretKeyArgs;
use super::service_manager;
use super::settings::{ServeText, is_remote, page_cache, resolve};
use crate::admin::{Admin, Registrar};
use crate::dashboard::{self, Dashboard, DashboardOptions, DashboardParts};
use crate::delivery::{Carrier, Deliveries, DeliveryOptions, Equipment, system_random};
use crate::egress::{ClientOptions, DeliveryClient, EgressPolicy, EndpointUrl};
use crate::rate_limit::monotonic_clock;
use crate::ready_file::{self, ReadyFileError};
use crate::serve::{Running, ServeOptions, Server, Signals};
use crate::store::sqlite::PAGE_CACHE_DEFAULT;
use crate::store::{EndpointRecord, Store, system_clock};
#[cfg(feature = "otel")]
use crate::telemetry;

/// The least severe log lines it prints unless told otherwise.
pub(super) const LOG_LEVEL: LevelFilter = LevelFilter::INFO;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) database: DatabaseArgs,
    #[command(flatten)]
    pub(super) secret_key: SecretKeyArgs,
    #[command(flatten)]
    egress: EgressArgs,
    #[command(flatten)]
    egress_roots: EgressRootsArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    dashboard: DashboardArgs,
    /// MiB of a database file's pages to keep in memory once they were read [default: 128].
    #[arg(long, value_name = "MIB", env = "FORMSVC_SERVER_PAGE_CACHE")]
    page_cache: Option<String>,
    /// IP address and port to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR", env = "FORMSVC_SERVER_LISTEN")]
    listen: Option<String>,
    /// Port to listen on, in place of the one in --listen; 0 takes any free one.
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_PORT")]
    port: Option<String>,
    /// Allow an address that other machines can reach. The server speaks plain HTTP: a proxy in
    /// front must bring TLS.
    #[arg(long, env = "FORMSVC_SERVER_ALLOW_REMOTE")]
    allow_remote: bool,
    /// Write a JSON object with `base_url` and `pid` to this file once the server answers, and remove
    /// it when the server stops.
    #[arg(long, value_name = "PATH", env = "FORMSVC_SERVER_READY_FILE")]
    pub(super) ready_file: Option<PathBuf>,
    /// Requests each API key may make in any minute, or `off` [default: 300].
    #[arg(long, value_name = "N|off", env = "FORMSVC_SERVER_RATE_LIMIT")]
    rate_limit: Option<String>,
    /// How long requests may go on after a signal to stop [default: 10s].
    #[arg(long, value_name = "DURATION", env = "FORMSVC_SERVER_SHUTDOWN_DEADLINE")]
    shutdown_deadline: Option<String>,
    /// Connections open at a time; more wait [default: 4096].
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_CONNECTIONS_MAX")]
    connections_max: Option<String>,
    /// Connections one address may have open at a time; more are closed [default: 256].
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_CONNECTIONS_PER_PEER")]
    connections_per_peer: Option<String>,
}

impl Args {
    /// What was asked for, or the first that breaks a rule.
    pub(super) fn judge(&self) -> Result<Settings, CommandError> {
        let mut serving = resolve(&ServeText {
            listen: self.listen.as_deref(),
            port: self.port.as_deref(),
            allow_remote: self.allow_remote,
            rate_limit: self.rate_limit.as_deref(),
            shutdown_deadline: self.shutdown_deadline.as_deref(),
            connections_max: self.connections_max.as_deref(),
            connections_per_peer: self.connections_per_peer.as_deref(),
        })?;
        serving.public = self.public.resolve()?;
        Ok(Settings {
            page_cache: self.page_cache.as_deref().map_or(Ok(PAGE_CACHE_DEFAULT), page_cache)?,
            serving,
            dashboard: self.dashboard.resolve()?,
            delivery: self.delivery.resolve()?,
            client: self.egress_roots.client(self.egress.policy()?)?,
        })
    }
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let settings = args.judge()?;
    // Before the runtime, and ended after it: the exporter has a thread of its own.
    #[cfg(feature = "otel")]
    let _traces = telemetry::otel::init().map_err(|error| CommandError::of(Exit::Usage, &error))?;
    if cfg!(not(feature = "otel")) && std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
        tracing::warn!("no spans are exported: this program was built without the feature `otel`");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::of(Exit::LocalIo, &error))?;
    runtime.block_on(serve(args, settings))
}

/// What was asked for, judged.
pub(super) struct Settings {
    /// In MiB.
    page_cache: u32,
    serving: ServeOptions,
    dashboard: DashboardOptions,
    delivery: DeliveryOptions,
    client: ClientOptions,
}

impl Settings {
    /// What is allowed and hardly meant.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let site = &self.dashboard.site;
        let https = site.origin().is_some_and(|origin| origin.starts_with("https://"));
        let rules = [
            (
                site.refuses_everybody(),
                "nobody can sign in at this `--public-url`: passwords would travel in the clear. \
                Put a proxy that brings TLS in front and name its `https://` address, or add \
                `--allow-plain-sign-in`",
            ),
            (
                https && self.serving.public.trusted_proxies.is_empty(),
                "no `--trusted-proxy` is named: if a proxy brings `https` to this `--public-url`, all \
                who come through it share the limits of one address",
            ),
        ];
        rules.into_iter().filter_map(|(holds, warning)| holds.then_some(warning))
    }
}

async fn serve(args: &Args, settings: Settings) -> Result<(), CommandError> {
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Exit::LocalIo, &error))?;
    let store = args.database.database.open_to_serve(settings.page_cache).await?;
    let running = match start(args, settings, &store).await {
        Ok(running) => running,
        Err(error) => {
            store.close().await?;
            return Err(error);
        }
    };
    announce(&running);
    let ready = json!({ "base_url": running.base_url(), "pid": std::process::id() });
    let written = args.ready_file.as_ref().map_or(Ok(()), |path| ready_file::write(path, &ready));
    if written.is_ok() {
        service_manager::ready();
        let signal = signals.next().await.name();
        tracing::info!(signal, connections = running.connections(), "shutting down");
        service_manager::stopping();
        // Before the port is closed: as long as the file is there, the server answers.
        withdraw(args.ready_file.as_deref());
    }
    tokio::select! {
        stopped = running.shutdown() => {
            let abandoned = stopped?.abandoned;
            tracing::info!(abandoned, "stopped");
        }
        second = signals.another() => exit_now(second.exit_code()),
    }
    written.map_err(|error| not_written(&error))
}

/// Begins to answer and to deliver.
async fn start(
    args: &Args,
    settings: Settings,
    store: &Arc<dyn Store>,
) -> Result<Running, CommandError> {
    // That of a server that runs stays: this one may be refused the port or the key yet.
    if let Some(Err(error)) = args.ready_file.as_deref().map(ready_file::clear_stale) {
        return Err(not_written(&error));
    }
    // At the start, not when the first secret is asked for: a key that cannot be read is found now.
    let vault = args.secret_key.vault_of(&args.database.database, store).await?;
    tracing::info!(server_key = %vault.key_id(), "signing secrets can be read");
    tell_of_unreached(store, &settings.client.policy).await?;
    settings.warnings().for_each(|warning| tracing::warn!("{warning}"));
    let metrics = Arc::clone(&settings.serving.metrics);
    let Settings { page_cache: _, serving, dashboard, delivery: options, mut client } = settings;
    // Each attempt to an endpoint finds the connection of an earlier one.
    let kept = usize::try_from(options.slots.per_endpoint).unwrap_or(usize::MAX);
    client.idle_per_host_max = client.idle_per_host_max.max(kept);
    let registrar = Registrar::new(vault.clone(), client.policy.clone());
    let carrier: Arc<dyn Carrier> = Arc::new(DeliveryClient::new(client));
    let address = dashboard.site.origin().map(str::to_owned);
    let dashboard = Arc::new(Dashboard::new(DashboardParts {
        store: Arc::clone(store),
        registrar,
        vault: vault.clone(),
        carrier: Arc::clone(&carrier),
        trusted_proxies: serving.public.trusted_proxies.clone(),
        clock: monotonic_clock(),
        now: system_clock(),
        options: DashboardOptions { test_timeout: options.timeout, ..dashboard },
    }));
    let with_dashboard =
        |router: axum::Router| router.merge(dashboard::router(&dashboard)).merge(front::router());
    let bound = Server::bind_with(serving, Arc::clone(store), with_dashboard).await;
    let running = bound.map_err(|error| {
        CommandError::of(Exit::LocalIo, &error)
            .hint("choose another address, or `--port 0` for any free port")
    })?;
    invite(&Admin::new(Arc::clone(store)), &address.unwrap_or_else(|| running.base_url())).await?;
    let window = options.schedule.window(options.timeout).as_secs();
    tracing::info!(retries = options.schedule.retries, window_seconds = window, "delivering");
    let deliveries = Deliveries::start(Equipment {
        store: Arc::clone(store),
        carrier,
        vault,
        clock: system_clock(),
        random: system_random(),
        options,
        metrics,
    });
    Ok(running.with_deliveries(deliveries))
}

/// Warns of endpoints that were added under another policy, which this server delivers nothing to.
async fn tell_of_unreached(
    store: &Arc<dyn Store>,
    policy: &EgressPolicy,
) -> Result<(), CommandError> {
    let is_unreached = |endpoint: &EndpointRecord| {
        let url = endpoint.url.parse::<EndpointUrl>();
        url.is_ok_and(|url| policy.check_url(&url).is_err())
    };
    let endpoints = store.enabled_endpoints().await?.into_iter().filter(is_unreached).count();
    if endpoints > 0 {
        tracing::warn!(
            endpoints,
            "endpoints are at addresses that deliveries do not reach: \
            `--profile dev` opens this machine, `--egress-allow` other addresses"
        );
    }
    Ok(())
}

fn announce(running: &Running) {
    let base_url = running.base_url();
    let addr = running.local_addr();
    tracing::info!(%addr, base_url, "listening");
    if is_remote(addr) {
        tracing::warn!(%addr, "other machines can reach this address, in the clear: keys and \
            answers are safe only behind a proxy that brings TLS");
    }
}

/// Removes the ready file. A server that cannot must stop all the same.
fn withdraw(ready_file: Option<&Path>) {
    if let Some(Err(error)) = ready_file.map(ready_file::clear_own) {
        let cause = error.source.to_string();
        tracing::warn!(%error, cause, "the ready file is left");
    }
}

fn not_written(error: &ReadyFileError) -> CommandError {
    CommandError::of(Exit::LocalIo, error).hint(match error.source.kind() {
        io::ErrorKind::InvalidData => "choose another path, or remove what is there yourself",
        _ => "check that its directory exists and can be written",
    })
}

#[expect(clippy::exit, reason = "whoever sends a second signal wants the process gone, not tidied")]
fn exit_now(code: u8) -> ! {
    std::process::exit(code.into())
}
