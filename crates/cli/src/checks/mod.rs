//! Checks and their results, as `doctor`, `auth doctor`, `contract check` and `webhook check` report them.

pub(crate) mod junit;
mod keys;

use std::time::Duration;

pub(crate) use formsvc_contract::report::Outcome;
use serde::Serialize;

use crate::base::text::count;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{Field, Finding, Listing};

pub(crate) use keys::keys;

/// The columns of `doctor` and `auth doctor`.
pub(crate) const FIELDS: &[Field] =
    &[Field::new("check"), Field::status("outcome"), Field::new("found"), Field::new("hint")];

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    #[serde(rename = "check")]
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    /// The reason of the outcome. May quote the server; never contains a key.
    pub(crate) found: String,
    /// The expected behavior, if it differs from what was found.
    #[serde(skip)]
    pub(crate) expected: Option<String>,
    /// How to fix it.
    #[serde(skip)]
    pub(crate) hint: Option<String>,
    /// Lines about the check in a report file. May quote the server.
    #[serde(skip)]
    pub(crate) details: Vec<String>,
    #[serde(skip)]
    pub(crate) took: Duration,
}

/// A row of a list of results. Only a failure or a warning has a hint.
#[derive(Serialize)]
struct Row<'a, R> {
    #[serde(flatten)]
    report: &'a R,
    hint: Option<&'a str>,
}

impl Check {
    pub(crate) fn new(name: &'static str, outcome: Outcome, found: impl Into<String>) -> Self {
        let (found, details, took) = (found.into(), Vec::new(), Duration::ZERO);
        Self { name, outcome, found, expected: None, hint: None, details, took }
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

/// Prints a block for each check on a terminal, else a row for each report. Report `i` belongs to check `i`.
pub(crate) fn print(
    cx: &Context,
    mut listing: Listing,
    checks: &[Check],
    reports: &[impl Serialize],
) -> Result<(), CliError> {
    let found = |check: &Check| match &check.expected {
        Some(expected) => format!("{}; expected: {expected}", check.found),
        None => check.found.clone(),
    };
    let found: Vec<String> = checks.iter().map(found).collect();
    let findings = checks.iter().zip(&found).map(|(check, found)| Finding {
        outcome: check.outcome.name(),
        name: check.name,
        found,
        hint: check.hint.as_deref(),
    });
    let findings: Vec<Finding<'_>> = findings.collect();
    if cx.output.findings(&findings, &Outcome::ALL.map(Outcome::name))? {
        return Ok(());
    }
    for (check, report) in checks.iter().zip(reports) {
        listing.push(&Row { report, hint: check.hint.as_deref() });
    }
    cx.output.list(&listing)
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
    let all = count(checks.len() as u64, "check");
    let message = format!("{} of {all} failed: {names}", failed.len());
    let error = CliError::coded(Code::CheckFailed, message);
    Err(match only {
        Some(flag) => error.hint(format!("repeat with `{flag} {}`", failed.join(","))),
        None => error,
    })
}
