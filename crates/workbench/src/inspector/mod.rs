//! The inspector: a web page, served on 127.0.0.1, that lists deliveries, explains their signatures and replays
//! them.
//!
//! A request must name a loopback address and contain the token of the page: see the module `access`. Deliveries have
//! the JSON of [`crate::record`].

mod access;
mod assets;
mod detail;
mod list;
mod live;
mod replay;
mod reply;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use formsvc_contract::send::{HttpSender, HttpSenderError};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::access::Access;
use self::reply::Problem;
use crate::delivery::Delivery;
use crate::forward::{Forwarder, sender_for_entered_address};
use crate::mask;
use crate::secrets::SigningSecrets;
use crate::store::CaptureStore;
use crate::verdict::VERDICTS;

/// Maximum request body, in bytes: a body of 1 MiB needs up to 6 MiB as an escaped JSON string.
const MAX_BODY: usize = 8 << 20;
/// Maximum number of open streams of live changes.
const MAX_STREAMS: usize = 16;

/// The data that the page displays, and the settings of replays.
pub struct InspectorState {
    pub store: CaptureStore,
    /// Channel that publishes each delivery when it is stored and again when it is answered. `None` without a
    /// listener: then the inspector finds changes by reading the store.
    pub live: Option<broadcast::Sender<Arc<Delivery>>>,
    pub secrets: SigningSecrets,
    /// Sends replays to the targets and the listener. Replays to addresses that are entered on the page do not use
    /// the headers and TLS settings of this sender.
    pub sender: HttpSender,
    /// The forwarder of the listener. The page lists its targets.
    pub forwarder: Option<Arc<Forwarder>>,
    /// The listener's URL; `None` without a listener.
    pub listener: Option<Url>,
    /// If true, the page displays signatures and credentials without masks.
    pub reveal: bool,
}

/// A running inspector. Dropping it closes all connections.
#[derive(Debug)]
pub struct Inspector {
    url: String,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// The inspector cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum InspectorError {
    #[error("cannot serve the inspector at 127.0.0.1:{port}")]
    Port { port: u16, source: io::Error },
    #[error("the system has no random numbers for the inspector's token")]
    Random(#[from] getrandom::Error),
    #[error(transparent)]
    Sender(#[from] HttpSenderError),
}

/// State shared by all request handlers.
struct Shared {
    state: InspectorState,
    access: Access,
    /// Sends replays to addresses that are entered on the page.
    plain: HttpSender,
    streams: Arc<Semaphore>,
    /// Has one permit: only one explanation is searched at a time, because a search may use a CPU for seconds.
    explanations: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Inspector {
    /// Serves the page at a port of 127.0.0.1. Port 0 chooses a free port. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`InspectorError::Port`] if another process has the port.
    pub fn start(port: u16, state: InspectorState) -> Result<Self, InspectorError> {
        let bound = bind(port).map_err(|source| InspectorError::Port { port, source });
        let (listener, port) = bound?;
        let shared = Arc::new(Shared::new(port, state)?);
        let (url, stop) = (shared.access.url(), shared.stop.clone());
        let serving = tokio::spawn(server::serve(listener, router(&shared), stop.clone()));
        Ok(Self { url, stop, serving })
    }

    /// Returns the URL of the page with its token, which gives access to the deliveries.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the inspector. Ends the streams of live changes at once; other responses have one second to complete.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // Ignore a panic of the server task: the task has ended either way.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Shared {
    fn new(port: u16, state: InspectorState) -> Result<Self, InspectorError> {
        Ok(Self {
            access: Access::new(port)?,
            plain: sender_for_entered_address(&state.sender)?,
            state,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            explanations: Arc::new(Semaphore::new(1)),
            stop: CancellationToken::new(),
        })
    }
}

fn bind(port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((TcpListener::from_std(listener)?, port))
}

fn router(shared: &Arc<Shared>) -> axum::Router {
    let at = |path: &str| shared.access.path_of(path);
    let mut router = axum::Router::new()
        .route(&at("api/about"), get(about))
        .route(&at("api/list"), get(list::list))
        .route(&at("api/events"), get(live::events))
        .route(&at("api/delivery"), get(detail::delivery))
        .route(&at("api/body"), get(detail::body))
        .route(&at("api/explain"), get(detail::explain))
        .route(&at("api/curl"), get(replay::curl))
        .route(&at("api/replay"), post(replay::replay));
    for asset in &assets::ASSETS {
        router = router.route(&at(asset.path), get(async || asset.response()));
    }
    router
        .fallback(async || Problem::not_found("there is no such page"))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(Arc::clone(shared), access::check))
        .with_state(Arc::clone(shared))
}

/// Returns settings that the page loads at startup: targets, verdicts, `can_sign`.
async fn about(State(shared): State<Arc<Shared>>) -> Response {
    let state = &shared.state;
    let targets = state.forwarder.iter().flat_map(|forwarder| forwarder.targets());
    let targets = targets.map(|target| mask::url(target.as_str(), state.reveal));
    let verdicts = VERDICTS.iter().map(
        |row| json!({ "name": row.name, "label": row.label(), "is_refusal": row.is_refusal() }),
    );
    reply::json(&json!({
        "listener": state.listener.as_ref().map(Url::as_str),
        // `null` if the store is in memory.
        "folder": state.store.folder().map(|folder| folder.display().to_string()),
        "targets": targets.collect::<Vec<_>>(),
        "can_sign": !state.secrets.is_empty(),
        "reveal": state.reveal,
        "verdicts": verdicts.collect::<Vec<_>>(),
    }))
}
