//! `/dashboard`: one's forms.

use std::collections::HashMap;

use askama::Template;
use formsvc_protocol::FormStatus;
use formsvc_protocol::limits::FORMS_LISTED_MAX;

use super::path_of;
use crate::dashboard::chrome::{Chrome, Section};
use crate::dashboard::reply::{self, Outcome};
use crate::dashboard::visit::{Visit, timely};
use crate::dashboard::when::When;

struct FormView {
    title: String,
    path: String,
    status: FormStatus,
    submissions: u64,
    updated: When,
}

impl FormView {
    fn submissions_text(&self) -> String {
        thousands(self.submissions)
    }
}

/// A number as people read it.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[derive(Template)]
#[template(path = "dashboard/forms.html")]
struct FormsPage<'a> {
    chrome: &'a Chrome,
    forms: Vec<FormView>,
    /// Whether there may be older ones, which are not listed.
    is_full: bool,
}

pub(in crate::dashboard) async fn show(visit: &Visit) -> Outcome {
    let (store, user) = (&visit.dashboard.store, &visit.user()?.id);
    let forms = timely(store.forms(user)).await?;
    let totals: HashMap<_, _> = timely(store.form_totals(user)).await?.into_iter().collect();
    let views = forms.iter().map(|form| FormView {
        title: form.title.clone(),
        path: path_of(form),
        status: form.status.clone(),
        submissions: totals.get(&form.id).copied().unwrap_or_default(),
        updated: When::new(&form.updated_at, visit.now),
    });
    let chrome = &visit.chrome(Section::Forms);
    let is_full = forms.len() >= FORMS_LISTED_MAX;
    reply::page(&FormsPage { chrome, forms: views.collect(), is_full })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(thousands(number), text);
        }
    }
}
