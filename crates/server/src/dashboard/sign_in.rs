//! `/dashboard/sign-in` and `/dashboard/sign-out`.

use askama::Template;
use http::{HeaderValue, StatusCode, header};
use secrecy::SecretString;

use super::chrome::{Chrome, Section};
use super::cookie::Cookie;
use super::next::next;
use super::password::BYTES_MAX;
use super::refusal::{Refusal, seconds};
use super::reply::{self, Outcome};
use super::visit::{Visit, timely};
use crate::admin::is_email;

#[derive(Template)]
#[template(path = "dashboard/sign_in.html")]
struct SignInPage<'a> {
    chrome: &'a Chrome,
    email: &'a str,
    next: &'a str,
    problem: Option<String>,
}

pub(super) async fn show(visit: &Visit) -> Outcome {
    let next = next(visit.query.get("next"));
    if visit.member.is_some() {
        return Ok(reply::redirect(next));
    }
    let chrome = &visit.chrome(Section::Elsewhere);
    reply::page(&SignInPage { chrome, email: "", next, problem: None })
}

pub(super) async fn sign_in(visit: &Visit) -> Outcome {
    let dashboard = &visit.dashboard;
    let email = visit.posted.get("email").trim();
    if let Err(wait) = dashboard.limits.admit_from(visit.network) {
        return too_many(visit, wait);
    }
    let password = visit.posted.get("password");
    // Of what is no address the store is not asked: nobody has it.
    let found =
        if is_email(email) { timely(dashboard.store.credentials(email)).await? } else { None };
    if let Err(wait) = dashboard.limits.admit_at(email, visit.network, found.is_some()) {
        return too_many(visit, wait);
    }
    // The same for whom nobody knows and for whom there is no password: one hash, and one answer.
    let stored = found.as_ref().and_then(|found| found.password.as_ref());
    let typed =
        SecretString::from(if password.len() > BYTES_MAX { "" } else { password }.to_owned());
    let matches = dashboard.passwords.verify(typed, stored).await?;
    match found {
        Some(found) if matches => {
            let response = reply::redirect(next(visit.posted.get("next")));
            visit.begin_session(&found.user, found.password, response).await
        }
        _ => {
            let problem = "No account has this e-mail address and this password.".to_owned();
            again(visit, StatusCode::UNPROCESSABLE_ENTITY, problem)
        }
    }
}

fn too_many(visit: &Visit, wait: u64) -> Outcome {
    let problem = format!("Too many tries. Wait {}, then try again.", seconds(wait));
    let mut response = again(visit, StatusCode::TOO_MANY_REQUESTS, problem)?;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
    Ok(response)
}

fn again(visit: &Visit, status: StatusCode, problem: String) -> Outcome {
    let chrome = &visit.chrome(Section::Elsewhere);
    let (email, next) = (visit.posted.get("email").trim(), next(visit.posted.get("next")));
    reply::page_with(status, &SignInPage { chrome, email, next, problem: Some(problem) })
}

pub(super) async fn sign_out(visit: &Visit) -> Outcome {
    let member = visit.member.as_ref().ok_or(Refusal::NotFound)?;
    timely(visit.dashboard.store.end_session(&member.session.hash())).await?;
    let mut response = reply::redirect("/dashboard/sign-in?said=signed-out");
    let cookie = Cookie::Session.clear(visit.dashboard.options.site.is_https());
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}
