//! `/dashboard/keys`: API keys.

use askama::Template;
use http::StatusCode;
use secrecy::ExposeSecret;

use super::chrome::{Chrome, Section};
use super::reply::{self, Outcome};
use super::visit::{Visit, judged, timely};
use super::when::When;
use crate::admin::AdminError;
use crate::store::KeyRecord;

struct KeyView {
    id: String,
    name: String,
    prefix: String,
    created: When,
    used: Option<When>,
    revoked: Option<When>,
}

impl KeyView {
    fn new(key: &KeyRecord, visit: &Visit) -> Self {
        let when = |at| When::new(at, visit.now);
        Self {
            id: key.id.as_str().to_owned(),
            name: key.name.clone(),
            prefix: key.prefix.clone(),
            created: when(&key.created_at),
            used: key.last_used_at.as_ref().map(when),
            revoked: key.revoked_at.as_ref().map(when),
        }
    }
}

#[derive(Template)]
#[template(path = "dashboard/keys.html")]
struct KeysPage<'a> {
    chrome: &'a Chrome,
    address: &'a str,
    keys: Vec<KeyView>,
    name: &'a str,
    problem: Option<String>,
    /// The key just made, and what it is called; shown this once.
    made: Option<(&'a str, &'a str)>,
}

#[derive(Template)]
#[template(path = "dashboard/key_revoke.html")]
struct RevokePage<'a> {
    chrome: &'a Chrome,
    key: KeyView,
}

async fn page(
    visit: &Visit,
    status: StatusCode,
    problem: Option<String>,
    made: Option<(&str, &str)>,
) -> Outcome {
    let keys = timely(visit.dashboard.admin.list_keys(&visit.user()?.id)).await?;
    let chrome = &visit.chrome(Section::Keys);
    let keys = keys.iter().map(|key| KeyView::new(key, visit)).collect();
    let name = if problem.is_some() { visit.posted.get("name") } else { "" };
    let address = &visit.address;
    reply::page_with(status, &KeysPage { chrome, address, keys, name, problem, made })
}

pub(super) async fn list(visit: &Visit) -> Outcome {
    page(visit, StatusCode::OK, None, None).await
}

/// Shows the new key on the answer itself: see the module.
pub(super) async fn create(visit: &Visit) -> Outcome {
    let name = visit.posted.get("name").trim();
    match judged(visit.dashboard.admin.create_key(&visit.user()?.id, name)).await? {
        Ok(made) => {
            let made = (made.secret.expose_secret(), made.record.name.as_str());
            page(visit, StatusCode::OK, None, Some(made)).await
        }
        Err(AdminError::Invalid { rule, .. }) => {
            let problem = Some(format!("The name {rule}."));
            page(visit, StatusCode::UNPROCESSABLE_ENTITY, problem, None).await
        }
        Err(other) => Err(other.into()),
    }
}

pub(super) async fn ask(visit: &Visit) -> Outcome {
    let key = visit.key().await?;
    let chrome = &visit.chrome(Section::Keys);
    reply::page(&RevokePage { chrome, key: KeyView::new(&key, visit) })
}

pub(super) async fn revoke(visit: &Visit) -> Outcome {
    let key = visit.key().await?;
    timely(visit.dashboard.admin.revoke_key(&key.id)).await?;
    Ok(reply::redirect("/dashboard/keys?said=revoked"))
}
