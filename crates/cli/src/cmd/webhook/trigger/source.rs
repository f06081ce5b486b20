//! What `trigger` delivers: where bodies come from, and what is changed in them.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_client::{Submission, Timestamp};
use formsvc_contract::payload::{self, AnswerType};
use formsvc_protocol::WebhookEvent;
use http::HeaderValue;
use serde::Deserialize;

use super::Payload;
use crate::answer_type::answer_type;
use crate::cmd::submissions::incomplete_list;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::output::shortened;
use crate::webhook::changes::{Change, changed, edited};
use crate::webhook::payload::Place;

/// Submissions whose labels are those of a form.
const LABELS_OF: u32 = 25;
/// Cells of a value that are shown where something is odd about it.
const VALUE_SHOWN: usize = 40;
/// When the first submission of a seed was made: 2026-01-01. The next are a second later each.
const SEEDED: i128 = 1_767_225_600_000_000_000;

/// Something to deliver.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) body: Bytes,
    pub(super) event: HeaderValue,
    /// What the body says, where it can be read.
    pub(super) submission_id: Option<String>,
}

/// Where bodies come from.
pub(super) struct Bodies {
    kind: Kind,
    changes: Vec<Change>,
    event: Option<HeaderValue>,
    random: fastrand::Rng,
    is_seeded: bool,
    edit: bool,
}

enum Kind {
    Sample,
    Form(Box<FormMatch>, Vec<(String, AnswerType)>),
    /// One after the other, and again.
    Fixed(Vec<Bytes>),
}

impl Bodies {
    pub(super) async fn of(cx: &Context, asked: &Payload) -> Result<Self, CliError> {
        let kind = if let Some(path) = &asked.file {
            Kind::Fixed(vec![Place::of(Some(path), false, "`--file`")?.read().await?])
        } else if let Some(form) = &asked.form {
            let form = form_ref::resolve(cx, form).await?;
            let questions = questions(cx, &form).await?;
            Kind::Form(Box::new(form), questions)
        } else if asked.from_submission.is_empty() {
            Kind::Sample
        } else {
            let mut bodies = Vec::new();
            for name in &asked.from_submission {
                bodies.push(of_service(cx, name).await?);
            }
            Kind::Fixed(bodies)
        };
        let changes = asked.unset.iter().chain(&asked.set).cloned().collect();
        let random = asked.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let mut bodies = Self {
            kind,
            changes,
            event: asked.event.clone(),
            random,
            is_seeded: asked.seed.is_some(),
            edit: asked.edit,
        };
        if bodies.edit {
            bodies.edit_first().await?;
        }
        bodies.tell_of_slips(cx);
        Ok(bodies)
    }

    /// The body of a delivery, the first being number 0.
    pub(super) fn next(&mut self, number: u64) -> Result<Prepared, CliError> {
        let mut body = self.made(number);
        if !self.changes.is_empty() && !self.edit {
            body = changed(&body, &self.changes)?.0;
        }
        let said = Said::of(&body);
        let mut event = said.event.as_deref().and_then(|event| HeaderValue::from_str(event).ok());
        if let Some(asked) = &self.event {
            if said.event.is_some() && event.as_ref() != Some(asked) {
                let name = serde_json::to_string(&String::from_utf8_lossy(asked.as_bytes()));
                let name = name.expect("a text is written as JSON");
                body = changed(&body, &[Change::Set("event".to_owned(), name)])?.0;
            }
            event = Some(asked.clone());
        }
        let event = event.unwrap_or(HeaderValue::from_static("submission.created"));
        Ok(Prepared { body, event, submission_id: said.submission_id })
    }

    fn made(&mut self, number: u64) -> Bytes {
        let (random, at) = (&mut self.random, self.is_seeded);
        let mut bits = || random.u64(..);
        match &self.kind {
            Kind::Sample => payload::body(&payload::sample(&mut bits, made_at(at, number))),
            Kind::Form(form, questions) => {
                let (id, at) = (form.id.clone(), made_at(at, number));
                payload::body(&payload::generate(id, &form.title, questions, &mut bits, at))
            }
            Kind::Fixed(bodies) => {
                let at = usize::try_from(number % bodies.len() as u64);
                bodies[at.expect("less than a length")].clone()
            }
        }
    }

    /// Lets a person change the body, which is then the one of all deliveries.
    async fn edit_first(&mut self) -> Result<(), CliError> {
        let mut body = self.made(0);
        if !self.changes.is_empty() {
            body = changed(&body, &self.changes)?.0;
        }
        let edited = edited(body).await?;
        self.kind = Kind::Fixed(vec![edited]);
        Ok(())
    }

    /// Tells of changes that are most often slips, and makes them all the same.
    fn tell_of_slips(&self, cx: &Context) {
        let known = match &self.kind {
            Kind::Form(_, questions) => questions.clone(),
            Kind::Fixed(bodies) => match bodies.first().map(|body| serde_json::from_slice(body)) {
                Some(Ok(WebhookEvent { data, .. })) => data
                    .fields()
                    .into_iter()
                    // An answer that is empty does not tell what others are: text is anything.
                    .map(|(label, value)| {
                        let shape = answer_type(value.as_json());
                        (label.into_owned(), shape.unwrap_or(AnswerType::Text))
                    })
                    .collect(),
                _ => return,
            },
            Kind::Sample => return,
        };
        for change in &self.changes {
            if let Some(slip) = slip(change, &known) {
                cx.progress.remark(&slip);
            }
        }
    }
}

/// What is odd about a change of a body that has these questions: a label that it does not have, or a text for
/// a number.
fn slip(change: &Change, known: &[(String, AnswerType)]) -> Option<String> {
    let Change::Set(path, value) = change else { return None };
    let label = path.strip_prefix("data.")?;
    let first = label.split('.').next().unwrap_or(label);
    let find = |name: &str| known.iter().find(|(known, _)| known == name);
    let Some((_, shape)) = find(label) else {
        if find(first).is_some() {
            return None;
        }
        let like = crate::suggest::did_you_mean(label, known.iter().map(|(known, _)| &**known));
        let like = like.map_or(String::new(), |like| format!("; {like}"));
        return Some(format!("no submission of this form has the label `{label}`{like}"));
    };
    let is_number = |shape| matches!(shape, AnswerType::Number | AnswerType::NumberText);
    let expects_number = is_number(*shape);
    // Nobody has to answer with anything.
    let is_other = answer_type(value).is_some_and(|shape| !is_number(shape));
    (expects_number && is_other).then(|| {
        let value = shortened(value, VALUE_SHOWN);
        format!("submissions of this form have a number in `{label}`, and `{value}` is none")
    })
}

/// What the body says it is.
#[derive(Default, Deserialize)]
struct Said {
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    submission_id: Option<String>,
}

impl Said {
    fn of(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

fn made_at(is_seeded: bool, number: u64) -> Timestamp {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let nanos = if is_seeded {
        SEEDED + i128::from(number) * 1_000_000_000
    } else {
        i128::try_from(now()).unwrap_or_default() * 1_000_000
    };
    // Only the ends of time have no timestamp.
    let first = || Timestamp::from_unix_nanos(SEEDED).expect("2026 has a timestamp");
    Timestamp::from_unix_nanos(nanos).unwrap_or_else(first)
}

/// The questions of a form, as its newest submissions have answers to them.
async fn questions(cx: &Context, form: &FormMatch) -> Result<Vec<(String, AnswerType)>, CliError> {
    // A submission that violates the API leaves the questions of the others.
    let list = cx.client().await?.form(form.id.clone()).submissions().allow_incomplete(true);
    let list = list.page_size(LABELS_OF);
    let mut questions: Vec<(String, AnswerType)> = Vec::new();
    if let Some(page) = list.pages().try_next().await? {
        for submission in page.submissions() {
            for (label, value) in submission.data.fields() {
                let shape = answer_type(value.as_json());
                let known = questions.iter().any(|(known, _)| *known == label);
                // An answer that is empty does not tell what the others are.
                if let Some(shape) = shape.filter(|_| !known) {
                    questions.push((label.into_owned(), shape));
                }
            }
        }
    }
    if questions.is_empty() {
        let what =
            format!("the form `{}` has no submissions, which tell its questions", form.title);
        return Err(CliError::new(Exit::NotFound, what).hint(
            "`--set data.LABEL=VALUE` names questions; without `--form` answers are made up",
        ));
    }
    Ok(questions)
}

/// The body that the service made of a submission: `FORM/ID`, or the newest of `FORM`.
async fn of_service(cx: &Context, name: &str) -> Result<Bytes, CliError> {
    let (form, id) = match name.rsplit_once('/') {
        Some((form, id)) if !id.is_empty() => (form, Some(id)),
        Some((form, _)) => (form, None),
        None => (name, None),
    };
    let form = form_ref::resolve(cx, form).await?;
    let submission = found(cx, &form, id).await?;
    Ok(payload::body(&payload::event_of(submission, form.id, &form.title)))
}

async fn found(cx: &Context, form: &FormMatch, id: Option<&str>) -> Result<Submission, CliError> {
    let list = cx.client().await?.form(form.id.clone()).submissions().allow_incomplete(true);
    let mut pages = match id {
        Some(_) => list.pages(),
        None => list.page_size(1).pages(),
    };
    let mut looked = 0;
    cx.progress.begin();
    while let Some(page) = pages.try_next().await? {
        let row = page.submissions().iter().find(|row| id.is_none_or(|id| row.id == id));
        if let Some(row) = row {
            cx.progress.end();
            return Ok(row.clone());
        }
        looked += page.len() as u64;
        if let Some(last) = page.submissions().last() {
            cx.progress.submissions(looked, last.created_at.as_str());
        }
    }
    cx.progress.end();
    // The submission could be one that the list leaves out.
    incomplete_list(&pages).map_err(|error| error.hint("the submission may be one of them"))?;
    Err(match id {
        None => {
            CliError::new(Exit::NotFound, format!("the form `{}` has no submissions", form.title))
        }
        Some(id) => {
            let what =
                format!("no submission `{id}` in the form `{}`: none of the {looked}", form.title);
            CliError::new(Exit::NotFound, what)
                .hint("an id is given whole, as `formsvc submissions list` shows it")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::changes::set;

    #[test]
    fn a_text_for_a_number_and_a_label_that_is_not_there_are_remarked_upon() {
        let known = [
            ("n".to_owned(), AnswerType::Number),
            ("v1.2".to_owned(), AnswerType::NumberText),
            ("species".to_owned(), AnswerType::Text),
            ("list".to_owned(), AnswerType::List),
        ];
        let told = |change: &str| slip(&set(change).unwrap(), &known);
        for fine in [
            "data.n=7",
            "data.n=-1.5",
            "data.n=\"7\"",
            "data.n=",
            "data.n=null",
            "data.v1.2=8",
            "data.species=abc",
            "data.species=7",
            "data.list.0=abc",
            "form_id=abc",
        ] {
            assert_eq!(told(fine), None, "{fine}");
        }
        for (label, value, shown) in
            [("n", "abc", "\"abc\""), ("n", "true", "true"), ("v1.2", "[1]", "[1]")]
        {
            let expected = format!(
                "submissions of this form have a number in `{label}`, and `{shown}` is none"
            );
            assert_eq!(told(&format!("data.{label}={value}")), Some(expected));
        }
        assert!(told(&format!("data.n={}", "x".repeat(600))).unwrap().len() < 150);
        assert!(told("data.speces=1").unwrap().ends_with("`speces`; did you mean `species`?"));
    }
}
