//! `/dashboard/welcome/{token}`: a link that works once, and lets the first owner in, or whoever has no
//! password or forgot it. To open it uses nothing up: mail programs open links as well.

use askama::Template;
use formsvc_protocol::UserId;
use http::StatusCode;
use secrecy::SecretString;

use super::chrome::{Chrome, Section};
use super::password;
use super::refusal::Refusal;
use super::reply::{self, Outcome};
use super::token::Token;
use super::visit::{Visit, judged, timely};
use crate::admin::{AdminError, check_user, new_id};
use crate::store::{LinkRecord, Redemption, StoreError, TokenHash, UserRecord};

#[derive(Template)]
#[template(path = "dashboard/welcome.html")]
struct WelcomePage<'a> {
    chrome: &'a Chrome,
    path: String,
    /// Whose password it sets; none for the first owner.
    user: Option<&'a str>,
    name: &'a str,
    email: &'a str,
    problems: Problems,
}

/// What is wrong, by the input to mend it at.
#[derive(Default)]
struct Problems {
    name: Option<String>,
    email: Option<String>,
    password: Option<&'static str>,
    again: Option<&'static str>,
}

impl Problems {
    fn any(&self) -> bool {
        self.name.is_some()
            || self.email.is_some()
            || self.password.is_some()
            || self.again.is_some()
    }
}

/// The link of the path, while it can be used.
async fn link(visit: &Visit) -> Result<(TokenHash, LinkRecord), Refusal> {
    let token = Token::parse(visit.param("token")).ok_or(Refusal::LinkGone)?.hash();
    let found = timely(visit.dashboard.store.link(&token)).await?;
    Ok((token, found.ok_or(Refusal::LinkGone)?))
}

pub(super) async fn show(visit: &Visit) -> Outcome {
    let (_, link) = link(visit).await?;
    page(visit, &link, Problems::default())
}

fn page(visit: &Visit, link: &LinkRecord, problems: Problems) -> Outcome {
    // Who is signed in here is not who the link is for.
    let chrome = &Chrome { email: None, ..visit.chrome(Section::Elsewhere) };
    let status = if problems.any() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = WelcomePage {
        chrome,
        path: format!("/dashboard/welcome/{}", visit.param("token")),
        user: link.user.as_ref().map(|user| user.email.as_str()),
        name: visit.posted.get("name").trim(),
        email: visit.posted.get("email").trim(),
        problems,
    };
    reply::page_with(status, &page)
}

pub(super) async fn redeem(visit: &Visit) -> Outcome {
    let (token, link) = link(visit).await?;
    let (name, email) = (visit.posted.get("name").trim(), visit.posted.get("email").trim());
    let typed = visit.posted.get("password");
    let mut problems = Problems { password: password::flaw(typed), ..Problems::default() };
    if problems.password.is_none() && typed != visit.posted.get("again") {
        problems.again = Some("This is not what you typed above.");
    }
    if link.user.is_none() {
        (problems.name, problems.email) = flaws(name, email);
    }
    if problems.any() {
        return page(visit, &link, problems);
    }
    let password = visit.dashboard.passwords.hash(SecretString::from(typed.to_owned())).await?;
    let new_user = link.user.is_none().then(|| UserRecord {
        id: UserId::from_bits(new_id()),
        email: email.to_owned(),
        name: name.to_owned(),
    });
    let said = if new_user.is_some() { "welcome" } else { "password-set" };
    let redemption = Redemption { password: password.clone(), new_user };
    let user = match judged(visit.dashboard.store.redeem_link(token, redemption)).await? {
        Ok(user) => user,
        Err(StoreError::NotFound { .. }) => return Err(Refusal::LinkGone),
        Err(StoreError::Exists { .. }) => {
            let problem = Some("Somebody has this e-mail address already.".to_owned());
            return page(visit, &link, Problems { email: problem, ..Problems::default() });
        }
        Err(other) => return Err(other.into()),
    };
    visit
        .begin_session(&user, Some(password), reply::redirect(&format!("/dashboard?said={said}")))
        .await
}

/// What is wrong with the name and the e-mail address of the first owner.
fn flaws(name: &str, email: &str) -> (Option<String>, Option<String>) {
    match check_user(email, name) {
        Err(AdminError::Invalid { what: "name", rule, .. }) => {
            (Some(format!("A name {rule}.")), None)
        }
        Err(AdminError::Invalid { rule, .. }) => (None, Some(format!("An e-mail address {rule}."))),
        _ => (None, None),
    }
}
