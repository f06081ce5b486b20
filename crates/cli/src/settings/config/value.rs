//! Values of settings as written in a file, a flag or a variable, and their rules.

use std::fmt;

use toml_edit::{Array, Item};

use super::keys::Kind;
use crate::base::masked::secret_prefix;
use crate::settings::args;
use crate::settings::{base_url, check_profile};

/// Longest part of a value that a message repeats, in characters.
const SHOWN_MAX: usize = 60;

/// A value, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text, a number, true or false.
    Text(String),
    /// A list of texts.
    Words(Vec<String>),
    /// A TOML type that no setting has.
    Other(&'static str),
}

impl Value {
    pub(super) fn from_toml(item: &Item) -> Self {
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

    /// Parses an argument of `config set`. A list is written in TOML, or as words with spaces between them.
    pub(crate) fn from_argument(text: &str, kind: Kind) -> Result<Self, String> {
        if kind != Kind::Words {
            return Ok(Self::Text(text.to_owned()));
        }
        if text.trim_start().starts_with('[') {
            let list = text.parse::<toml_edit::Value>().map_err(|_| kind.rule())?;
            return Ok(Self::from_toml(&Item::Value(list)));
        }
        // `api_key_command` runs without a shell, so characters that only a shell interprets are an error.
        if text.contains(['\'', '"', '\\', '$', '|', ';', '&', '<', '>', '`']) {
            return Err(kind.rule());
        }
        Ok(Self::Words(text.split_whitespace().map(str::to_owned).collect()))
    }

    /// Checks the value. The error is the rule.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), String> {
        let is_valid = match (self, kind) {
            (Self::Words(words), Kind::Words) => words.first().is_some_and(|word| !word.is_empty()),
            (Self::Words(words), Kind::Hosts) => words.iter().all(|host| is_host(host)),
            (Self::Text(text), _) => is_valid(text, kind),
            _ => false,
        };
        if is_valid { Ok(()) } else { Err(kind.rule()) }
    }

    pub(super) fn to_toml(&self, kind: Kind) -> Item {
        match (self, kind) {
            (Self::Text(text), Kind::Switch | Kind::Pager) if text == "true" || text == "false" => {
                toml_edit::value(text == "true")
            }
            (Self::Text(text), Kind::Rate) => match text.parse::<u32>() {
                Ok(rate) => toml_edit::value(i64::from(rate)),
                Err(_) => toml_edit::value(text),
            },
            (Self::Words(words), _) => toml_edit::value(words.iter().collect::<Array>()),
            (other, _) => toml_edit::value(other.text()),
        }
    }

    /// Returns the value as one text: the words of a list with spaces between them.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(words) => words.join(" "),
            Self::Other(kind) => format!("({kind})"),
        }
    }
}

impl fmt::Display for Value {
    /// Writes the value for a message: shortened, and without passwords and keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.contains('@') || secret_prefix(text).is_some() => {
                f.write_str("the given value")
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

fn is_valid(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::ProfileName => check_profile(text).is_ok(),
        Kind::BaseUrl => base_url::parse(text).is_ok(),
        Kind::Hosts => hosts(text).next().is_some() && hosts(text).all(is_host),
        Kind::Pager => !text.trim().is_empty() && text != "true",
        Kind::Duration => args::duration(text).is_ok(),
        Kind::Rate => args::rate(text).is_ok(),
        Kind::Words => false,
        _ => kind.choices().iter().any(|choice| choice == text),
    }
}

/// Splits a list of hosts at commas and spaces.
pub(crate) fn hosts(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ']).filter(|host| !host.is_empty())
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c))
}
