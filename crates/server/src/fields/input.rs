//! What a visitor sent, whatever the encoding.

use std::borrow::Cow;
use std::collections::HashMap;

use formsvc_protocol::{Answers, NotAnObject, decode_string};

use crate::percent::{Plus, decode};

/// Name of the field that only robots fill in.
pub const TRAP: &str = "_gotcha";
/// Name of the field that tells one showing of the page from another.
pub const PAGE_ID: &str = "_id";

/// Values of one request, at most: 200 fields, and lists with many choices.
const VALUES_MAX: usize = 4_096;

/// What was sent: values by name, as they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Input(Content);

#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// `application/x-www-form-urlencoded` or `multipart/form-data`.
    Pairs(Vec<(String, String)>),
    Json(Answers),
}

/// The body is not what its content type says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Bytes that are not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// A `%` without two hex digits, or what is then not UTF-8.
    #[error("the body is not percent-encoded UTF-8")]
    NotEncoded,
    /// Not one JSON object.
    #[error("the body is not one JSON object of answers")]
    NotAnObject(#[source] NotAnObject),
    /// More values than any form takes.
    #[error("the body has {0} values, and at most 4096 are read")]
    TooMany(usize),
}

/// A value as it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent<'a> {
    Text(&'a str),
    /// A JSON literal.
    Literal(&'a str),
}

impl Input {
    /// Reads a body of `application/x-www-form-urlencoded`. Unlike decoders that
    /// replace what they cannot read it refuses: a value is kept as it was meant, or not at all.
    pub fn from_urlencoded(body: &[u8]) -> Result<Self, InputError> {
        check_value_count(body)?;
        let body = std::str::from_utf8(body).map_err(|_| InputError::NotUtf8)?;
        let pairs = body.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        let pairs = pairs.collect::<Result<_, _>>()?;
        Self::from_pairs(pairs)
    }

    /// Takes names and values that were decoded elsewhere, in the order sent.
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Result<Self, InputError> {
        if pairs.len() > VALUES_MAX {
            return Err(InputError::TooMany(pairs.len()));
        }
        Ok(Self(Content::Pairs(pairs)))
    }

    /// Reads a body of JSON, which must be one object.
    pub fn from_json(body: &[u8]) -> Result<Self, InputError> {
        let text = std::str::from_utf8(body).map_err(|_| InputError::NotUtf8)?;
        let answers = Answers::parse(text).map_err(InputError::NotAnObject)?;
        let values = answers.fields().len();
        if values > VALUES_MAX {
            return Err(InputError::TooMany(values));
        }
        Ok(Self(Content::Json(answers)))
    }

    /// The object, if it was sent as JSON.
    pub(super) fn json(&self) -> Option<&Answers> {
        match &self.0 {
            Content::Pairs(_) => None,
            Content::Json(answers) => Some(answers),
        }
    }

    /// Names and values in the order sent; a name that stands twice comes twice.
    pub(super) fn values(&self) -> Vec<(Cow<'_, str>, Sent<'_>)> {
        match &self.0 {
            Content::Pairs(pairs) => {
                let sent = pairs.iter().map(|(name, value)| {
                    (Cow::Borrowed(name.as_str()), Sent::Text(value.as_str()))
                });
                sent.collect()
            }
            Content::Json(answers) => {
                let fields = answers.fields().into_iter();
                fields.map(|(name, value)| (name, Sent::Literal(value.as_json()))).collect()
            }
        }
    }

    /// Whether a name of ours may have been sent. Most that is sent has none, which a look at the text
    /// of it all tells; an escape could spell it.
    pub(super) fn may_have(&self, name: &str) -> bool {
        match &self.0 {
            Content::Pairs(_) => true,
            Content::Json(answers) => {
                let json = answers.as_json();
                json.contains(name) || json.contains('\\')
            }
        }
    }

    /// Whether the field that only robots fill in is filled in.
    pub fn is_trapped(&self) -> bool {
        self.may_have(TRAP)
            && self.values().iter().any(|(name, value)| {
                name == TRAP
                    && match value {
                        Sent::Text(text) => !text.trim().is_empty(),
                        Sent::Literal(literal) => {
                            let nothing = ["null", "false", "[]", "{}"].contains(literal);
                            !nothing && !decode_string(literal).trim().is_empty()
                        }
                    }
            })
    }

    /// What tells one showing of the page from another, if it was sent, and not empty.
    pub fn page_id(&self) -> Option<String> {
        if !self.may_have(PAGE_ID) {
            return None;
        }
        self.texts().remove(PAGE_ID)?.into_iter().find(|id| !id.is_empty())
    }

    /// The texts that were sent, by name, for showing them again. What JSON has as anything but text is
    /// given as its literal; elements of lists one by one.
    pub fn texts(&self) -> HashMap<String, Vec<String>> {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for (name, value) in self.values() {
            let texts = all.entry(name.into_owned()).or_default();
            match value {
                Sent::Text(text) => texts.push(text.to_owned()),
                Sent::Literal(literal) => match serde_json::from_str::<Vec<String>>(literal) {
                    Ok(list) => texts.extend(list),
                    Err(_) => texts.push(decode_string(literal).into_owned()),
                },
            }
        }
        all
    }
}

/// Refuses a urlencoded body with too many values, before memory is taken for each of them.
pub(crate) fn check_value_count(body: &[u8]) -> Result<(), InputError> {
    let count = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).count();
    if count > VALUES_MAX { Err(InputError::TooMany(count)) } else { Ok(()) }
}

fn decoded(text: &str) -> Result<String, InputError> {
    decode(text, Plus::IsSpace).map(Cow::into_owned).ok_or(InputError::NotEncoded)
}
