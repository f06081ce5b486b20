//! Values as they are written, and the rules they keep.

use std::fmt;

use clap::ValueEnum;
use formsvc_client::BaseUrl;
use toml_edit::{Array, Item};

use super::keys::Kind;
use crate::error::ErrorFormat;
use crate::output::{Color, OutputFormat, TimeStyle};
use crate::settings::args::{self};
use crate::settings::check_profile;

/// Longest part of a value that a message repeats.
const SHOWN_MAX: usize = 60;

/// A value as it is written in a file, a flag or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text; also a number, true or false.
    Text(String),
    /// A list of texts.
    Words(Vec<String>),
    /// Something no setting can be, by its name in TOML.
    Other(&'static str),
}

impl Value {
    /// Reads what a file has.
    pub(super) fn of_item(item: &Item) -> Self {
        match item {
            Item::Value(toml_edit::Value::String(text)) => Self::Text(text.value().clone()),
            Item::Value(toml_edit::Value::Integer(number)) => {
                Self::Text(number.value().to_string())
            }
            Item::Value(toml_edit::Value::Boolean(switch)) => {
                Self::Text(switch.value().to_string())
            }
            Item::Value(toml_edit::Value::Array(array)) => {
                let words = array.iter().map(|word| word.as_str().map(str::to_owned));
                words.collect::<Option<_>>().map_or(Self::Other("array"), Self::Words)
            }
            other => Self::Other(other.type_name()),
        }
    }

    /// Reads what somebody typed for a setting: a list is written as in the file, or as words.
    pub(crate) fn typed(text: &str, kind: Kind) -> Result<Self, String> {
        if kind != Kind::Words {
            return Ok(Self::Text(text.to_owned()));
        }
        if text.trim_start().starts_with('[') {
            return match text.parse::<toml_edit::Value>() {
                Ok(list) => Ok(Self::of_item(&Item::Value(list))),
                Err(_) => Err(kind.rule()),
            };
        }
        // No shell reads it, so that what only a shell understands must not look as if one did.
        if text.contains(['\'', '"', '\\', '$', '|', ';', '&', '<', '>', '`']) {
            return Err(kind.rule());
        }
        Ok(Self::Words(text.split_whitespace().map(str::to_owned).collect()))
    }

    /// Holds it to a rule; the error is the rule.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), String> {
        let kept = match (self, kind) {
            (Self::Words(words), Kind::Words) => words.first().is_some_and(|word| !word.is_empty()),
            (Self::Text(text), _) => keeps(text, kind),
            _ => false,
        };
        if kept { Ok(()) } else { Err(kind.rule()) }
    }

    /// As a file has it.
    pub(super) fn to_item(&self, kind: Kind) -> Item {
        match (self, kind) {
            (Self::Text(text), Kind::Switch | Kind::Pager) if text == "true" || text == "false" => {
                toml_edit::value(text == "true")
            }
            (Self::Text(text), Kind::Rate) if text.parse::<u32>().is_ok() => {
                toml_edit::value(i64::from(text.parse::<u32>().unwrap_or_default()))
            }
            (Self::Words(words), _) => toml_edit::value(words.iter().collect::<Array>()),
            (text, _) => toml_edit::value(text.text()),
        }
    }

    /// As one text: the words of a list with spaces between them.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(words) => words.join(" "),
            Self::Other(kind) => format!("({kind})"),
        }
    }
}

impl fmt::Display for Value {
    /// For messages: short, and without what may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.contains('@') || text.starts_with("fsk_") => {
                f.write_str("what was given")
            }
            Self::Text(text) if text.chars().nth(SHOWN_MAX).is_some() => {
                write!(f, "`{}…`", text.chars().take(SHOWN_MAX).collect::<String>())
            }
            Self::Text(text) => write!(f, "`{text}`"),
            Self::Words(_) => f.write_str("a list of words"),
            Self::Other(kind) => write!(f, "a TOML {kind}"),
        }
    }
}

fn keeps(text: &str, kind: Kind) -> bool {
    fn is<T: ValueEnum>(text: &str) -> bool {
        T::from_str(text, false).is_ok()
    }
    match kind {
        Kind::ProfileName => check_profile(text).is_ok(),
        Kind::BaseUrl => BaseUrl::parse(text).is_ok(),
        Kind::Output => is::<OutputFormat>(text),
        Kind::Times => is::<TimeStyle>(text),
        Kind::Color => is::<Color>(text),
        Kind::ErrorFormat => is::<ErrorFormat>(text),
        Kind::Store | Kind::Switch => kind.choices().iter().any(|choice| choice == text),
        Kind::Pager => !text.trim().is_empty() && text != "true",
        Kind::Duration => args::duration(text).is_ok(),
        Kind::Rate => args::rate(text).is_ok(),
        Kind::Words => false,
    }
}
