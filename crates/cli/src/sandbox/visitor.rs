//! Makes submissions to forms, at intervals or on request.

use std::collections::VecDeque;
use std::time::Duration;

use formsvc_client::types::PublicId;
use formsvc_client::{Form, FormId, User};
use formsvc_protocol::Answers;
use formsvc_server::admin::{Admin, AdminError};
use formsvc_server::fields::Fields;
use formsvc_server::seed::{self, SeedOptions};
use formsvc_server::store::PageRequest;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

/// The form that is submitted when none is named: the first that there is.
const FORMS: [&str; 2] = ["contact", "penguins"];
/// Rows whose answers are given again.
const ROWS: u32 = 100;

/// The answers of the next submissions to a form. Most never end.
type AnswersOf = Box<dyn Iterator<Item = Answers> + Send>;

/// Makes submissions to some forms, in turn.
pub(super) struct Visitor {
    admin: Admin,
    /// Time between two submissions; `None` makes them only on request.
    every: Option<Duration>,
    forms: VecDeque<(FormId, AnswersOf)>,
}

/// What is looked at of a row.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The forms of these names, each once; without names one to begin with, if it is there.
pub(super) fn visited<'a>(forms: &'a [Form], wanted: &[PublicId]) -> Vec<&'a Form> {
    let mut found: Vec<&Form> = Vec::new();
    for name in wanted {
        let named = forms.iter().find(|form| form.public_id == *name);
        found.extend(named.filter(|form| !found.iter().any(|known| known.id == form.id)));
    }
    if wanted.is_empty() {
        let named = |name: &str| forms.iter().find(|form| form.public_id.as_str() == name);
        found.extend(FORMS.into_iter().find_map(named));
    }
    found
}

impl Visitor {
    pub(super) async fn of(
        admin: &Admin,
        owner: &User,
        forms: &[&Form],
        every: Option<Duration>,
    ) -> Result<Self, AdminError> {
        let mut visited = VecDeque::with_capacity(forms.len());
        for form in forms {
            visited.push_back((form.id.clone(), answers(admin, owner, form).await?));
        }
        Ok(Self { admin: admin.clone(), every, forms: visited })
    }

    /// Makes submissions until it is dropped or has no more answers. A refused submission is logged.
    pub(super) async fn submit(mut self, mut requests: mpsc::Receiver<()>) {
        let mut interval = self.every.map(|every| {
            let mut interval = tokio::time::interval_at(Instant::now() + every, every);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        });
        while let Some((form, mut answers)) = self.forms.pop_front() {
            let Some(submission) = answers.next() else { continue };
            let tick = async {
                match &mut interval {
                    Some(interval) => drop(interval.tick().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tick => {}
                Some(()) = requests.recv() => {}
            }
            if let Err(error) = self.admin.submit_answers(&form, submission).await {
                tracing::warn!(%error, "a submission of the sandbox was refused");
            }
            self.forms.push_back((form, answers));
        }
    }
}

/// What the visitor answers: what fits the form's fields; in a form without any, what others
/// answered, or anything.
async fn answers(admin: &Admin, owner: &User, form: &Form) -> Result<AnswersOf, AdminError> {
    let public = admin.store().public_form(&form.public_id).await?;
    let fields = public.and_then(|form| form.fields).and_then(|text| Fields::parse(&text).ok());
    if let Some(fields) = fields {
        let mut visitor = seed::Visitor::new(1);
        return Ok(Box::new(std::iter::from_fn(move || visitor.fill(&fields))));
    }
    let rows = rows(admin, owner, form).await?;
    if rows.is_empty() {
        let anything = SeedOptions::new(form.public_id.clone(), u64::MAX).generator();
        return Ok(Box::new(anything.map(|submission| submission.answers)));
    }
    Ok(Box::new(rows.into_iter().cycle()))
}

/// The newest answers, oldest first.
async fn rows(admin: &Admin, owner: &User, form: &Form) -> Result<Vec<Answers>, AdminError> {
    let (user, form) = (owner.id.clone(), form.id.clone());
    let request = PageRequest { user, form, before: None, limit: ROWS };
    let Some(page) = admin.store().page(request).await? else { return Ok(Vec::new()) };
    let text = [b"[", &page.items[..], b"]"].concat();
    let rows: Vec<Row<'_>> = serde_json::from_slice(&text).unwrap_or_default();
    Ok(rows.iter().rev().filter_map(|row| Answers::parse(row.data.get()).ok()).collect())
}
