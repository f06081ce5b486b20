//! The mock service.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use formsvc_protocol::paths::{ENDPOINTS, REQUEST_ID};
use formsvc_protocol::{Cursor, ErrorCode, Form, FormId, Submission, User};
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderMap, HeaderValue, Request, Response};
use percent_encoding::percent_decode_str;
use url::form_urlencoded::parse;

use super::Fault;
use super::respond::{error, respond};
use crate::transport::{AttemptContext, Sending, Transport, TransportError, TransportErrorKind};
use crate::{Client, ClientBuilder, RateLimit, RetryPolicy};

/// A service in memory; see the [module](super). Clones are handles to the same service.
///
/// A new service has a user and no forms, and accepts the key [`API_KEY`](Self::API_KEY).
#[derive(Clone, Debug)]
pub struct MockService {
    state: Arc<Mutex<State>>,
}

/// The state of the service.
#[derive(Debug)]
pub(super) struct State {
    pub(super) user: User,
    /// Oldest first.
    pub(super) forms: Vec<StoredForm>,
    faults: VecDeque<Fault>,
    seen: Vec<SeenRequest>,
    date: Option<SystemTime>,
}

/// A form and its submissions. Their key is `created_at` in microseconds, increased until it is unique.
#[derive(Debug)]
pub(super) struct StoredForm {
    pub(super) form: Form,
    pub(super) rows: BTreeMap<i64, Submission>,
    /// The first key that may be free for a time, so that many rows of one time take no quadratic time.
    next_keys: HashMap<i64, i64>,
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
    /// The only key that a mock accepts.
    pub const API_KEY: &'static str = "fsk_mock00000000000000000000000000000000000000000";

    /// Creates a service without forms.
    pub fn new() -> Self {
        let user = User::new("usr_1".parse().expect("an id"), "ada@example.org", "Ada");
        let (forms, faults, seen) = (Vec::new(), VecDeque::new(), Vec::new());
        let state = State { user, forms, faults, seen, date: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Sets the owner of the key.
    #[must_use]
    pub fn user(self, user: User) -> Self {
        self.state().user = user;
        self
    }

    /// Adds a form; it is the newest.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        self.state().forms.push(StoredForm {
            form,
            rows: BTreeMap::new(),
            next_keys: HashMap::new(),
        });
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

    /// Adds a submission to a form; it is newer than those with the same time. Panics if the form does
    /// not exist.
    pub fn submit(&self, form: &str, row: Submission) {
        let mut state = self.state();
        let stored = state.forms.iter_mut().find(|stored| stored.form.id.as_str() == form);
        let stored = stored.unwrap_or_else(|| panic!("the mock has no form `{form}`"));
        let time = row.created_at.unix_micros();
        let key = stored.next_keys.entry(time).or_insert(time);
        while stored.rows.contains_key(key) {
            *key += 1;
        }
        stored.rows.insert(*key, row);
    }

    /// Sets the `Date` of the following responses. A new service sends none.
    pub fn set_date(&self, date: SystemTime) {
        self.state().date = Some(date);
    }

    /// Adds a fault to the queue; each request takes the next one.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// Returns the requests so far, failed ones included.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state().seen.clone()
    }

    /// Creates a client of this service. It has no rate limit and no retry budget, and pauses before a
    /// retry only for `Retry-After`.
    pub fn client(&self) -> Client {
        self.client_builder().build().expect("the settings are valid")
    }

    /// Returns the builder of [`client`](Self::client), for other settings.
    pub fn client_builder(&self) -> ClientBuilder {
        let retry = RetryPolicy::standard().base_delay(Duration::ZERO).budget(None);
        Client::builder()
            .base_url("https://forms.example")
            .api_key(Self::API_KEY)
            .retry(retry)
            .rate_limit(RateLimit::off())
            .transport(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another thread of the test leaves the service usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request, takes the next fault and returns it with the response.
    fn take(&self, request: &Request<Bytes>, attempt: u32) -> (Option<Fault>, Response<Bytes>) {
        let mut state = self.state();
        let seen = SeenRequest::of(request, attempt);
        let fault = state.faults.pop_front();
        let mut response = match &fault {
            Some(Fault::Error(code)) => error(code.clone(), None, None),
            Some(Fault::RateLimited(wait)) => error(ErrorCode::RateLimited, None, Some(*wait)),
            Some(Fault::Status(status, body)) => {
                let mut response = Response::new(Bytes::from(body.clone()));
                *response.status_mut() = *status;
                response
            }
            Some(Fault::Unreachable | Fault::Disconnected | Fault::Silent) => Response::default(),
            None | Some(Fault::Truncated | Fault::Slow(_)) => {
                respond(&state, &seen, request.headers())
            }
        };
        if fault == Some(Fault::Truncated) {
            let half = response.body().len() / 2;
            response.body_mut().truncate(half);
        }
        state.seen.push(seen);
        let id = HeaderValue::try_from(format!("req_{}", state.seen.len())).expect("digits");
        response.headers_mut().insert(REQUEST_ID, id);
        if let Some(date) = state.date {
            let date = HeaderValue::try_from(httpdate::fmt_http_date(date)).expect("a date");
            response.headers_mut().insert(DATE, date);
        }
        (fault, response)
    }
}

impl Default for MockService {
    fn default() -> Self {
        Self::new()
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
                let id = percent_decode_str(id).decode_utf8().ok()?;
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
    fn send<'a>(&'a self, request: Request<Bytes>, context: &'a AttemptContext) -> Sending<'a> {
        Box::pin(async move {
            let (fault, response) = self.take(&request, context.attempt);
            let fails = |kind| Err(TransportError::new(kind, "a fault of the mock service"));
            match fault {
                Some(Fault::Unreachable) => fails(TransportErrorKind::Connect),
                Some(Fault::Disconnected) => fails(TransportErrorKind::Interrupted),
                Some(Fault::Silent) => std::future::pending().await,
                Some(Fault::Slow(delay)) => {
                    tokio::time::sleep(delay).await;
                    Ok(response)
                }
                _ => Ok(response),
            }
        })
    }
}
