//! `/dashboard/account`: one's password, and where one is signed in.

use askama::Template;
use http::{HeaderValue, StatusCode, header};
use secrecy::SecretString;

use super::chrome::{Chrome, Section};
use super::password;
use super::refusal::{Refusal, seconds};
use super::reply::{self, Outcome};
use super::visit::{Visit, timely};

#[derive(Template)]
#[template(path = "dashboard/account.html")]
struct AccountPage<'a> {
    chrome: &'a Chrome,
    name: &'a str,
    email: &'a str,
    old: Option<String>,
    new: Option<&'static str>,
    again: Option<&'static str>,
}

fn page(visit: &Visit) -> Result<(Chrome, &str, &str), Refusal> {
    let user = visit.user()?;
    Ok((visit.chrome(Section::Account), &user.name, &user.email))
}

pub(super) async fn show(visit: &Visit) -> Outcome {
    let (chrome, name, email) = page(visit)?;
    let (old, new, again) = (None, None, None);
    reply::page(&AccountPage { chrome: &chrome, name, email, old, new, again })
}

pub(super) async fn change_password(visit: &Visit) -> Outcome {
    let dashboard = &visit.dashboard;
    let (chrome, name, email) = page(visit)?;
    let typed = visit.posted.get("password");
    let new = password::flaw(typed);
    let again = (new.is_none() && typed != visit.posted.get("again"))
        .then_some("This is not what you typed above.");
    let refuse = |status, old| {
        reply::page_with(status, &AccountPage { chrome: &chrome, name, email, old, new, again })
    };
    if new.is_some() || again.is_some() {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, None);
    }
    // Whoever found the browser open should not get to try passwords either.
    let admitted = dashboard.limits.admit_from(visit.network);
    let admitted = admitted.and_then(|()| dashboard.limits.admit_at(email, visit.network, true));
    if let Err(wait) = admitted {
        let told = format!("Too many tries. Wait {}, then try again.", seconds(wait));
        let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, Some(told))?;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
        return Ok(response);
    }
    let found = timely(dashboard.store.credentials(email)).await?;
    let stored = found.as_ref().and_then(|found| found.password.as_ref());
    let old = visit.posted.get("old");
    let old = SecretString::from(if old.len() > password::BYTES_MAX { "" } else { old }.to_owned());
    if !dashboard.passwords.verify(old, stored).await? {
        let told = "This is not your password.".to_owned();
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, Some(told));
    }
    let user = visit.user()?;
    let hash = dashboard.passwords.hash(SecretString::from(typed.to_owned())).await?;
    // Ends every session, this one too: a new one begins.
    timely(dashboard.store.set_password(&user.id, hash.clone())).await?;
    visit.begin_session(user, Some(hash), reply::redirect("/dashboard/account?said=password")).await
}

pub(super) async fn end_others(visit: &Visit) -> Outcome {
    let member = visit.member.as_ref().ok_or(Refusal::NotFound)?;
    let kept = Some(member.session.hash());
    timely(visit.dashboard.store.end_sessions(&member.user.id, kept)).await?;
    Ok(reply::redirect("/dashboard/account?said=others"))
}
