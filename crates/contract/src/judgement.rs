//! The result of judging the API or a sender by one statement, before it becomes a report.

use formsvc_protocol::Timestamp;

/// A pass, with its value, or why the check does not pass.
pub(crate) type Judgement<T = ()> = Result<T, Problem>;

/// Why a check does not pass.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The exchange at this position violates the statement.
    Fail(usize, String),
    /// The exchanges do not show whether the statement holds.
    Skip(String),
}

impl Problem {
    /// Sets the position of a failure.
    pub(crate) fn at(self, position: usize) -> Self {
        match self {
            Self::Fail(_, found) => Self::Fail(position, found),
            skip @ Self::Skip(_) => skip,
        }
    }
}

pub(crate) fn fail(found: impl Into<String>) -> Problem {
    Problem::Fail(0, found.into())
}

pub(crate) fn skip(found: impl Into<String>) -> Problem {
    Problem::Skip(found.into())
}

/// Fails if the statement does not hold.
pub(crate) fn require(holds: bool, found: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(fail(found())) }
}

/// Returns true for `YYYY-MM-DDThh:mm:ss.sssZ`.
pub(crate) fn is_wire_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_spelled = bytes.len() == 24 && text.ends_with('Z');
    is_spelled && bytes[10] == b'T' && bytes[19] == b'.' && text.parse::<Timestamp>().is_ok()
}
