//! Why a body is not an event, without text of the body.

use std::fmt;

use serde_json::error::Category;

/// A signed body that is not an event (SPEC §6). Contains no text of the body: only fields that the
/// specification defines are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    problem: EventProblem,
    field: Option<&'static str>,
    position: Option<(usize, usize)>,
}

/// The kind of an [`EventError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventProblem {
    /// The body is not UTF-8.
    NotUtf8,
    /// The body is not JSON.
    NotJson,
    /// The body ends in the middle of a JSON value.
    Truncated,
    /// The body is a JSON value, but not an object.
    NotAnObject,
    /// A field is missing or null.
    MissingField,
    /// A field has the wrong type or format.
    InvalidField,
    /// A field occurs more than once.
    RepeatedField,
}

impl EventError {
    pub(crate) fn field(problem: EventProblem, field: &'static str) -> Self {
        Self { problem, field: Some(field), position: None }
    }

    pub(crate) fn body(problem: EventProblem) -> Self {
        Self { problem, field: None, position: None }
    }

    /// An error at a byte offset of the body.
    pub(crate) fn at(self, body: &[u8], offset: usize) -> Self {
        let before = &body[..offset];
        let lines = before.split(|byte| *byte == b'\n').map(<[u8]>::len).enumerate();
        let (line, column) = lines.last().map_or((1, 1), |(line, len)| (line + 1, len + 1));
        Self { position: Some((line, column)), ..self }
    }

    /// The error of a JSON object that could not be read.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Eof => EventProblem::Truncated,
            Category::Syntax | Category::Io => EventProblem::NotJson,
            // The type that is read accepts any value in any field, so only a repetition remains.
            Category::Data => EventProblem::RepeatedField,
        };
        Self { problem, field: None, position: Some((error.line(), error.column())) }
    }

    /// The kind of the problem.
    pub fn problem(&self) -> EventProblem {
        self.problem
    }

    /// The field with the problem, such as `form_title`; `None` if the body as a whole is wrong.
    pub fn field_name(&self) -> Option<&'static str> {
        self.field
    }

    /// Line and column of the problem in the body, both from 1, the column in bytes.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "`{field}` ")?,
            None => f.write_str("the body ")?,
        }
        f.write_str(match self.problem {
            EventProblem::NotUtf8 => "is not UTF-8",
            EventProblem::NotJson => "is not JSON",
            EventProblem::Truncated => "is incomplete JSON",
            EventProblem::NotAnObject => "is not a JSON object",
            EventProblem::MissingField => "is missing",
            EventProblem::InvalidField => "has the wrong type or format",
            EventProblem::RepeatedField => "contains a field twice",
        })?;
        match self.position {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for EventError {}
