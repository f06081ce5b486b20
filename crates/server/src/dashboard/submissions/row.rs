//! A submission as a list shows it: of a bounded size, whatever was answered.

use formsvc_protocol::{Form, FormInstant};

use super::answer::{self, AnswerView, Row};
use super::path_of_one;
use crate::dashboard::when::When;

pub(super) struct RowView {
    pub(super) path: String,
    pub(super) when: When,
    /// The first answers, cut.
    pub(super) answers: Vec<AnswerView>,
    /// How many more there are.
    pub(super) more: usize,
}

impl RowView {
    /// Tells its age at `now`.
    pub(super) fn new(form: &Form, row: &Row, now: FormInstant) -> Self {
        let (answers, more) = answer::first(&row.answers);
        let path = path_of_one(form, row.id.as_str(), &row.created_at);
        Self { path, when: When::new(&row.created_at, now), answers, more }
    }
}
