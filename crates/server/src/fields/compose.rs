//! Answers to the fields of a form.

use std::borrow::Cow;
use std::collections::HashMap;

use formsvc_protocol::Answers;

use super::Field;
use super::input::{Input, PAGE_ID, Sent, TRAP};
use super::refusal::{FieldError, FieldErrors};
use super::value;
use crate::json_text::json_text;
use crate::printable::Excerpt;

/// Names that are none of the form's and are told, at most.
const STRANGERS_TOLD: usize = 20;

/// Judges each field and composes the answers in the form's order.
pub(super) fn answers(fields: &[Field], input: &Input) -> Result<Answers, FieldErrors> {
    let values = input.values();
    let mut sent: HashMap<&str, Vec<Sent<'_>>> = HashMap::new();
    for (name, value) in &values {
        sent.entry(name).or_default().push(*value);
    }
    let (mut members, mut errors) = (Vec::new(), Vec::new());
    for (place, field) in fields.iter().enumerate() {
        let given = sent.remove(&*field.label).unwrap_or_default();
        match value::literal(field, &given) {
            Ok(Some(literal)) => members.push(format!("{}:{literal}", json_text(&field.label))),
            Ok(None) => {}
            Err(rule) => {
                let field = field.label.clone();
                errors.push(FieldError { field, place: Some(place), rule });
            }
        }
    }
    errors.extend(strangers(&values, &sent));
    if !errors.is_empty() {
        return Err(FieldErrors::Fields(errors));
    }
    let object = format!("{{{}}}", members.join(","));
    Ok(Answers::parse(object).expect("labels and values are JSON"))
}

/// The names that no field took, in the order sent.
fn strangers<'a>(
    values: &'a [(Cow<'_, str>, Sent<'_>)],
    left: &'a HashMap<&str, Vec<Sent<'_>>>,
) -> impl Iterator<Item = FieldError> + 'a {
    let mut told: Vec<&str> = Vec::new();
    let names = values.iter().map(|(name, _)| &**name);
    names.filter(|name| left.contains_key(name) && ![TRAP, PAGE_ID].contains(name)).filter_map(
        move |name| {
            if told.len() == STRANGERS_TOLD || told.contains(&name) {
                return None;
            }
            told.push(name);
            let rule = "is no field of this form".into();
            Some(FieldError { field: Excerpt(name).to_string(), place: None, rule })
        },
    )
}
