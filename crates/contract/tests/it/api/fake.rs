//! A small service with the specified behaviour, and one fault of a table.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use formsvc_protocol::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use url::Url;

use super::{FOREIGN_FORM, KEY, REVOKED_KEY};

/// Submissions of the newest form.
const ROWS: usize = 130;
/// Time until the rate limit admits requests again.
const WINDOW: Duration = Duration::from_secs(1);

/// A running service; ends when it is dropped.
pub(super) struct Fake {
    pub(super) url: Url,
    state: Arc<Fault>,
    serving: AbortHandle,
}

/// The fault, and the state of the rate limit.
struct Fault {
    /// The id of the check that it makes fail; empty without a fault.
    name: &'static str,
    count: Mutex<(usize, Option<Instant>)>,
}

impl Fake {
    pub(super) async fn start(fault: &'static str) -> Self {
        let state = Arc::new(Fault { name: fault, count: Mutex::default() });
        let router = Router::new()
            .route("/api/v1/me", get(me))
            .route("/api/v1/forms", get(forms))
            .route("/api/v1/forms/{form}/submissions", get(submissions))
            .with_state(Arc::clone(&state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, state, serving: serving.abort_handle() }
    }

    /// Requests with the valid key.
    pub(super) fn requests(&self) -> usize {
        self.state.count.lock().unwrap().0
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Shared = State<Arc<Fault>>;

async fn me(State(fault): Shared, headers: HeaderMap) -> Response {
    if let Err(refused) = fault.admit(&headers, "me") {
        return refused;
    }
    let name = if fault.is("user-fields") { json!(7) } else { json!("Ada") };
    let user = json!({"id": "usr_1", "email": "ada@example.org", "name": name});
    if fault.is("me") {
        return answer(&json!([user]));
    }
    if fault.is("content-type") {
        return ([(header::CONTENT_TYPE, "text/html")], user.to_string()).into_response();
    }
    answer(&user)
}

async fn forms(State(fault): Shared, headers: HeaderMap) -> Response {
    if !fault.is("authorization-everywhere")
        && let Err(refused) = fault.admit(&headers, "forms")
    {
        return refused;
    }
    let count = if fault.is("forms-count") { 201 } else { 2 };
    let mut forms: Vec<Value> = (0..count).map(|at| fault.form(at)).collect();
    if fault.is("forms-order") {
        forms.reverse();
    }
    let member = if fault.is("forms") { "forms" } else { "data" };
    answer(&json!({member: forms}))
}

async fn submissions(
    State(fault): Shared,
    headers: HeaderMap,
    Path(form): Path<String>,
    Query(query): Query<std::collections::HashMap<String, String>>,
) -> Response {
    if let Err(refused) = fault.admit(&headers, "submissions") {
        return refused;
    }
    if fault.breaks(&query) {
        return fault.refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal");
    }
    let is_shown = form == FOREIGN_FORM && fault.is("foreign-form");
    if !is_shown && ![fault.form_id(0), fault.form_id(1)].contains(&form) {
        if fault.is("unknown-form") && form != FOREIGN_FORM {
            return fault.refuse(StatusCode::FORBIDDEN, "forbidden");
        }
        return fault.refuse(StatusCode::NOT_FOUND, "form_not_found");
    }
    let bad_request = || {
        let code = if fault.is("bad-request") { "invalid_limit" } else { "bad_request" };
        fault.refuse(StatusCode::BAD_REQUEST, code)
    };
    let default = if fault.is("limit-default") { 20 } else { 25 };
    let max = if fault.is("limit-maximum") { 50 } else { 100 };
    let limit = query.get("limit").map_or(Ok(default), |limit| limit.parse());
    let limit = match limit {
        Ok(101) if fault.is("limit-above-maximum") => 101,
        Ok(1) if fault.is("limit") => 2,
        Ok(limit) if (1..=max).contains(&limit) => limit,
        _ => return bad_request(),
    };
    let cursor = match query.get("cursor").map(|cursor| fault.read_cursor(cursor)) {
        Some(None) => return bad_request(),
        Some(cursor) => cursor,
        None => None,
    };
    answer(&fault.page(limit, cursor.as_ref(), query.get("cursor")))
}

impl Fault {
    fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether the fault is `500 <parameter>`, and the query has that parameter or that value of it.
    fn breaks(&self, query: &std::collections::HashMap<String, String>) -> bool {
        let Some(parameter) = self.name.strip_prefix("500 ") else { return false };
        query
            .iter()
            .any(|(name, value)| parameter == name || parameter == format!("{name}={value}"))
    }

    fn form_id(&self, at: usize) -> String {
        match at {
            0 if self.is("odd ids") => "..".to_owned(),
            at if self.is("odd ids") => format!("q7/{at}=\n? é"),
            at => format!("frm_{at}"),
        }
    }

    fn form(&self, at: usize) -> Value {
        let time = time(1_000_000 - at);
        let created_at =
            if self.is("form-times") { time.replace(".000Z", "Z") } else { time.clone() };
        let host = if self.is("form-url") { "https://forms.example" } else { "" };
        let mut form = json!({
            "id": self.form_id(at), "public_id": format!("p{at}"), "title": "Contact",
            "status": "published", "created_at": created_at, "updated_at": time,
            "url": format!("{host}/f/p{at}"),
        });
        if self.is("form-fields") {
            form.as_object_mut().unwrap().remove("title");
        }
        form
    }

    fn row(&self, at: usize) -> Value {
        let time = time(900_000 - at);
        let created_at =
            if self.is("submission-times") { time.replace('Z', "+00:00") } else { time };
        let data =
            if self.is("submission-fields") { json!(["Ada"]) } else { json!({"Name": "Ada"}) };
        json!({"id": format!("sub_{at}"), "data": data, "created_at": created_at})
    }

    fn page(&self, limit: usize, cursor: Option<&Timestamp>, given: Option<&String>) -> Value {
        let is_older = |at: &usize| {
            let time: Timestamp = time(900_000 - at).parse().unwrap();
            cursor.is_none_or(|cursor| time < *cursor)
        };
        let mut older = (0..ROWS).filter(is_older);
        // Loses a submission after the first page.
        if cursor.is_some()
            && (self.is("cursor") && limit == 2 || self.is("same-list") && limit == 100)
        {
            older.next();
        }
        let first = match (self.name, limit, cursor) {
            // Repeats the last one of the first page.
            ("repeats", 100, Some(_)) => Some(99),
            _ => None,
        };
        let limit = if self.is("three for two") && limit == 2 { 3 } else { limit };
        let mut older = first.into_iter().chain(older);
        let mut rows: Vec<Value> = older.by_ref().take(limit).map(|at| self.row(at)).collect();
        let mut has_more = json!(older.next().is_some());
        if self.is("has-more") && limit == 2 {
            has_more = json!(false);
        }
        let last = rows.last().map(|row| row["created_at"].as_str().unwrap().to_owned());
        let mut next_cursor = json!(last);
        if self.is("cursor-time") {
            next_cursor = json!(last.map(hex::encode));
        }
        if self.is("list-end") && limit == 100 {
            has_more = json!(true);
            next_cursor = if next_cursor.is_null() { json!(given) } else { next_cursor };
        }
        if self.is("pagination-fields") {
            has_more = json!(has_more.to_string());
        }
        if self.is("submissions-order") && rows.len() > 50 {
            rows.swap(40, 41);
        }
        let member = if self.is("submissions") { "paging" } else { "pagination" };
        json!({"data": rows, member: {"next_cursor": next_cursor, "has_more": has_more}})
    }

    fn read_cursor(&self, cursor: &str) -> Option<Timestamp> {
        if self.is("cursor-time") {
            return String::from_utf8(hex::decode(cursor).ok()?).ok()?.parse().ok();
        }
        cursor.parse().ok()
    }

    #[expect(clippy::result_large_err, reason = "an answer in a test")]
    fn admit(&self, headers: &HeaderMap, path: &str) -> Result<(), Response> {
        let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap());
        let key = authorization.and_then(|value| value.strip_prefix("Bearer "));
        match key {
            Some(KEY) => self.count(),
            None if self.is("missing-authorization") && path == "me" => {
                Err(self.refuse(StatusCode::UNAUTHORIZED, "unauthorized"))
            }
            None => Err(self.refuse(StatusCode::UNAUTHORIZED, "missing_authorization")),
            Some(REVOKED_KEY) if !self.is("key-revoked") => {
                Err(self.refuse(StatusCode::UNAUTHORIZED, "key_revoked"))
            }
            Some(_) if self.is("invalid-key") => {
                Err(self.refuse(StatusCode::FORBIDDEN, "invalid_key"))
            }
            Some(_) => Err(self.refuse(StatusCode::UNAUTHORIZED, "invalid_key")),
        }
    }

    /// Admits 300 requests, then none until the end of the window.
    #[expect(clippy::result_large_err, reason = "an answer in a test")]
    fn count(&self) -> Result<(), Response> {
        let mut count = self.count.lock().unwrap();
        let is_over = count.1.is_some_and(|refused| refused.elapsed() >= WINDOW);
        if is_over && !self.is("retry-after-wait") {
            *count = (0, None);
        }
        if count.0 < if self.is("rate-quota") { 200 } else { 300 } {
            count.0 += 1;
            return Ok(());
        }
        count.1.get_or_insert_with(Instant::now);
        let code = if self.is("rate-limit") { "slow_down" } else { "rate_limited" };
        let mut refused = self.refuse(StatusCode::TOO_MANY_REQUESTS, code);
        let date = "Fri, 31 Dec 2027 23:59:59 GMT";
        let wait = if self.is("retry-after") { date } else { "1" };
        refused.headers_mut().insert(header::RETRY_AFTER, wait.parse().unwrap());
        Err(refused)
    }

    fn refuse(&self, status: StatusCode, code: &str) -> Response {
        let mut error = json!({"code": code, "message": "refused"});
        if self.is("error-shape") {
            error.as_object_mut().unwrap().remove("message");
        }
        (status, answer(&json!({"error": error}))).into_response()
    }
}

/// 2026-01-01 and so many seconds.
fn time(seconds: usize) -> String {
    let nanos = (1_767_225_600 + i128::try_from(seconds).unwrap()) * 1_000_000_000;
    Timestamp::from_unix_nanos(nanos).unwrap().to_string()
}

fn answer(json: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response()
}
