//! The dashboard at `/dashboard`: what a person does with the service in a browser. Plain pages and
//! forms; nothing in them runs, and nothing is fetched from elsewhere.
//!
//! | Question | File |
//! |---|---|
//! | which pages there are, and who may open them | `routes` |
//! | what every request passes first | `gate`, `site`, `cookie`, `token` |
//! | what a handler may ask for | `visit`, `pairs` |
//! | who may sign in, and how often they may try | `sign_in`, `welcome`, `account`, `password`, `limits`, `turns` |
//! | what goes back | `reply`, `refusal`, `policy`, `chrome`, `said`, `when`, `shell`, `templates/dashboard` |
//! | what each page does | `forms`, `submissions`, `channels`, `deliveries`, `keys` |
//!
//! A handler never sees what is another user's: it asks [`Visit`](visit::Visit) for the form, key,
//! endpoint or delivery that its path names, and gets "not found". What changes something is a POST that
//! carries the token of the browser's session, and is answered with the way to a page. A key and a
//! signing secret are shown once: on the page that answers the POST, so that they are in no address, no
//! cookie and no store. To reload that page is to make another one, of which browsers warn.

mod account;
mod channels;
mod chrome;
mod cookie;
mod deliveries;
mod forms;
mod gate;
mod keys;
mod limits;
mod link;
mod next;
mod options;
mod pairs;
mod password;
mod policy;
mod quoted;
mod refusal;
mod reply;
mod routes;
mod said;
mod shell;
mod sign_in;
mod site;
mod submissions;
mod token;
mod turns;
mod visit;
mod welcome;
mod when;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, get, post};
use formsvc_protocol::UserId;
use ipnet::IpNet;

use crate::admin::{Admin, Registrar};
use crate::delivery::Carrier;
use crate::keyed_semaphore::KeyedSemaphore;
use crate::rate_limit::MonotonicClock;
use crate::secrets::Vault;
use crate::store::{Clock, Store};
use limits::Limits;
use password::Passwords;
use submissions::Searches;

pub use link::{FirstLink, first_link};
pub use options::DashboardOptions;
pub use password::Hashing;
pub(crate) use quoted::quoted;
pub use routes::{Access, ROUTES, Route, Verb};
pub(crate) use shell::shell_word;
pub use site::{NotASite, Site};

/// What the paths begin with.
pub(crate) const PREFIX: &str = "/dashboard";

/// What the dashboard works with.
pub struct DashboardParts {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// What judges the addresses of endpoints.
    pub registrar: Registrar,
    /// What seals signing secrets.
    pub vault: Vault,
    /// What carries tests to endpoints, as it carries deliveries.
    pub carrier: Arc<dyn Carrier>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// What times the limits.
    pub clock: MonotonicClock,
    /// The time that pages tell others by.
    pub now: Clock,
    /// Options.
    pub options: DashboardOptions,
}

/// What the handlers share.
pub struct Dashboard {
    store: Arc<dyn Store>,
    admin: Admin,
    registrar: Registrar,
    vault: Vault,
    carrier: Arc<dyn Carrier>,
    trusted_proxies: Vec<IpNet>,
    now: Clock,
    options: DashboardOptions,
    passwords: Passwords,
    limits: Limits,
    searches: Searches,
    heavy_requests: KeyedSemaphore<UserId>,
}

impl Dashboard {
    /// The dashboard of a store.
    pub fn new(parts: DashboardParts) -> Self {
        Self {
            admin: Admin::new(Arc::clone(&parts.store)),
            store: parts.store,
            registrar: parts.registrar,
            vault: parts.vault,
            carrier: parts.carrier,
            trusted_proxies: parts.trusted_proxies,
            now: parts.now,
            passwords: Passwords::new(parts.options.hashing.clone()),
            limits: Limits::new(&parts.clock),
            searches: Searches::default(),
            heavy_requests: KeyedSemaphore::new(gate::HEAVY_AT_A_TIME),
            options: parts.options,
        }
    }
}

impl std::fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dashboard").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The routes under `/dashboard`.
pub fn router(dashboard: &Arc<Dashboard>) -> Router {
    let mut router = Router::new();
    for route in ROUTES.iter().chain(routes::FALLBACKS) {
        let dashboard = Arc::clone(dashboard);
        let handle = move |request: Request| gate::answer(dashboard, route, request);
        let method: MethodRouter = match route.verb {
            Verb::Get => get(handle),
            Verb::Post => post(handle),
            Verb::Any => axum::routing::any(handle),
        };
        router = router.route(route.path, method);
    }
    router
}
