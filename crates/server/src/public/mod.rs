//! Public forms: the page at `/f/<public_id>` (SPEC §2), and what takes submissions there.
//!
//! | Question | File |
//! |---|---|
//! | which paths there are | here |
//! | what a visitor is shown | `show`, `page`, `templates/public` |
//! | what becomes of a submission | `submit` |
//! | what a body is, and how it is read | `media_type`, `body` |
//! | page or JSON | `accept`, `reply` |
//! | whose pages may send | `cors` |
//! | who sends, and may they now | `client`, `undeclared`, `limits` |
//! | what is a repeat | `idempotency` |
//! | which forms a sandbox has | `index` |
//! | what a form asks, without a look into the store | `known` |
//!
//! A submission is judged in this order: form, origin, whether the store takes writes, rate limit,
//! type and length, whether the form is open, answers. Nothing is read of a body before the rate limit
//! has let it pass.

mod accept;
mod body;
mod client;
mod cors;
mod idempotency;
mod index;
mod known;
mod limits;
mod media_type;
mod options;
mod page;
mod policy;
mod reply;
mod show;
mod submit;
mod undeclared;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use formsvc_protocol::{FormStatus, PublicId};
use http::request::Parts;

use crate::admin::parse_id;
use crate::api::{Problem, within_deadline};
use crate::metrics::Metrics;
use crate::percent::{Plus, decode};
use crate::rate_limit::MonotonicClock;
use crate::store::{Clock, Store};
use known::{KnownForm, KnownForms};
use limits::Limits;
use undeclared::Undeclared;

pub(crate) use client::{client_of, peer_of};
pub use cors::Origin;
pub use index::index;
pub use options::PublicOptions;
pub(crate) use page::{FieldView, Widget};

/// What the paths begin with.
pub(crate) const PREFIX: &str = "/f/";
const FORM: &str = "/f/{public_id}";
const THANKS: &str = "/f/{public_id}/thanks";

/// What the handlers share.
pub struct Public {
    store: Arc<dyn Store>,
    options: PublicOptions,
    known: KnownForms,
    limits: Limits,
    undeclared: Undeclared,
    now: Clock,
    metrics: Arc<Metrics>,
}

impl Public {
    /// The public forms of a store. The first clock times the limits, the second what robots are told.
    pub fn new(
        store: Arc<dyn Store>,
        options: PublicOptions,
        clock: MonotonicClock,
        now: Clock,
    ) -> Self {
        let undeclared = Undeclared::new(MonotonicClock::clone(&clock));
        let limits = Limits::new(&options, clock);
        let (known, metrics) = (KnownForms::default(), Metrics::new());
        Self { store, options, known, limits, undeclared, now, metrics }
    }

    /// Has refusals counted there, and not where nobody looks.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The form a path names, as it is now. A draft is no form yet; a closed one is found.
    async fn form(&self, parts: &Parts) -> Result<Arc<KnownForm>, Problem> {
        let id = public_id(parts.uri.path()).ok_or_else(no_such_form)?;
        self.read_form(&id).await
    }

    /// The form a path names, as it was when it was last read.
    async fn known_form(&self, parts: &Parts) -> Result<Arc<KnownForm>, Problem> {
        let id = public_id(parts.uri.path()).ok_or_else(no_such_form)?;
        match self.known.get(&id) {
            Some(known) => Ok(known),
            None => self.read_form(&id).await,
        }
    }

    async fn read_form(&self, id: &PublicId) -> Result<Arc<KnownForm>, Problem> {
        let found = within_deadline(self.store.public_form(id)).await?;
        if let Some(found) = found.filter(|found| found.form.status != FormStatus::Draft) {
            return self.known.keep(found);
        }
        self.known.forget(id);
        Err(no_such_form())
    }
}

impl std::fmt::Debug for Public {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Public").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The routes under `/f`.
pub fn router(public: Arc<Public>) -> Router {
    Router::new()
        .route(FORM, get(show::form).post(submit::post).options(submit::preflight))
        .route(THANKS, get(show::thanks))
        .with_state(public)
}

/// The id in a path: what its second segment decodes to.
fn public_id(path: &str) -> Option<PublicId> {
    let segment = path.split('/').nth(2)?;
    parse_id(&decode(segment, Plus::IsItself)?).ok()
}

fn no_such_form() -> Problem {
    Problem::new(formsvc_protocol::ErrorCode::FormNotFound, "there is no form at this address")
}
