//! The mock service.

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
use super::respond::{ServiceError, respond};
use crate::{
    AttemptContext, BoxFuture, Client, ClientBuilder, RateLimit, RetryPolicy, Transport,
    TransportError, TransportErrorKind,
};

/// A service in memory; see the [module](super). Clones are handles to the same service.
///
/// A new service has a user and no forms, and accepts the key [`API_KEY`](Self::API_KEY).
#[derive(Clone)]
pub struct MockService {
    state: Arc<Mutex<State>>,
}

/// The state of the service.
pub(super) struct State {
    pub(super) user: User,
    /// Keys; true if the key is revoked.
    pub(super) keys: Vec<(String, bool)>,
    /// Oldest first.
    pub(super) forms: Vec<StoredForm>,
    pub(super) limit: Option<RollingWindow>,
    faults: VecDeque<Fault>,
    seen: Vec<SeenRequest>,
    started: Instant,
}

/// A request that the service received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenRequest {
    /// The operation, such as `submissions.list`; `unknown` for another path.
    pub operation: &'static str,
    /// The number of the attempt in its call, from 1.
    pub attempt: u32,
    /// The form in the path.
    pub form: Option<FormId>,
    /// The parameter `limit`.
    pub limit: Option<String>,
    /// The parameter `cursor`.
    pub cursor: Option<Cursor>,
    /// The headers, without `Authorization`.
    pub headers: HeaderMap,
}

impl MockService {
    /// The key that every mock accepts, unless it is [revoked](Self::revoke).
    pub const API_KEY: &'static str = "fsk_mock00000000000000000000000000000000000000000";

    /// Creates a service without forms.
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

    /// Sets the owner of every key.
    #[must_use]
    pub fn user(self, user: User) -> Self {
        self.state().user = user;
        self
    }

    /// Adds a key.
    #[must_use]
    pub fn api_key(self, key: &str) -> Self {
        self.state().keys.push((key.to_owned(), false));
        self
    }

    /// Adds a form; it is the newest.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        self.state().forms.push(StoredForm::new(form));
        self
    }

    /// Adds submissions to a form, in any order; of those with the same time, the first one is the
    /// newest. Panics if the form does not exist.
    #[must_use]
    pub fn submissions(self, form: &str, rows: impl IntoIterator<Item = Submission>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        for row in rows.into_iter().rev() {
            self.submit(form, row);
        }
        self
    }

    /// Answers 429 to more requests than this in any minute (SPEC §8) of tokio's clock. Default: no
    /// limit. Panics if the limit is zero.
    #[must_use]
    pub fn rate_limit(self, per_minute: u32) -> Self {
        let limit = NonZeroU32::new(per_minute).expect("the limit is not zero");
        self.state().limit = Some(RollingWindow::new(limit, RATE_WINDOW));
        self
    }

    /// Adds a submission to a form. Panics if the form does not exist.
    pub fn submit(&self, form: &str, row: Submission) {
        let mut state = self.state();
        let stored = state.forms.iter_mut().find(|stored| stored.form.id.as_str() == form);
        stored.unwrap_or_else(|| panic!("the mock has no form `{form}`")).add(row);
    }

    /// Revokes a key. Panics if the key is unknown.
    pub fn revoke(&self, key: &str) {
        let mut state = self.state();
        let known = state.keys.iter_mut().find(|(known, _)| known == key);
        known.expect("the mock knows the key").1 = true;
    }

    /// Makes the next request fail; a second call is for the request after it. Faults of pages apply
    /// to the next request of submissions.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// Returns the requests so far, failed ones included.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state().seen.clone()
    }

    /// Creates a client of this service that retries without pauses and has no rate limit.
    pub fn client(&self) -> Client {
        self.client_builder().build().expect("the settings are valid")
    }

    /// Returns the builder of [`client`](Self::client), for other settings.
    pub fn client_builder(&self) -> ClientBuilder {
        let retry = RetryPolicy::standard()
            .base_delay(Duration::ZERO)
            .throttle_base_delay(Duration::ZERO)
            .budget(None);
        Client::builder()
            .base_url("https://forms.example")
            .api_key(Self::API_KEY)
            .retry(retry)
            .rate_limit(RateLimit::off())
            .transport(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A failed test may still inspect the service.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request and returns its fault and its answer.
    fn take(&self, request: &Request<Bytes>, attempt: u32) -> (Option<Fault>, Response<Bytes>) {
        let mut state = self.state();
        let seen = SeenRequest::of(request, attempt);
        let fault = state.take_fault(&seen);
        let mut response = match &fault {
            Some(Fault::Error(code)) => ServiceError::of(code.clone()).into_response(),
            Some(Fault::RateLimited(wait)) => ServiceError::rate_limited(*wait).into_response(),
            Some(Fault::Status(status, body)) => {
                let mut response = Response::new(Bytes::from(body.clone()));
                *response.status_mut() = *status;
                response
            }
            Some(Fault::Unreachable | Fault::Disconnected | Fault::Silent) => Response::default(),
            _ => {
                let now = state.started.elapsed();
                let response = respond(&mut state, &seen, request.headers(), fault.as_ref(), now);
                response.unwrap_or_else(ServiceError::into_response)
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
    /// Returns the fault of this request. Faults of pages are kept for a request of submissions.
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
        // The base URL may have a path.
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
            let fails = |kind| Err(TransportError::new(kind, "a fault of the mock service"));
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
