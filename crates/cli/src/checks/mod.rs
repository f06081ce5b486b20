//! Checks and their results, as `doctor`, `contract check` and `webhook check` report them.

pub(crate) mod junit;
mod keys;

pub(crate) use formsvc_contract::report::Outcome;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{Field, Finding, Listing};

pub(crate) use keys::keys;

/// The columns of `doctor`.
pub(crate) const FIELDS: &[Field] =
    &[Field::new("check"), Field::status("outcome"), Field::new("found"), Field::new("hint")];

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    #[serde(rename = "check")]
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    /// The reason of the outcome. Never contains a key.
    pub(crate) found: String,
    /// How to fix it.
    pub(crate) hint: Option<String>,
}

impl Check {
    pub(crate) fn new(name: &'static str, outcome: Outcome, found: impl Into<String>) -> Self {
        Self { name, outcome, found: found.into(), hint: None }
    }

    pub(crate) fn passed(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Outcome::Passed, found)
    }

    pub(crate) fn warning(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Outcome::Warning, found)
    }

    pub(crate) fn failed(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Outcome::Failed, found)
    }

    pub(crate) fn skipped(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Outcome::Skipped, found)
    }

    /// A failure with the message and the hint of an error.
    pub(crate) fn error(name: &'static str, error: &CliError) -> Self {
        Self::failed(name, error.brief()).hint(error.advice())
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}

/// Prints a block for each check on a terminal, else the rows.
pub(crate) fn print(
    cx: &Context,
    mut listing: Listing,
    checks: &[Check],
    rows: &[impl Serialize],
) -> Result<(), CliError> {
    let findings = checks.iter().map(|check| Finding {
        outcome: check.outcome.name(),
        name: check.name,
        found: &check.found,
        hint: check.hint.as_deref(),
    });
    let findings: Vec<Finding<'_>> = findings.collect();
    if cx.output.findings(&findings, &Outcome::ALL.map(Outcome::name))? {
        return Ok(());
    }
    for row in rows {
        listing.push(row);
    }
    cx.output.list(listing)
}

/// Returns an error that names the failed checks, if any. `only` is the flag that selects checks, if the
/// command has one.
pub(crate) fn result(checks: &[Check], only: Option<&str>) -> Result<(), CliError> {
    let failed = checks.iter().filter(|check| check.outcome == Outcome::Failed);
    let failed: Vec<&str> = failed.map(|check| check.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names = failed.join(", ");
    let message = format!("{} of {} checks failed: {names}", failed.len(), checks.len());
    let error = CliError::coded(Code::CheckFailed, message);
    Err(match only {
        Some(flag) => error.hint(format!("repeat with `{flag} {}`", failed.join(","))),
        None => error,
    })
}
