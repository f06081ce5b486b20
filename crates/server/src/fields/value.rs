//! What a value must be, kind by kind.

use serde_json::Value;

use super::date::Date;
use super::email;
use super::input::Sent;
use super::kind::FieldKind;
use super::number::Number;
use super::text::{self, Lines};
use super::{Field, FieldKind as Kind};
use crate::json_text::json_text;

/// What was sent for one field, brought to one form.
#[derive(Debug, PartialEq)]
enum Given {
    Nothing,
    Text(String),
    /// A JSON number, with its digits.
    Number(String),
    Bool(bool),
    /// Several texts.
    List(Vec<String>),
    /// What no field takes.
    Other,
}

/// Texts that a checkbox sends when it is ticked; the first is what our page sends.
const YES: [&str; 4] = ["on", "true", "yes", "1"];
/// Texts that say it is not.
const NO: [&str; 4] = ["off", "false", "no", "0"];

impl Given {
    fn of(sent: &[Sent<'_>]) -> Self {
        let texts = |texts: Vec<String>| match <[String; 1]>::try_from(texts) {
            Ok([text]) => Self::Text(text),
            Err(texts) => Self::List(texts),
        };
        match sent {
            [] => Self::Nothing,
            [Sent::Literal(literal)] => Self::of_literal(literal),
            several => {
                let several = several.iter().map(|sent| match sent {
                    Sent::Text(text) => Some(text::typed(text).into_owned()),
                    // A label that stands twice in one object: no list was meant.
                    Sent::Literal(_) => None,
                });
                several.collect::<Option<_>>().map_or(Self::Other, texts)
            }
        }
    }

    fn of_literal(literal: &str) -> Self {
        match literal.as_bytes().first() {
            Some(b'"') => {
                // Escapes that are not Unicode (a lone `\ud800`) are text to nobody.
                serde_json::from_str(literal).map_or(Self::Other, Self::Text)
            }
            Some(b'n') => Self::Nothing,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'[') => serde_json::from_str(literal).map_or(Self::Other, Self::List),
            Some(b'{') => Self::Other,
            _ => Self::Number(literal.to_owned()),
        }
    }

    /// One text; `None` when there is none or it is empty.
    fn text(self, what: &str) -> Result<Option<String>, String> {
        match self {
            Self::Nothing => Ok(None),
            Self::Text(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            Self::List(list) if list.is_empty() => Ok(None),
            Self::List(_) => Err("takes one value, and several were sent".into()),
            Self::Number(_) | Self::Bool(_) | Self::Other => Err(format!("must be {what}")),
        }
    }

    /// One text, without the white space around it.
    fn trimmed(self, what: &str) -> Result<Option<String>, String> {
        let text = self.text(what)?.map(|text| text.trim().to_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Texts that are not empty, each once.
    fn texts(self) -> Result<Vec<String>, String> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Text(text) => Ok(vec![text]),
            Self::List(texts) => Ok(texts),
            Self::Number(_) | Self::Bool(_) | Self::Other => {
                Err("must be a list of choices".into())
            }
        }
        .map(|mut texts| {
            texts.retain(|text| !text.is_empty());
            texts
        })
    }
}

/// The JSON literal that answers a field, `None` when it is left out, or the rule it breaks.
pub(super) fn literal(field: &Field, sent: &[Sent<'_>]) -> Result<Option<String>, String> {
    let given = Given::of(sent);
    let answer = match &field.kind {
        Kind::Text { max_length } => {
            checked_text(field, given, |text| text::refusal(text, Lines::One, *max_length))?
        }
        Kind::LongText { max_length } => {
            checked_text(field, given, |text| text::refusal(text, Lines::Any, *max_length))?
        }
        Kind::Email => {
            let address = given.trimmed(EMAIL)?;
            if address.as_deref().is_some_and(|address| !email::is_address(address)) {
                return Err(format!("must be {EMAIL}"));
            }
            address.as_deref().map(json_text)
        }
        Kind::Number { min, max } => {
            number(given, |number| within(&field.kind, number, min.as_ref(), max.as_ref()))?
        }
        Kind::Date { min, max } => {
            date(given, |day| within(&field.kind, day, min.as_ref(), max.as_ref()))?
        }
        Kind::Choice { choices } => {
            let choice = given.text("one of the choices")?;
            if choice.as_ref().is_some_and(|choice| !choices.contains(choice)) {
                return Err("must be one of the choices".into());
            }
            choice.as_deref().map(json_text)
        }
        Kind::MultipleChoice { choices } => several(given, choices)?,
        Kind::Checkbox => return checkbox(field, given).map(Some),
    };
    match answer {
        None if field.required => Err(match field.kind {
            FieldKind::Choice { .. } => "needs a choice".into(),
            FieldKind::MultipleChoice { .. } => "needs at least one choice".into(),
            _ => "needs an answer".into(),
        }),
        answer => Ok(answer),
    }
}

const EMAIL: &str = "an e-mail address, such as name@example.org";

fn checked_text(
    field: &Field,
    given: Given,
    refusal: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    let Some(text) = given.text("text")? else { return Ok(None) };
    if let Some(rule) = refusal(&text) {
        return Err(rule);
    }
    // White space alone answers nothing that must be answered.
    let blank = field.required && text.trim().is_empty();
    Ok((!blank).then(|| json_text(&text)))
}

fn number(
    given: Given,
    within: impl Fn(&Number) -> Result<(), String>,
) -> Result<Option<String>, String> {
    let digits = match given {
        Given::Number(literal) => Some(literal),
        other => other.trimmed("a number, such as -12.5")?,
    };
    let Some(digits) = digits else { return Ok(None) };
    within(&Number::parse(&digits)?)?;
    Ok(Some(digits))
}

fn date(
    given: Given,
    within: impl Fn(&Date) -> Result<(), String>,
) -> Result<Option<String>, String> {
    let Some(day) = given.trimmed("a day, such as 2026-01-31")? else { return Ok(None) };
    within(&Date::parse(&day)?)?;
    Ok(Some(json_text(&day)))
}

fn within<T: Ord>(
    kind: &FieldKind,
    value: &T,
    min: Option<&T>,
    max: Option<&T>,
) -> Result<(), String> {
    let outside = min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max);
    match kind.bounds() {
        Some(bounds) if outside => Err(format!("must be {bounds}")),
        _ => Ok(()),
    }
}

fn several(given: Given, choices: &[String]) -> Result<Option<String>, String> {
    let texts = given.texts()?;
    for (at, text) in texts.iter().enumerate() {
        if !choices.contains(text) {
            return Err("must be among the choices".into());
        }
        if texts[..at].contains(text) {
            return Err("takes each choice once".into());
        }
    }
    Ok((!texts.is_empty()).then(|| Value::from(texts).to_string()))
}

/// A box that is not ticked sends nothing, so that nothing is `false`.
fn checkbox(field: &Field, given: Given) -> Result<String, String> {
    let ticked = match given {
        Given::Nothing => false,
        Given::Bool(ticked) => ticked,
        Given::Text(text) if YES.contains(&&*text) => true,
        Given::Text(text) if text.is_empty() || NO.contains(&&*text) => false,
        Given::List(list) if list.is_empty() => false,
        Given::List(_) => return Err("takes one value, and several were sent".into()),
        Given::Text(_) | Given::Number(_) | Given::Other => {
            return Err("must be true or false".into());
        }
    };
    match ticked {
        false if field.required => Err("must be ticked".into()),
        ticked => Ok(ticked.to_string()),
    }
}
