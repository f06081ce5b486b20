//! The service.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::limits::RATE_WINDOW;
use formsvc_protocol::paths::{ENDPOINTS, REQUEST_ID};
use formsvc_protocol::{Cursor, Form, FormId, RollingWindow, Submission, User};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::time::{Instant, sleep};
use url::form_urlencoded::parse;

use super::Fault;
use super::forms::StoredForm;
use super::respond::{Refusal, respond};
use crate::{
    AttemptContext, BoxFuture, Client, ClientBuilder, RateLimit, RetryPolicy, Transport,
    TransportError, TransportErrorKind,
};

/// A service in memory; see the [module](super). Clones are handles on the same service.
///
/// Without settings it has a user, no forms, and takes the key [`API_KEY`](Self::API_KEY).
#[derive(Clone)]
pub struct MockService {
    state: Arc<Mutex<State>>,
}

/// What a service holds.
pub(super) struct State {
    pub(super) user: User,
    /// Keys, and whether they were revoked.
    pub(super) keys: Vec<(String, bool)>,
    /// Oldest first.
    pub(super) forms: Vec<StoredForm>,
    pub(super) limit: Option<RollingWindow>,
    faults: VecDeque<Fault>,
    seen: Vec<SeenRequest>,
    started: Instant,
}

/// A request that reached the service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// The operation, such as `submissions.list`; `unknown` for a path that is none's.
    pub operation: &'static str,
    /// Which attempt of its call it was, from 1.
    pub attempt: u32,
    /// The form asked for.
    pub form: Option<FormId>,
    /// The parameter `limit`.
    pub limit: Option<String>,
    /// The parameter `cursor`.
    pub cursor: Option<Cursor>,
    /// The headers, without `Authorization`.
    pub headers: HeaderMap,
}

impl MockService {
    /// The key that every mock takes, unless it is [revoked](Self::revoke).
    pub const API_KEY: &'static str = "fsk_mock00000000000000000000000000000000000000000";

    /// A service without forms.
    pub fn new() -> Self {
        let user = User::new("usr_1".parse().expect("an id"), "ada@example.org", "Ada");
        let state = State {
            user,
            keys: vec![(Self::API_KEY.to_owned(), false)],
            forms: Vec::new(),
            limit: None,
            faults: VecDeque::new(),
            seen: Vec::new(),
            started: Instant::now(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The owner of every key.
    #[must_use]
    pub fn user(self, user: User) -> Self {
        self.state().user = user;
        self
    }

    /// One more key that is taken.
    #[must_use]
    pub fn api_key(self, key: &str) -> Self {
        self.state().keys.push((key.to_owned(), false));
        self
    }

    /// One more form, the newest.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        self.state().forms.push(StoredForm::new(form));
        self
    }

    /// Submissions of a form, in any order; of those with the same time, the one that stands first
    /// is the newest. Panics when there is no such form.
    #[must_use]
    pub fn submissions(self, form: &str, rows: impl IntoIterator<Item = Submission>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        for row in rows.into_iter().rev() {
            self.submit(form, row);
        }
        self
    }

    /// Answers with 429 beyond so many requests in any minute (SPEC §8), counted on tokio's clock.
    /// Without this there is no limit.
    #[must_use]
    pub fn rate_limit(self, per_minute: NonZeroU32) -> Self {
        self.state().limit = Some(RollingWindow::new(per_minute, RATE_WINDOW));
        self
    }

    /// A submission is made, as from now. Panics when there is no such form.
    pub fn submit(&self, form: &str, row: Submission) {
        let mut state = self.state();
        let stored = state.forms.iter_mut().find(|stored| stored.form.id.as_str() == form);
        stored.unwrap_or_else(|| panic!("the mock has no form `{form}`")).add(row);
    }

    /// A key is revoked. Panics when it is not known.
    pub fn revoke(&self, key: &str) {
        let mut state = self.state();
        let known = state.keys.iter_mut().find(|(known, _)| known == key);
        known.expect("the mock knows the key").1 = true;
    }

    /// The next request meets this; called again, the one after it. Faults of pages are kept until
    /// submissions are asked for.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// The requests so far, those that met a fault included.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state().seen.clone()
    }

    /// A client of this service. It retries without pauses, and does not limit itself.
    pub fn client(&self) -> Client {
        self.client_builder().build().expect("the settings are right")
    }

    /// The settings of [`client`](Self::client), to be changed.
    pub fn client_builder(&self) -> ClientBuilder {
        let retry = RetryPolicy::standard()
            .base_delay(Duration::ZERO)
            .throttle_base_delay(Duration::ZERO)
            .budget(None);
        Client::builder()
            .base_url("https://forms.example")
            .api_key(Self::API_KEY.into())
            .retry(retry)
            .rate_limit(RateLimit::off())
            .transport(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere may still want to look.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request and decides; the caller waits, or fails, as told.
    fn take(&self, request: &Request<Bytes>, attempt: u32) -> (Option<Fault>, Response<Bytes>) {
        let mut state = self.state();
        let seen = SeenRequest::of(request, attempt);
        let fault = state.take_fault(&seen);
        let mut response = match &fault {
            Some(Fault::Error(code)) => Refusal::of(code.clone()).into_response(),
            Some(Fault::RateLimited(wait)) => Refusal::rate_limited(*wait).into_response(),
            Some(Fault::Status(status, body)) => {
                let mut response = Response::new(Bytes::from(body.clone()));
                *response.status_mut() = *status;
                response
            }
            Some(Fault::Unreachable | Fault::Disconnected | Fault::Silent) => Response::default(),
            _ => {
                let now = state.started.elapsed();
                let good = respond(&mut state, &seen, request.headers(), fault.as_ref(), now);
                good.unwrap_or_else(Refusal::into_response)
            }
        };
        if fault == Some(Fault::Truncated) {
            let half = response.body().len() / 2;
            response.body_mut().truncate(half);
        }
        state.seen.push(seen);
        let id = HeaderValue::try_from(format!("req_{}", state.seen.len())).expect("digits");
        response.headers_mut().insert(REQUEST_ID, id);
        (fault, response)
    }
}

impl State {
    /// The fault this request meets. Those of pages wait for a request of pages.
    fn take_fault(&mut self, seen: &SeenRequest) -> Option<Fault> {
        let next = self.faults.front()?;
        if next.is_of_pages() && seen.form.is_none() { None } else { self.faults.pop_front() }
    }
}

impl Default for MockService {
    fn default() -> Self {
        Self::new()
    }
}

impl Fault {
    fn is_of_pages(&self) -> bool {
        matches!(self, Self::EmptyPage | Self::StuckCursor | Self::RepeatedRow)
    }
}

impl SeenRequest {
    fn of(request: &Request<Bytes>, attempt: u32) -> Self {
        let path = request.uri().path();
        // A base address may have a path of its own.
        let path = path.find("/api/").map_or(path, |at| &path[at..]);
        let found = ENDPOINTS.iter().find_map(|endpoint| match endpoint.around_form_id() {
            None => (path == endpoint.template).then_some((endpoint.operation, None)),
            Some((before, after)) => {
                let id = path.strip_prefix(before)?.strip_suffix(after)?;
                let (id, _) = parse(id.as_bytes()).next()?;
                Some((endpoint.operation, Some(FormId::new(&id).ok()?)))
            }
        });
        let (operation, form) = found.unwrap_or(("unknown", None));
        let query = request.uri().query().unwrap_or_default();
        let parameter = |wanted| {
            let mut pairs = parse(query.as_bytes());
            pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        let mut headers = request.headers().clone();
        headers.remove(AUTHORIZATION);
        let (limit, cursor) = (parameter("limit"), parameter("cursor").map(Cursor::new));
        Self { operation, attempt, form, limit, cursor, headers }
    }
}

impl Transport for MockService {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (fault, response) = self.take(&request, context.attempt());
            let fails = |kind| Err(TransportError::new(kind, "a fault of the mock"));
            match fault {
                Some(Fault::Unreachable) => fails(TransportErrorKind::Connect),
                Some(Fault::Disconnected) => fails(TransportErrorKind::Interrupted),
                Some(Fault::Silent) => std::future::pending().await,
                Some(Fault::Slow(wait)) => {
                    sleep(wait).await;
                    Ok(response)
                }
                _ => Ok(response),
            }
        })
    }
}

impl fmt::Debug for MockService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("MockService")
            .field("forms", &state.forms.len())
            .field("faults", &state.faults)
            .field("requests", &state.seen.len())
            .finish_non_exhaustive()
    }
}
