//! The responses of the mock service, from its state and a request. No I/O.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::limits::{FORMS_LISTED_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use formsvc_protocol::paths::SUBMISSIONS;
use formsvc_protocol::{Cursor, ErrorBody, ErrorCode, FormInstant, FormList, Page, Pagination};
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use super::service::{MockService, SeenRequest, State, StoredForm};

/// Returns an error of the service; `message` replaces the usual one.
pub(super) fn error(
    code: ErrorCode,
    message: Option<String>,
    retry_after: Option<Duration>,
) -> Response<Bytes> {
    let meaning = code.info().map_or("It failed.", |info| info.meaning);
    let status = code.info().and_then(|info| StatusCode::from_u16(info.status).ok());
    let usual = (code == ErrorCode::Unavailable).then_some(Duration::from_secs(1));
    let mut response = json(&ErrorBody::new(code, message.unwrap_or_else(|| meaning.to_owned())));
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_REQUEST);
    if let Some(wait) = retry_after.or(usual) {
        // Whole seconds, and at least one (SPEC §7).
        let seconds = wait.as_secs_f64().ceil().max(1.0);
        let value = format!("{seconds:.0}").parse().expect("digits are a valid value");
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

fn json(value: &impl Serialize) -> Response<Bytes> {
    let text = serde_json::to_vec(value).expect("the wire's types can be written as JSON");
    Response::new(Bytes::from(text))
}

/// Returns the response to a request. The checks have the order of the real service: key,
/// parameters, form.
pub(super) fn respond(state: &State, seen: &SeenRequest, headers: &HeaderMap) -> Response<Bytes> {
    if let Err(code) = authorize(headers) {
        return error(code, None, None);
    }
    match seen.operation {
        "me" => json(&state.user),
        "forms.list" => {
            let forms = state.forms.iter().rev().take(FORMS_LISTED_MAX);
            json(&FormList { data: forms.map(|stored| stored.form.clone()).collect() })
        }
        name if name == SUBMISSIONS.operation => {
            let of_path = |stored: &&StoredForm| Some(&stored.form.id) == seen.form.as_ref();
            match (parameters(seen), state.forms.iter().find(of_path)) {
                (Err(message), _) => error(ErrorCode::BadRequest, Some(message), None),
                (_, None) => error(ErrorCode::FormNotFound, None, None),
                (Ok((limit, before)), Some(form)) => page(form, limit, before),
            }
        }
        _ => error(ErrorCode::NotFound, None, None),
    }
}

fn authorize(headers: &HeaderMap) -> Result<(), ErrorCode> {
    let value = headers.get(AUTHORIZATION).ok_or(ErrorCode::MissingAuthorization)?;
    let key = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    if key == Some(MockService::API_KEY) { Ok(()) } else { Err(ErrorCode::InvalidKey) }
}

/// Returns the number of rows and the instant they must be older than.
fn parameters(seen: &SeenRequest) -> Result<(usize, i64), String> {
    let limit = match &seen.limit {
        None => Some(PAGE_SIZE_DEFAULT),
        Some(text) => text.parse().ok().filter(|limit| (1..=PAGE_SIZE_MAX).contains(limit)),
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).ok_or_else(|| {
        let text = seen.limit.as_deref().unwrap_or_default();
        format!("limit is `{text}`, not an integer in 1..={PAGE_SIZE_MAX}")
    })?;
    let cursor = seen.cursor.as_ref().map(Cursor::as_str).map(FormInstant::parse_cursor);
    let cursor = cursor.transpose().map_err(|error| format!("cursor: {error}"))?;
    Ok((limit, cursor.map_or(i64::MAX, FormInstant::micros)))
}

fn page(form: &StoredForm, limit: usize, before: i64) -> Response<Bytes> {
    let mut older = form.rows.range(..before).rev();
    let page: Vec<_> = older.by_ref().take(limit).collect();
    let has_more = older.next().is_some();
    let next_cursor = page.last().map(|(at, _)| FormInstant::from_micros(**at).to_cursor());
    let data = page.into_iter().map(|(_, row)| row.clone()).collect();
    json(&Page { data, pagination: Pagination { next_cursor, has_more } })
}
