//! `…/channels/new`: a webhook, whose secret is shown once, on the answer itself.

use askama::Template;
use http::StatusCode;
use secrecy::ExposeSecret;

use super::EndpointView;
use crate::admin::AdminError;
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::forms::{Head, Tab};
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, judged};
use crate::store::StoreError;

#[derive(Template)]
#[template(path = "dashboard/channel_new.html")]
struct NewPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    url: &'a str,
    /// Whether programs on this machine are reached, without TLS as well.
    opens_this_machine: bool,
    problem: Option<String>,
}

/// A secret just made.
#[derive(Template)]
#[template(path = "dashboard/channel_secret.html")]
pub(super) struct SecretPage<'a> {
    pub(super) chrome: &'a Chrome,
    pub(super) head: Head,
    pub(super) endpoint: EndpointView,
    pub(super) secret: &'a str,
    /// Whether the endpoint had one before.
    pub(super) is_rotated: bool,
    /// Why the host of the URL could not be resolved.
    pub(super) unresolved: Option<String>,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let head = Head::new(visit, &form, Tab::Channels);
    let chrome = &visit.chrome(Section::Forms);
    let opens_this_machine = visit.dashboard.registrar.opens_this_machine();
    reply::page(&NewPage { chrome, head, url: "", opens_this_machine, problem: None })
}

pub(in crate::dashboard) async fn add(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let url = visit.posted.get("url").trim();
    let dashboard = &visit.dashboard;
    let added = judged(dashboard.admin.add_endpoint(&form.id, url, &dashboard.registrar)).await?;
    let chrome = &visit.chrome(Section::Forms);
    let head = Head::new(visit, &form, Tab::Channels);
    let problem = match added {
        Ok(added) => {
            let page = SecretPage {
                chrome,
                head,
                endpoint: EndpointView::new(visit, &form, &added.record),
                secret: added.secret.expose_secret(),
                is_rotated: false,
                unresolved: added.unresolved.map(|why| why.to_string()),
            };
            return reply::page(&page);
        }
        Err(error @ (AdminError::Url(_) | AdminError::Denied(_))) => error.to_string(),
        Err(AdminError::Store(StoreError::Exists { .. })) => {
            "this form has a webhook with this address already".to_owned()
        }
        Err(AdminError::Store(StoreError::Invalid { rule, .. })) => format!("this form {rule}"),
        Err(other) => return Err(other.into()),
    };
    let opens_this_machine = dashboard.registrar.opens_this_machine();
    let page = NewPage { chrome, head, url, opens_this_machine, problem: Some(problem) };
    reply::page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
}
