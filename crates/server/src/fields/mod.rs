//! The fields of a form: what an operator defines, and what becomes of what a visitor sends.
//!
//! | Question | File |
//! |---|---|
//! | which kinds there are, and their options | `kind` |
//! | how definitions are written and judged | `definition`, `error` |
//! | what was sent, in whichever encoding | `input` |
//! | what a value must be, kind by kind | `value`, `text`, `email`, `number`, `date` |
//! | how values become answers | `compose`, `free` |
//! | why they do not | `refusal` |
//!
//! All of it is pure. Definitions are a JSON array:
//!
//! ```
//! use formsvc_server::fields::{Fields, Input};
//! let fields = Fields::parse(
//!     r#"[{"label": "E-mail", "type": "email", "required": true},
//!         {"label": "Guests", "type": "number", "min": 1, "max": 8}]"#,
//! )?;
//! let sent = Input::from_urlencoded(b"Guests=2&E-mail=ada%40example.org")?;
//! let answers = fields.answer(&sent)?;
//! assert_eq!(answers.as_json(), r#"{"E-mail":"ada@example.org","Guests":2}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compose;
mod date;
mod definition;
mod email;
mod error;
mod free;
mod input;
mod kind;
mod number;
mod refusal;
mod shape;
mod text;
mod value;

use formsvc_protocol::Answers;

pub use date::Date;
pub use error::FieldsError;
pub(crate) use free::{depth, has_no_text};
pub(crate) use input::check_value_count;
pub use input::{Input, InputError, PAGE_ID, TRAP};
pub use kind::{FieldKind, KINDS, KindRow};
pub use number::Number;
pub use refusal::{FieldError, FieldErrors};

/// Fields of one form, at most.
pub const FIELDS_MAX: usize = 200;
/// Longest label, in characters.
pub const LABEL_MAX: usize = 200;
/// Longest help text, in characters.
pub const HELP_MAX: usize = 1_000;
/// Longest definition of all fields of a form, in bytes of JSON: 256 KiB.
pub const DEFINITIONS_MAX: usize = 256 << 10;

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is called, on the page and in answers: one line of 1 to [`LABEL_MAX`] characters.
    pub label: String,
    /// What it takes.
    pub kind: FieldKind,
    /// Whether it must be answered.
    pub required: bool,
    /// What helps to answer it: one line of at most [`HELP_MAX`] characters.
    pub help: Option<String>,
}

/// The fields of a form, or that it has none of its own and takes what it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// `None` for a free form.
    defined: Option<Vec<Field>>,
}

impl Fields {
    /// A form without definitions: it takes any labels and any values, in these limits: 200 labels,
    /// and objects and lists nested 8 deep, the answers themselves counted.
    pub const fn free() -> Self {
        Self { defined: None }
    }

    /// Reads definitions as an operator writes them: a JSON array of 1 to 200 objects with `label`
    /// and `type`, and the options of the type ([`KINDS`]). Any other key is refused.
    pub fn parse(json: &str) -> Result<Self, FieldsError> {
        definition::parse(json).map(|fields| Self { defined: Some(fields) })
    }

    /// The definitions as compact JSON, which [`parse`](Self::parse) reads back to the same; `None`
    /// for a free form.
    pub fn to_json(&self) -> Option<String> {
        self.defined.as_deref().map(definition::print)
    }

    /// The fields in the order of the form; `None` for a free form.
    pub fn defined(&self) -> Option<&[Field]> {
        self.defined.as_deref()
    }

    /// Judges what was sent and composes the answers, in the order of the form.
    ///
    /// | Field | Not sent, sent empty, or null | JSON in the answers |
    /// |---|---|---|
    /// | `text`, `long_text`, `email`, `date`, `choice` | left out | a string |
    /// | `number` | left out | a number, with its digits as they were sent |
    /// | `multiple_choice` | left out | an array of strings, in the order sent |
    /// | `checkbox` | `false` | `true` or `false` |
    ///
    /// Line breaks that browsers send as CR LF become LF. A value that is none of the form's is an
    /// error, so that nothing is lost silently. In a free form nothing is left out: an object of
    /// JSON is kept to the byte, and a name that stands several times in another encoding becomes
    /// an array of strings. [`TRAP`] and [`PAGE_ID`] are never answers.
    pub fn answer(&self, input: &Input) -> Result<Answers, FieldErrors> {
        match &self.defined {
            Some(fields) => compose::answers(fields, input),
            None => free::answers(input),
        }
    }
}

#[cfg(test)]
mod tests;
