//! The kinds of fields: one table, from which definitions, the page and the documents follow.

use std::collections::HashSet;
use std::fmt;

use super::date::Date;
use super::definition::{Flaw, Options};
use super::number::Number;

/// Longest `text` unless its definition says otherwise, in characters.
const TEXT_LENGTH: u32 = 1_000;
/// Longest `long_text` unless its definition says otherwise, in characters.
const LONG_TEXT_LENGTH: u32 = 20_000;
/// Largest `max_length`.
const LENGTH_MAX: u32 = 200_000;
/// Choices of one field, at most.
const CHOICES_MAX: usize = 500;

/// What a field takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// One line of text.
    Text {
        /// Longest, in characters.
        max_length: u32,
    },
    /// Text of any number of lines.
    LongText {
        /// Longest, in characters; a line break is one.
        max_length: u32,
    },
    /// An e-mail address.
    Email,
    /// A JSON number.
    Number {
        /// Least.
        min: Option<Number>,
        /// Greatest.
        max: Option<Number>,
    },
    /// A day, `YYYY-MM-DD`.
    Date {
        /// First.
        min: Option<Date>,
        /// Last.
        max: Option<Date>,
    },
    /// One of several texts.
    Choice {
        /// The texts.
        choices: Vec<String>,
    },
    /// Any of several texts.
    MultipleChoice {
        /// The texts.
        choices: Vec<String>,
    },
    /// Yes or no. A required one must be yes.
    Checkbox,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// Its name in definitions, the value of `type`.
    pub name: &'static str,
    /// The options that a definition may have besides those of every kind.
    pub options: &'static [&'static str],
    /// What an answer is.
    pub meaning: &'static str,
    /// Makes one of its options.
    pub(super) make: fn(&Options) -> Result<FieldKind, Flaw>,
}

/// Every kind.
pub const KINDS: [KindRow; 8] = [
    row("text", &["max_length"], "one line of text", |options| {
        Ok(FieldKind::Text { max_length: length(options, TEXT_LENGTH)? })
    }),
    row("long_text", &["max_length"], "text of any number of lines", |options| {
        Ok(FieldKind::LongText { max_length: length(options, LONG_TEXT_LENGTH)? })
    }),
    row("email", &[], "an e-mail address", |_| Ok(FieldKind::Email)),
    row("number", &["min", "max"], "a number", |options| {
        let (min, max) = range(options, Number::parse)?;
        Ok(FieldKind::Number { min, max })
    }),
    row("date", &["min", "max"], "a day, `YYYY-MM-DD`", |options| {
        let (min, max) = range(options, Date::parse)?;
        Ok(FieldKind::Date { min, max })
    }),
    row("choice", &["choices"], "one of the choices", |options| {
        Ok(FieldKind::Choice { choices: choices(options)? })
    }),
    row("multiple_choice", &["choices"], "any of the choices", |options| {
        Ok(FieldKind::MultipleChoice { choices: choices(options)? })
    }),
    row("checkbox", &[], "yes or no", |_| Ok(FieldKind::Checkbox)),
];

const fn row(
    name: &'static str,
    options: &'static [&'static str],
    meaning: &'static str,
    make: fn(&Options) -> Result<FieldKind, Flaw>,
) -> KindRow {
    KindRow { name, options, meaning, make }
}

impl FieldKind {
    /// Its name in definitions.
    pub const fn name(&self) -> &'static str {
        let row = match self {
            Self::Text { .. } => 0,
            Self::LongText { .. } => 1,
            Self::Email => 2,
            Self::Number { .. } => 3,
            Self::Date { .. } => 4,
            Self::Choice { .. } => 5,
            Self::MultipleChoice { .. } => 6,
            Self::Checkbox => 7,
        };
        KINDS[row].name
    }
}

impl FieldKind {
    /// The bounds of an answer, as the end of a sentence that begins "must be" or "takes": "from 1 to
    /// 8", "18 or more", "2026-01-01 or later", "at most 80 characters"; `None` when there are none,
    /// or only the usual ones.
    pub fn bounds(&self) -> Option<String> {
        match self {
            Self::Text { max_length: TEXT_LENGTH }
            | Self::LongText { max_length: LONG_TEXT_LENGTH } => None,
            Self::Text { max_length } | Self::LongText { max_length } => {
                Some(format!("at most {max_length} characters"))
            }
            Self::Number { min, max } => between(min.as_ref(), max.as_ref(), ["more", "less"]),
            Self::Date { min, max } => between(min.as_ref(), max.as_ref(), ["later", "earlier"]),
            _ => None,
        }
    }
}

/// What lies between two bounds, in words.
fn between<T: fmt::Display>(
    min: Option<&T>,
    max: Option<&T>,
    [above, below]: [&str; 2],
) -> Option<String> {
    match (min, max) {
        (Some(min), Some(max)) => Some(format!("from {min} to {max}")),
        (Some(min), None) => Some(format!("{min} or {above}")),
        (None, Some(max)) => Some(format!("{max} or {below}")),
        (None, None) => None,
    }
}

fn length(options: &Options, usual: u32) -> Result<u32, Flaw> {
    match options.max_length {
        None => Ok(usual),
        Some(length) if (1..=LENGTH_MAX).contains(&length) => Ok(length),
        Some(length) => {
            Err(Flaw::new(&length.to_string(), "is no `max_length`: it goes from 1 to 200000"))
        }
    }
}

/// `min` and `max`, which must leave something between them.
fn range<T: Ord, E: Into<String>>(
    options: &Options,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<(Option<T>, Option<T>), Flaw> {
    let bound = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => parse(text).map(Some).map_err(|rule| Flaw::new(text, rule)),
    };
    let (min, max) = (bound(&options.min)?, bound(&options.max)?);
    match (&min, &max) {
        (Some(least), Some(most)) if least > most => {
            let min = options.min.as_deref().unwrap_or_default();
            Err(Flaw::new(min, "is a `min` above `max`"))
        }
        _ => Ok((min, max)),
    }
}

fn choices(options: &Options) -> Result<Vec<String>, Flaw> {
    let choices = options.choices.as_deref().unwrap_or_default();
    if choices.is_empty() || choices.len() > CHOICES_MAX {
        let rule = "is the number of `choices`, and there must be 1 to 500";
        return Err(Flaw::new(&choices.len().to_string(), rule));
    }
    let mut seen = HashSet::new();
    for choice in choices {
        Flaw::of_line("choice", choice, super::LABEL_MAX)?;
        if !seen.insert(choice) {
            return Err(Flaw::new(choice, "is a choice already"));
        }
    }
    Ok(choices.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_makes_the_kind_of_its_name() {
        let options = Options { choices: Some(vec!["a".into()]), ..Options::default() };
        for row in KINDS {
            assert_eq!((row.make)(&options).unwrap().name(), row.name);
        }
    }
}
