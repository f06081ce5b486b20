//! The responses of the mock service, from its state and a request. No I/O; the caller passes the
//! time.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::limits::{FORMS_LISTED_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use formsvc_protocol::paths::SUBMISSIONS;
use formsvc_protocol::{Cursor, ErrorBody, ErrorCode, FormInstant, FormList};
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use super::Fault;
use super::service::{SeenRequest, State};

/// An error response of the service (SPEC §7).
pub(super) struct ServiceError {
    code: ErrorCode,
    message: String,
    retry_after: Option<Duration>,
}

impl ServiceError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after: None }
    }

    pub(super) fn of(code: ErrorCode) -> Self {
        let message = code.info().map_or("It failed.", |info| info.meaning);
        let unavailable = code == ErrorCode::Unavailable;
        let retry_after = unavailable.then_some(Duration::from_secs(1));
        Self { code, message: message.to_owned(), retry_after }
    }

    pub(super) fn rate_limited(wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..Self::of(ErrorCode::RateLimited) }
    }

    pub(super) fn into_response(self) -> Response<Bytes> {
        let status = self.code.info().and_then(|info| StatusCode::from_u16(info.status).ok());
        let mut response = json(&ErrorBody::new(self.code, self.message));
        *response.status_mut() = status.unwrap_or(StatusCode::BAD_REQUEST);
        if let Some(wait) = self.retry_after {
            // Whole seconds, and at least one (SPEC §7).
            let seconds = wait.as_secs_f64().ceil().max(1.0);
            let value = format!("{seconds:.0}").parse().expect("digits can stand in a header");
            response.headers_mut().insert(RETRY_AFTER, value);
        }
        response
    }
}

fn json(value: &impl Serialize) -> Response<Bytes> {
    let text = serde_json::to_vec(value).expect("the wire's types can be written as JSON");
    Response::new(Bytes::from(text))
}

/// Returns the response to a request. The checks have the order of the real service: key, rate
/// limit, parameters, form. `fault` changes the page, and `now` counts from the start of the mock.
pub(super) fn respond(
    state: &mut State,
    seen: &SeenRequest,
    headers: &HeaderMap,
    fault: Option<&Fault>,
    now: Duration,
) -> Result<Response<Bytes>, ServiceError> {
    authorize(state, headers)?;
    if let Some(window) = &mut state.limit {
        window.try_acquire(now).map_err(ServiceError::rate_limited)?;
    }
    match seen.operation {
        "me" => Ok(json(&state.user)),
        "forms.list" => {
            let forms = state.forms.iter().rev().take(FORMS_LISTED_MAX);
            let data = forms.map(|stored| stored.form.clone()).collect();
            Ok(json(&FormList { data }))
        }
        name if name == SUBMISSIONS.operation => {
            let (limit, cursor) = parameters(seen)?;
            let form =
                state.forms.iter().find(|stored| Some(&stored.form.id) == seen.form.as_ref());
            let form = form.ok_or_else(|| ServiceError::of(ErrorCode::FormNotFound))?;
            let cursor = seen.cursor.as_ref().zip(cursor);
            Ok(json(&form.page(limit, cursor, fault)))
        }
        _ => Err(ServiceError::of(ErrorCode::NotFound)),
    }
}

fn authorize(state: &State, headers: &HeaderMap) -> Result<(), ServiceError> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(ServiceError::of(ErrorCode::MissingAuthorization));
    };
    let key = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    match key.and_then(|key| state.keys.iter().find(|(known, _)| known == key)) {
        None => Err(ServiceError::of(ErrorCode::InvalidKey)),
        Some((_, revoked)) if *revoked => Err(ServiceError::of(ErrorCode::KeyRevoked)),
        Some(_) => Ok(()),
    }
}

fn parameters(seen: &SeenRequest) -> Result<(usize, Option<FormInstant>), ServiceError> {
    let bad = |what: String| ServiceError::new(ErrorCode::BadRequest, what);
    let limit = match &seen.limit {
        None => Some(PAGE_SIZE_DEFAULT),
        Some(text) => text.parse().ok().filter(|limit| (1..=PAGE_SIZE_MAX).contains(limit)),
    };
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        let text = seen.limit.as_deref().unwrap_or_default();
        return Err(bad(format!("limit is `{text}`, not an integer in 1..={PAGE_SIZE_MAX}")));
    };
    let cursor = seen.cursor.as_ref().map(Cursor::as_str).map(FormInstant::parse_cursor);
    let cursor = cursor.transpose().map_err(|error| bad(format!("cursor: {error}")))?;
    Ok((limit, cursor))
}
