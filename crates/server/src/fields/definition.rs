//! Definitions of fields: read as an operator writes them, and printed.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::FieldsError;
use super::input::{PAGE_ID, TRAP};
use super::kind::{FieldKind, KINDS};
use super::shape;
use super::{DEFINITIONS_MAX, FIELDS_MAX, Field, HELP_MAX, LABEL_MAX};
use crate::printable::Excerpt;

/// A field as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    label: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    required: bool,
    help: Option<String>,
    max_length: Option<u32>,
    // A number's digits, or a date in quotes.
    #[serde(borrow)]
    min: Option<&'a RawValue>,
    #[serde(borrow)]
    max: Option<&'a RawValue>,
    choices: Option<Vec<String>>,
}

/// The options that some kinds have.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) max_length: Option<u32>,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
    pub(super) choices: Option<Vec<String>>,
}

/// What is wrong with a field.
#[derive(Debug)]
pub(super) struct Flaw {
    value: String,
    rule: String,
}

impl Flaw {
    pub(super) fn new(value: &str, rule: impl Into<String>) -> Self {
        Self { value: Excerpt(value).to_string(), rule: rule.into() }
    }

    /// Refuses what is not one line of something.
    pub(super) fn of_line(what: &str, text: &str, characters: usize) -> Result<(), Self> {
        let rule = if text.trim().is_empty() {
            format!("is no {what}: it cannot be blank")
        } else if text.chars().count() > characters {
            format!("is no {what}: it has at most {characters} characters")
        } else if text.chars().any(char::is_control) {
            format!("is no {what}: it has no control characters")
        } else {
            return Ok(());
        };
        Err(Self::new(text, rule))
    }

    fn at(self, place: String) -> FieldsError {
        FieldsError { place, value: self.value, rule: self.rule }
    }
}

pub(super) fn parse(json: &str) -> Result<Vec<Field>, FieldsError> {
    let whole = |value: &str, rule: String| Flaw::new(value, rule).at("the fields".into());
    if json.len() > DEFINITIONS_MAX {
        let rule = format!("bytes of JSON are more than the {DEFINITIONS_MAX} allowed");
        return Err(whole(&json.len().to_string(), rule));
    }
    let written: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| {
        if json.trim().is_empty() {
            return whole("0", "bytes are no JSON array of fields".into());
        }
        let rule = if error.is_data() {
            "is not a JSON array of fields".to_owned()
        } else {
            format!("is no JSON at line {}, column {}", error.line(), error.column())
        };
        whole(json, rule)
    })?;
    if written.is_empty() || written.len() > FIELDS_MAX {
        let rule = format!("is the number of fields, and there must be 1 to {FIELDS_MAX}");
        return Err(whole(&written.len().to_string(), rule));
    }
    let mut places = HashMap::new();
    let mut fields = Vec::with_capacity(written.len());
    for (number, raw) in (1..).zip(written) {
        let field = read(raw, number)?;
        if let Some(first) = places.insert(field.label.clone(), number) {
            let rule = format!("is the label of field {first} already");
            return Err(Flaw::new(&field.label, rule).at(format!("field {number}")));
        }
        fields.push(field);
    }
    Ok(fields)
}

fn read(raw: &RawValue, number: usize) -> Result<Field, FieldsError> {
    let place = format!("field {number}");
    let written: Written<'_> =
        serde_json::from_str(raw.get()).map_err(|_| shape::flaw_of(raw).at(place.clone()))?;
    let label = written.label.clone();
    check_label(&label).map_err(|flaw| flaw.at(place.clone()))?;
    field(written).map_err(|flaw| flaw.at(format!("{place} (`{}`)", Excerpt(&label))))
}

fn check_label(label: &str) -> Result<(), Flaw> {
    Flaw::of_line("label", label, LABEL_MAX)?;
    if [TRAP, PAGE_ID].contains(&label) {
        return Err(Flaw::new(label, "is no label: the page of the form has a use for it"));
    }
    Ok(())
}

fn field(written: Written<'_>) -> Result<Field, Flaw> {
    if let Some(help) = &written.help {
        Flaw::of_line("help", help, HELP_MAX)?;
    }
    let Some(row) = KINDS.iter().find(|row| row.name == written.kind) else {
        let names: Vec<_> = KINDS.iter().map(|row| row.name).collect();
        return Err(Flaw::new(&written.kind, format!("is no type: {}", names.join(", "))));
    };
    for (name, given) in [
        ("max_length", written.max_length.is_some()),
        ("min", written.min.is_some()),
        ("max", written.max.is_some()),
        ("choices", written.choices.is_some()),
    ] {
        if given && !row.options.contains(&name) {
            return Err(Flaw::new(name, format!("is no option of the type `{}`", row.name)));
        }
    }
    let options = Options {
        max_length: written.max_length,
        min: written.min.map(bound),
        max: written.max.map(bound),
        choices: written.choices,
    };
    let kind = (row.make)(&options)?;
    Ok(Field { label: written.label, kind, required: written.required, help: written.help })
}

/// A bound: the text between quotes, or the digits as they stand.
fn bound(raw: &RawValue) -> String {
    formsvc_protocol::decode_string(raw.get()).into_owned()
}

/// The definitions as JSON that [`parse`] reads back to the same.
pub(super) fn print(fields: &[Field]) -> String {
    let written: Vec<_> = fields.iter().map(print_field).collect();
    format!("[{}]", written.join(","))
}

fn print_field(field: &Field) -> String {
    let mut members = Vec::new();
    let mut member = |name: &str, value: String| members.push(format!("\"{name}\":{value}"));
    let text = |text: &str| Value::from(text).to_string();
    member("label", text(&field.label));
    member("type", text(field.kind.name()));
    if field.required {
        member("required", "true".into());
    }
    if let Some(help) = &field.help {
        member("help", text(help));
    }
    match &field.kind {
        FieldKind::Text { max_length } | FieldKind::LongText { max_length } => {
            member("max_length", max_length.to_string());
        }
        FieldKind::Number { min, max } => {
            for (name, bound) in [("min", min), ("max", max)] {
                if let Some(bound) = bound {
                    member(name, bound.as_str().to_owned());
                }
            }
        }
        FieldKind::Date { min, max } => {
            for (name, bound) in [("min", min), ("max", max)] {
                if let Some(bound) = bound {
                    member(name, text(bound.as_str()));
                }
            }
        }
        FieldKind::Choice { choices } | FieldKind::MultipleChoice { choices } => {
            member("choices", json!(choices).to_string());
        }
        FieldKind::Email | FieldKind::Checkbox => {}
    }
    format!("{{{}}}", members.join(","))
}
