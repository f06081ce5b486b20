//! `…/settings`: a form's title, whose pages may send to it, and its status.

use askama::Template;
use http::StatusCode;

use super::{Head, Tab, path_of};
use crate::admin::{AdminError, FormEdit};
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, judged};
use crate::public::Origin;
use crate::store::PublicForm;

#[derive(Template)]
#[template(path = "dashboard/form_settings.html")]
struct SettingsPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    id: &'a str,
    public_id: &'a str,
    title: &'a str,
    /// One a line; empty lets pages of any site send.
    origins: &'a str,
    title_problem: Option<String>,
    origins_problem: Option<String>,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let found = visit.whole_form().await?;
    let origins = found.origins.clone().unwrap_or_default().join("\n");
    page(visit, &found, (&found.form.title, &origins), (None, None))
}

fn page(
    visit: &Visit,
    found: &PublicForm,
    (title, origins): (&str, &str),
    (title_problem, origins_problem): (Option<String>, Option<String>),
) -> Outcome {
    let is_wrong = title_problem.is_some() || origins_problem.is_some();
    let status = if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = SettingsPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &found.form, Tab::Settings),
        id: found.form.id.as_str(),
        public_id: found.form.public_id.as_str(),
        title,
        origins,
        title_problem,
        origins_problem,
    };
    reply::page_with(status, &page)
}

pub(in crate::dashboard) async fn change(visit: &Visit) -> Outcome {
    let found = visit.whole_form().await?;
    let title = visit.posted.get("title").trim();
    let typed = visit.posted.get("origins");
    let lines = typed.lines().map(str::trim).filter(|line| !line.is_empty());
    let origins: Result<Vec<_>, _> =
        lines.map(|line| Origin::parse(line).map_err(|rule| format!("`{line}` {rule}"))).collect();
    let origins = match origins {
        Ok(origins) if origins.is_empty() => None,
        Ok(origins) => Some(origins),
        Err(problem) => return page(visit, &found, (title, typed), (None, Some(problem))),
    };
    let edit =
        FormEdit { title: Some(title.to_owned()), origins: Some(origins), ..FormEdit::default() };
    match judged(visit.dashboard.admin.edit_form(&found.form.id, edit)).await? {
        Ok(form) => Ok(reply::redirect(&format!("{}/settings?said=saved", path_of(&form)))),
        Err(AdminError::Invalid { what: "title", rule, .. }) => {
            page(visit, &found, (title, typed), (Some(format!("The title {rule}.")), None))
        }
        Err(AdminError::Invalid { what, rule, .. }) => {
            page(visit, &found, (title, typed), (None, Some(format!("The {what} {rule}."))))
        }
        Err(other) => Err(other.into()),
    }
}
