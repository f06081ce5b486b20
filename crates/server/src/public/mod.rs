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
//! | who sends, and may they now | `client`, `limits` |
//! | what is a repeat | `idempotency` |
//!
//! A submission is judged in this order: form, origin, whether the store takes writes, rate limit,
//! type and length, whether the form is open, answers. Nothing is read of a body before the rate limit
//! has let it pass.

mod accept;
mod body;
mod client;
mod cors;
mod idempotency;
mod limits;
mod media_type;
mod options;
mod page;
mod policy;
mod reply;
mod show;
mod submit;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use formsvc_protocol::{FormStatus, PublicId};
use http::request::Parts;

use crate::api::{Problem, text_cause, within_deadline};
use crate::fields::Fields;
use crate::metrics::Metrics;
use crate::percent::{Plus, decode};
use crate::rate_limit::MonotonicClock;
use crate::store::{Clock, PublicForm, Store};
use limits::Limits;

pub use cors::Origin;
pub use options::PublicOptions;

/// What the paths begin with.
pub(crate) const PREFIX: &str = "/f/";
const FORM: &str = "/f/{public_id}";
const THANKS: &str = "/f/{public_id}/thanks";

/// What the handlers share.
pub struct Public {
    store: Arc<dyn Store>,
    options: PublicOptions,
    limits: Limits,
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
        let limits = Limits::new(&options, clock);
        Self { store, options, limits, now, metrics: Metrics::new() }
    }

    /// Has refusals counted there, and not where nobody looks.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The form a path names. A draft is no form yet; a closed one is found.
    async fn form(&self, parts: &Parts) -> Result<PublicForm, Problem> {
        let id = public_id(parts.uri.path()).ok_or_else(no_such_form)?;
        let found = within_deadline(self.store.public_form(&id)).await?;
        found.filter(|found| found.form.status != FormStatus::Draft).ok_or_else(no_such_form)
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
    PublicId::new(&decode(segment, Plus::IsItself)?).ok()
}

fn no_such_form() -> Problem {
    Problem::new(formsvc_protocol::ErrorCode::FormNotFound, "there is no form at this address")
}

/// The fields of a form as they are kept, which were judged when they came.
fn fields_of(found: &PublicForm) -> Result<Fields, Problem> {
    let Some(json) = &found.fields else { return Ok(Fields::free()) };
    Fields::parse(json).map_err(|error| {
        let form = &found.form.id;
        Problem::internal(text_cause(format!("the fields of form `{form}`: {error}")))
    })
}
