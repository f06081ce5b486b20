//! `…/channels/{endpoint}`: one webhook: its secret, whether it gets anything, and its end.

use std::time::Duration;

use askama::Template;
use formsvc_protocol::Form;
use secrecy::ExposeSecret;

use super::EndpointView;
use super::add::SecretPage;
use super::test::Tested;
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::forms::{Head, Tab, path_of};
use crate::dashboard::refusal::Refusal;
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, timely};
use crate::store::EndpointRecord;

/// For how long deliveries are signed with the secret before, too.
struct Grace {
    name: &'static str,
    text: &'static str,
    seconds: u64,
    is_usual: bool,
}

const GRACES: [Grace; 4] = [
    grace("none", "not at all: the old one leaked", 0, false),
    grace("hour", "for an hour", 3_600, false),
    grace("day", "for a day", 24 * 3_600, true),
    grace("week", "for a week", 7 * 24 * 3_600, false),
];

const fn grace(name: &'static str, text: &'static str, seconds: u64, is_usual: bool) -> Grace {
    Grace { name, text, seconds, is_usual }
}

#[derive(Template)]
#[template(path = "dashboard/channel.html")]
pub(super) struct EndpointPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    endpoint: EndpointView,
    graces: &'static [Grace],
    /// What came of a test just made.
    tested: Option<Tested>,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/channel_remove.html")]
struct RemovePage<'a> {
    chrome: &'a Chrome,
    head: Head,
    endpoint: EndpointView,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    page(visit, &form, &endpoint, None, None)
}

/// The page, with what came of a test.
pub(super) fn page(
    visit: &Visit,
    form: &Form,
    endpoint: &EndpointRecord,
    tested: Option<Tested>,
    problem: Option<String>,
) -> Outcome {
    let page = EndpointPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, form, Tab::Channels),
        endpoint: EndpointView::new(visit, form, endpoint),
        graces: &GRACES,
        tested,
        problem,
    };
    reply::page(&page)
}

pub(in crate::dashboard) async fn rotate(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    let chosen = GRACES.iter().find(|grace| grace.name == visit.posted.get("grace"));
    let grace = Duration::from_secs(chosen.ok_or(Refusal::NotFound)?.seconds);
    let dashboard = &visit.dashboard;
    let rotated = dashboard.admin.rotate_secret(&endpoint.id, grace, &dashboard.vault);
    let rotated = timely(rotated).await?;
    let page = SecretPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Channels),
        endpoint: EndpointView::new(visit, &form, &rotated.record),
        secret: rotated.secret.expose_secret(),
        is_rotated: true,
        unresolved: None,
    };
    reply::page(&page)
}

pub(in crate::dashboard) async fn set_status(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    let (is_enabled, said) = match visit.posted.get("status") {
        "enabled" => (true, "enabled"),
        "disabled" => (false, "disabled"),
        _ => return Err(Refusal::NotFound),
    };
    timely(visit.dashboard.admin.set_endpoint_enabled(&endpoint.id, is_enabled)).await?;
    let path = format!("{}/channels/{}?said={said}", path_of(&form), endpoint.id);
    Ok(reply::redirect(&path))
}

pub(in crate::dashboard) async fn ask(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    let page = RemovePage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Channels),
        endpoint: EndpointView::new(visit, &form, &endpoint),
    };
    reply::page(&page)
}

pub(in crate::dashboard) async fn remove(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    timely(visit.dashboard.admin.remove_endpoint(&endpoint.id)).await?;
    Ok(reply::redirect(&format!("{}/channels?said=removed", path_of(&form))))
}
