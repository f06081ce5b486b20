//! `/dashboard/new`: a new form, which is a draft to begin with.

use askama::Template;
use formsvc_protocol::FormStatus;
use http::StatusCode;

use super::path_of;
use crate::admin::{AdminError, FormOptions};
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, judged};

#[derive(Template)]
#[template(path = "dashboard/form_new.html")]
struct NewPage<'a> {
    chrome: &'a Chrome,
    title: &'a str,
    problem: Option<String>,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    reply::page(&NewPage { chrome: &visit.chrome(Section::Forms), title: "", problem: None })
}

pub(in crate::dashboard) async fn create(visit: &Visit) -> Outcome {
    let title = visit.posted.get("title").trim();
    let status = FormStatus::Draft;
    let options = FormOptions { public_id: None, title: title.to_owned(), status };
    match judged(visit.dashboard.admin.create_form(&visit.user()?.id, options)).await? {
        Ok(form) => Ok(reply::redirect(&format!("{}/fields?said=created", path_of(&form)))),
        Err(AdminError::Invalid { rule, .. }) => {
            let chrome = &visit.chrome(Section::Forms);
            let problem = Some(format!("The title {rule}."));
            let page = NewPage { chrome, title, problem };
            reply::page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
        Err(other) => Err(other.into()),
    }
}
