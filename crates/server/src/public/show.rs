//! `GET /f/{public_id}` and `GET /f/{public_id}/thanks`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::response::Response;
use formsvc_protocol::{ErrorCode, FormStatus};
use http::StatusCode;
use http::request::Parts;

use super::accept::{self, Reply};
use super::cors::Cors;
use super::page::{FormPage, NoticePage};
use super::{FORM, Public, THANKS, reply};
use crate::api::{Problem, Trail};
use crate::response_budget::{self, ResponseBudget, SMALL_MAX};

pub(super) async fn form(State(public): State<Arc<Public>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    answer(FORM, &parts, form_page(&public, &parts).await)
}

async fn form_page(public: &Public, parts: &Parts) -> Result<Response, Problem> {
    let found = public.form(parts).await?;
    if found.form.status != FormStatus::Published {
        return Err(closed());
    }
    let build = || {
        let page = FormPage::new(&found.form.title, &found.fields, new_page_id());
        let response = reply::page_to_go_back_to(StatusCode::OK, &page);
        found.page_bytes.store(response_budget::length(&response), Ordering::Relaxed);
        response
    };
    let budget = ResponseBudget::of(&parts.extensions);
    let expected = found.page_bytes.load(Ordering::Relaxed);
    if expected > SMALL_MAX {
        // A page of megabytes takes a thread for some time: it is built only to be sent.
        return budget.admit_later(None, expected, async { Ok(build()) }).await;
    }
    budget.admit(None, build(), async { Ok(build()) }).await
}

pub(super) async fn thanks(State(public): State<Arc<Public>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    answer(THANKS, &parts, thanks_page(&public, &parts).await)
}

async fn thanks_page(public: &Public, parts: &Parts) -> Result<Response, Problem> {
    let found = public.form(parts).await?;
    let text = format!("Your answers to “{}” were received.", found.form.title);
    let mut response = reply::page(StatusCode::OK, &NoticePage::new("Thank you", &text));
    // A page elsewhere that sends with a script is led here as well.
    let (cors, _) = Cors::judge(found.origins.as_deref(), &parts.headers);
    cors.apply(response.headers_mut());
    Ok(response)
}

/// 410 `form_closed`.
pub(super) fn closed() -> Problem {
    Problem::new(ErrorCode::FormClosed, "this form takes no submissions any more")
}

/// What tells this showing of a page from others; none when the system gives no randomness, so that a
/// form can be filled in all the same.
pub(super) fn new_page_id() -> Option<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(hex::encode(bits))
}

/// The response with its trail; a problem as the client wants it.
fn answer(route: &'static str, parts: &Parts, outcome: Result<Response, Problem>) -> Response {
    let trail = Trail::of(route);
    match outcome {
        Ok(response) => trail.on(response, None),
        Err(problem) => {
            let wanted = accept::reply(&parts.headers, Reply::Page);
            trail.on(reply::problem(wanted, &problem), problem.cause())
        }
    }
}
