//! What the status of a form becomes. To close one is asked about first: visitors are turned away.

use askama::Template;
use formsvc_protocol::FormStatus;

use super::{Head, Tab, path_of};
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::refusal::Refusal;
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, timely};

#[derive(Template)]
#[template(path = "dashboard/form_close.html")]
struct ClosePage<'a> {
    chrome: &'a Chrome,
    head: Head,
}

pub(in crate::dashboard) async fn ask(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let chrome = &visit.chrome(Section::Forms);
    reply::page(&ClosePage { chrome, head: Head::new(visit, &form, Tab::Settings) })
}

pub(in crate::dashboard) async fn change(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let (status, said) = match visit.posted.get("status") {
        "published" => (FormStatus::Published, "published"),
        "closed" => (FormStatus::Closed, "closed"),
        "draft" => (FormStatus::Draft, "drafted"),
        _ => return Err(Refusal::NotFound),
    };
    timely(visit.dashboard.admin.set_form_status(&form.id, status)).await?;
    Ok(reply::redirect(&format!("{}/settings?said={said}", path_of(&form))))
}
