//! Why what was sent is no answer.

use std::fmt;

/// A field that was not answered as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The label of the field, or the name that was sent and is none of the form's; such a name is
    /// cut when it is long, with what could disturb a terminal escaped.
    pub field: String,
    /// Which field of the form it is, from 0; `None` for a name that is none of the form's.
    pub place: Option<usize>,
    /// The rule, as the end of a sentence that begins with the field: "needs an answer".
    pub rule: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.rule)
    }
}

/// What was sent is no answers of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldErrors {
    /// These fields break a rule: those of the form in its order, then names that are not its own.
    /// There is one at least.
    Fields(Vec<FieldError>),
    /// The answers as a whole break a rule, given as a sentence.
    Whole(String),
}

impl FieldErrors {
    /// The fields that break a rule.
    pub fn fields(&self) -> &[FieldError] {
        match self {
            Self::Fields(fields) => fields,
            Self::Whole(_) => &[],
        }
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(rule) => f.write_str(rule),
            Self::Fields(fields) => {
                let Some((first, others)) = fields.split_first() else { return Ok(()) };
                first.fmt(f)?;
                match others.len() {
                    0 => Ok(()),
                    1 => f.write_str(", and one more field is not as it must be"),
                    n => write!(f, ", and {n} more fields are not as they must be"),
                }
            }
        }
    }
}

impl std::error::Error for FieldErrors {}
