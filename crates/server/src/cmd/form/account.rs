//! An account of a form: all that an operator chose, read back.

use formsvc_protocol::Form;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::admin::Admin;
use crate::cmd::error::CommandError;
use crate::fields::{Field, FieldKind, Fields};
use crate::printable::Escaped;
use crate::store::PublicForm;

/// A form as JSON shows it: as the API does, and what only its operator sees.
#[derive(Debug, Serialize)]
pub(super) struct Account {
    #[serde(flatten)]
    form: Form,
    /// Definitions as `--fields` takes them; none for a form that takes any answers.
    fields: Option<Box<RawValue>>,
    /// None when pages of all sites may send.
    origins: Option<Vec<String>>,
}

/// The account of a form that is known by its id.
pub(super) async fn of(admin: &Admin, form: &Form) -> Result<Account, CommandError> {
    let PublicForm { form, fields, origins, .. } = admin.public_form(&form.public_id).await?;
    Ok(Account { form, fields: raw(fields)?, origins })
}

/// Definitions to the digit: no number in them is printed anew.
fn raw(fields: Option<String>) -> Result<Option<Box<RawValue>>, CommandError> {
    let raw = fields.map(RawValue::from_string).transpose();
    raw.map_err(|error| CommandError::of(crate::cmd::exit::Exit::Failed, &error))
}

impl Account {
    /// The definitions as a JSON array, a field a line; none for a form that takes any answers.
    pub(super) fn fields(&self) -> Option<Vec<String>> {
        let fields = self.fields.as_deref()?;
        // What is not an array was not stored by us, and is shown as it is.
        let Ok(each) = serde_json::from_str::<Vec<&RawValue>>(fields.get()) else {
            return Some(vec![fields.get().to_owned()]);
        };
        let last = each.len().saturating_sub(1);
        let each = each.iter().enumerate().map(|(at, field)| {
            let comma = if at < last { "," } else { "" };
            format!("  {}{comma}", field.get())
        });
        Some(std::iter::once("[".into()).chain(each).chain(["]".into()]).collect())
    }

    /// The public id, by which errors name the form.
    pub(super) fn name(&self) -> &str {
        self.form.public_id.as_str()
    }

    /// The account for a person: lines, safe to print on a terminal.
    pub(super) fn text(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say = |label: &str, text: &str| lines.push(format!("{label:<10}{}", Escaped(text)));
        let Form { id, public_id, title, status, created_at, updated_at, url, .. } = &self.form;
        say("form", id.as_str());
        say("public id", public_id.as_str());
        say("address", url);
        say("title", title);
        say("status", status.as_str());
        say("made", created_at.as_str());
        say("changed", updated_at.as_str());
        match &self.origins {
            None => say("origins", "all: pages of any site may send"),
            Some(origins) => {
                for origin in origins {
                    say("origin", origin);
                }
            }
        }
        let fields = self.fields.as_deref().map(|fields| Fields::parse(fields.get()));
        match fields.as_ref().map(|fields| fields.as_ref().map(Fields::defined)) {
            Some(Ok(Some(defined))) => {
                for field in defined {
                    say("field", &told(field));
                }
            }
            Some(Ok(None)) | None => say("fields", "none: any answers are taken"),
            Some(Err(error)) => say("fields", &format!("cannot be read: {error}")),
        }
        lines
    }
}

/// A field in a line.
fn told(field: &Field) -> String {
    let mut told = format!("{}: {}", field.label, field.kind.name());
    if field.required {
        told.push_str(", required");
    }
    let bounds = match &field.kind {
        FieldKind::Text { max_length } | FieldKind::LongText { max_length } => {
            format!(", at most {max_length} characters")
        }
        FieldKind::Number { min, max } => range(min.as_ref(), max.as_ref(), |n| n.as_str()),
        FieldKind::Date { min, max } => range(min.as_ref(), max.as_ref(), |date| date.as_str()),
        FieldKind::Choice { choices } | FieldKind::MultipleChoice { choices } => {
            format!(" of {}", choices.join(", "))
        }
        FieldKind::Email | FieldKind::Checkbox => String::new(),
    };
    told + &bounds
}

fn range<T>(min: Option<&T>, max: Option<&T>, text: impl Fn(&T) -> &str) -> String {
    let bound = |word, bound: Option<&T>| bound.map(|bound| format!(", {word} {}", text(bound)));
    let bounds = [bound("from", min), bound("to", max)];
    bounds.into_iter().flatten().collect()
}
