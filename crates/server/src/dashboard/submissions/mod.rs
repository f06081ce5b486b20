//! The submissions of a form: newest first, a page at a time, and one alone.

mod answer;
mod example;
mod row;
mod search;

use askama::Template;
use formsvc_protocol::limits::PAGE_SIZE_MAX;
use formsvc_protocol::{Form, FormInstant, FormStatus, Timestamp};

use super::Dashboard;
use super::chrome::{Chrome, Section};
use super::deliveries::{DeliveryView, of_submission};
use super::forms::{Head, Tab, path_of};
use super::pairs::query;
use super::refusal::Refusal;
use super::reply::{self, Outcome};
use super::visit::{Visit, timely};
use super::when::When;
use crate::store::PageRequest;
use answer::{AnswerView, Row, rows};
use row::RowView;
use search::Found;

pub(super) use search::Searches;

/// Submissions of a page.
const PAGE: u32 = 50;
/// Submissions looked through for one that is told by its time: as many as share a millisecond.
const TIED_MAX: u32 = 1_000;
/// Longest text that is searched for, in characters.
const SOUGHT_MAX: usize = 200;

#[derive(Template)]
#[template(path = "dashboard/submissions.html")]
struct SubmissionsPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    id: &'a str,
    address: &'a str,
    sought: &'a str,
    rows: Vec<RowView>,
    /// How far was searched, when something was searched for.
    searched: Option<Searched>,
    /// Answers to try the form with, for a shell; of a form that nobody sent anything to.
    example: String,
    is_newest: bool,
    newest: String,
    older: Option<String>,
}

struct Searched {
    scanned: usize,
    until: Option<When>,
    is_all: bool,
}

#[derive(Template)]
#[template(path = "dashboard/submission.html")]
struct SubmissionPage<'a> {
    chrome: &'a Chrome,
    head: Head,
    id: &'a str,
    when: When,
    answers: Vec<AnswerView>,
    deliveries: Vec<DeliveryView>,
}

/// Where the page of a submission is. Its time tells where to look for it.
pub(super) fn path_of_one(form: &Form, id: &str, at: &Timestamp) -> String {
    format!("{}/submissions/{id}{}", path_of(form), query(&[("at", at.as_str())]))
}

pub(super) async fn list(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let before = FormInstant::parse_cursor(visit.query.get("before")).ok();
    let sought: String = visit.query.get("q").trim().chars().take(SOUGHT_MAX).collect();
    let request = request(visit, &form, before, PAGE)?;
    let Dashboard { store, searches, .. } = &*visit.dashboard;
    let found = if sought.is_empty() {
        let page = timely(store.page(request)).await?.ok_or(Refusal::NotFound)?;
        let last = page.last.filter(|_| page.has_more);
        let rows = rows(&page.items)?;
        let rows = rows.iter().map(|row| RowView::new(&form, row, visit.now)).collect();
        Found { rows, scanned: page.len, last, until: None }
    } else {
        searches.search(&**store, &form, request, &sought, visit.now).await?
    };
    let searched = (!sought.is_empty()).then(|| Searched {
        scanned: found.scanned,
        until: found.until.map(|until| When::of(until, visit.now)),
        is_all: found.last.is_none(),
    });
    let path = path_of(&form);
    let is_first = found.rows.is_empty() && sought.is_empty() && before.is_none();
    let example = if is_first && form.status == FormStatus::Published {
        example::quoted(visit.whole_form().await?.fields.as_deref())
    } else {
        String::new()
    };
    let older = found.last.map(FormInstant::to_cursor);
    let older = older
        .map(|cursor| format!("{path}{}", query(&[("q", &sought), ("before", cursor.as_str())])));
    let page = SubmissionsPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Submissions),
        id: form.id.as_str(),
        address: &visit.address,
        sought: &sought,
        rows: found.rows,
        searched,
        example,
        is_newest: before.is_none(),
        newest: format!("{path}{}", query(&[("q", &sought)])),
        older,
    };
    reply::page(&page)
}

fn request(
    visit: &Visit,
    form: &Form,
    before: Option<FormInstant>,
    limit: u32,
) -> Result<PageRequest, Refusal> {
    let (user, form) = (visit.user()?.id.clone(), form.id.clone());
    Ok(PageRequest { user, form, before, limit })
}

pub(super) async fn show(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let row = find(visit, &form).await?.ok_or(Refusal::NotFound)?;
    let deliveries = of_submission(visit, &form, &row.id).await?;
    let page = SubmissionPage {
        chrome: &visit.chrome(Section::Forms),
        head: Head::new(visit, &form, Tab::Submissions),
        id: row.id.as_str(),
        when: When::new(&row.created_at, visit.now),
        answers: answer::all(&row.answers),
        deliveries,
    };
    reply::page(&page)
}

/// The submission of the path, at the time that the query says.
async fn find(visit: &Visit, form: &Form) -> Result<Option<Row>, Refusal> {
    let Ok(at) = visit.query.get("at").parse::<Timestamp>() else { return Ok(None) };
    let wanted = visit.param("submission");
    // Times are shown in milliseconds, and several may share one.
    let mut before = Some(FormInstant::from_micros(at.unix_micros().saturating_add(1_000)));
    for _ in 0..TIED_MAX / PAGE_SIZE_MAX {
        let request = request(visit, form, before, PAGE_SIZE_MAX)?;
        let page = timely(visit.dashboard.store.page(request)).await?.ok_or(Refusal::NotFound)?;
        let found = rows(&page.items)?;
        let is_past = found.last().is_none_or(|row| row.created_at < at);
        if let Some(row) = found.into_iter().find(|row| row.id.as_str() == wanted) {
            return Ok(Some(row));
        }
        if is_past || !page.has_more {
            break;
        }
        before = page.last;
    }
    Ok(None)
}
