//! The pages, as templates are filled in.

mod field;

use askama::Template;
use formsvc_protocol::Form;

use super::policy::STYLE;
use crate::fields::{FieldErrors, Fields, Input, PAGE_ID, TRAP};
pub(crate) use field::{FieldView, Widget};

/// The page of a form.
#[derive(Template)]
#[template(path = "public/form.html")]
pub(super) struct FormPage<'a> {
    style: &'static str,
    title: &'a str,
    /// What is wrong, and the id of the element to mend it at.
    problems: Vec<ProblemView>,
    fields: Vec<FieldView<'a>>,
    trap: &'static str,
    page_id_name: &'static str,
    page_id: Option<String>,
}

struct ProblemView {
    text: String,
    target: Option<String>,
}

impl<'a> FormPage<'a> {
    /// The page to fill in. Of a free form there is nothing to show.
    pub(super) fn new(title: &'a str, fields: &'a Fields, page_id: Option<String>) -> Self {
        Self::with(title, fields, page_id, None)
    }

    /// The page to mend: with what was sent, and what is wrong with it.
    pub(super) fn again(
        title: &'a str,
        fields: &'a Fields,
        page_id: Option<String>,
        input: &Input,
        errors: &FieldErrors,
    ) -> Self {
        Self::with(title, fields, page_id, Some((input, errors)))
    }

    fn with(
        title: &'a str,
        fields: &'a Fields,
        page_id: Option<String>,
        sent: Option<(&Input, &FieldErrors)>,
    ) -> Self {
        let texts = sent.map(|(input, _)| input.texts()).unwrap_or_default();
        let defined = fields.defined().unwrap_or_default().iter().enumerate();
        let views = defined.map(|(place, field)| {
            let values = texts.get(&field.label).map(Vec::as_slice).unwrap_or_default();
            let errors = sent.map(|(_, errors)| errors.fields()).unwrap_or_default();
            let error = errors.iter().find(|error| error.place == Some(place));
            FieldView::new(place, field, values, error.map(|error| error.rule.as_str()))
        });
        Self {
            style: STYLE,
            title,
            problems: sent.map(|(_, errors)| problems(errors)).unwrap_or_default(),
            fields: views.collect(),
            trap: TRAP,
            page_id_name: PAGE_ID,
            page_id,
        }
    }
}

fn problems(errors: &FieldErrors) -> Vec<ProblemView> {
    match errors {
        FieldErrors::Whole(rule) => {
            vec![ProblemView { text: field::sentence(rule), target: None }]
        }
        FieldErrors::Fields(errors) => {
            let problem = |error: &crate::fields::FieldError| ProblemView {
                text: format!("{} {}", error.field, error.rule),
                target: error.place.map(field::id_of),
            };
            errors.iter().map(problem).collect()
        }
    }
}

/// A page that says one thing.
#[derive(Template)]
#[template(path = "public/notice.html")]
pub(super) struct NoticePage<'a> {
    style: &'static str,
    heading: &'a str,
    text: &'a str,
}

impl<'a> NoticePage<'a> {
    pub(super) fn new(heading: &'a str, text: &'a str) -> Self {
        Self { style: STYLE, heading, text }
    }
}

/// A page that lists forms.
#[derive(Template)]
#[template(path = "public/index.html")]
pub(super) struct IndexPage<'a> {
    style: &'static str,
    forms: &'a [Form],
}

impl<'a> IndexPage<'a> {
    pub(super) fn new(forms: &'a [Form]) -> Self {
        Self { style: STYLE, forms }
    }
}
