//! What `doctor` and `auth doctor` look at: checks, each with what was found and what to do about it.

mod files;
pub(crate) mod junit;
mod keys;

use serde::Serialize;

use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{Field, Finding, Listing};

pub(crate) use keys::keys;

/// What a check shows.
pub(crate) const FIELDS: &[Field] =
    &[Field::new("check"), Field::status("outcome"), Field::new("found"), Field::new("hint")];

/// What came of looking at one thing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    /// What was looked at, in a word or two.
    #[serde(rename = "check")]
    pub(crate) name: &'static str,
    /// Whether it is as it should be.
    pub(crate) outcome: Outcome,
    /// What was found. No key is in it.
    pub(crate) found: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It is.
    Ok,
    /// It works, and may not be what is meant.
    Warn,
    /// It does not work.
    Fail,
    /// It was not looked at: what comes before it does not work, or nobody needs it.
    Skip,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Ok, Self::Warn, Self::Fail, Self::Skip];

    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

impl Check {
    /// It is as it should be.
    pub(crate) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, outcome: Outcome::Ok, found: found.into(), hint: None }
    }

    /// It works, and may not be what is meant.
    pub(crate) fn warn(name: &'static str, found: impl Into<String>) -> Self {
        Self { outcome: Outcome::Warn, ..Self::ok(name, found) }
    }

    /// It does not work.
    pub(crate) fn fail(name: &'static str, found: impl Into<String>) -> Self {
        Self { outcome: Outcome::Fail, ..Self::ok(name, found) }
    }

    /// It was not looked at, and why.
    pub(crate) fn skip(name: &'static str, found: impl Into<String>) -> Self {
        Self { outcome: Outcome::Skip, ..Self::ok(name, found) }
    }

    /// With what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn finding(&self) -> Finding<'_> {
        Finding {
            outcome: self.outcome.word(),
            name: self.name,
            found: &self.found,
            hint: self.hint.as_deref(),
        }
    }

    /// Prints a warning or a failure, with its hint, on standard error.
    fn tell(&self, cx: &Context) {
        let text = format!("{}: {}", self.name, self.found);
        match self.outcome {
            Outcome::Ok | Outcome::Skip => return,
            Outcome::Warn => cx.progress.warn(&text),
            Outcome::Fail => cx.progress.remark(&format!("failed: {text}")),
        }
        if let Some(hint) = &self.hint {
            cx.progress.remark(&format!("hint: {hint}"));
        }
    }

    /// It does not work, for the reason an error gives.
    pub(crate) fn failed(name: &'static str, error: &CliError) -> Self {
        Self { hint: error.advice().map(str::to_owned), ..Self::fail(name, error.brief()) }
    }
}

/// Shows the results. Fails if a check failed.
pub(crate) fn show(cx: &Context, mut listing: Listing, checks: &[Check]) -> Result<(), CliError> {
    let findings: Vec<Finding<'_>> = checks.iter().map(Check::finding).collect();
    if !cx.output.findings(&findings, &Outcome::ALL.map(Outcome::word))? {
        for check in checks {
            listing.push(check);
        }
        cx.output.list(listing)?;
        if cx.output.is_for_reading() {
            // A row may have no room for them, and they are worth nothing when they are cut.
            for check in checks {
                check.tell(cx);
            }
        }
    }
    match checks.iter().filter(|check| check.outcome == Outcome::Fail).count() {
        0 => Ok(()),
        1 => Err(CliError::coded(Code::CheckFailed, "1 check failed")),
        failed => Err(CliError::coded(Code::CheckFailed, format!("{failed} checks failed"))),
    }
}
