//! Output of `formsvc contract check`.

use formsvc_contract::api::Profile;
use formsvc_contract::report::{Report, Verdict};
use formsvc_contract::sender::SenderProfile;
use serde::Serialize;

use crate::checks::junit::{JunitCase, JunitOutcome};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{Field, Finding, Listing};

/// Columns of tables, CSV and TSV.
const COLUMNS: &[Field] = &[
    Field::new("check"),
    Field::status("verdict"),
    Field::new("section"),
    Field::new("found"),
    Field::new("hint"),
];

/// Fields of JSON.
pub(in crate::cmd) const JSON_FIELDS: &[Field] =
    &[Field::new("checks"), Field::object("profile"), Field::object("deliveries")];

/// All results of a run.
#[derive(Serialize)]
pub(super) struct Results {
    pub(super) checks: Vec<Report>,
    pub(super) profile: Option<Profile>,
    pub(super) deliveries: Option<SenderProfile>,
}

#[derive(Serialize)]
struct Row<'a> {
    check: &'a str,
    verdict: &'a str,
    section: String,
    found: &'a str,
    hint: Option<&'a str>,
}

/// Creates the listing, before any request is sent: it reports wrong output flags.
pub(super) fn listing(cx: &Context) -> Result<Listing, CliError> {
    cx.output.listing(if cx.output.has_columns() { COLUMNS } else { JSON_FIELDS })
}

/// Shows a block for each check on a terminal, rows in other columns, and one object as JSON.
pub(super) fn show(cx: &Context, mut listing: Listing, results: &Results) -> Result<(), CliError> {
    if !cx.output.has_columns() {
        listing.push(results);
        return cx.output.item(&listing);
    }
    let found: Vec<String> = results.checks.iter().map(describe).collect();
    let findings = results.checks.iter().zip(&found).map(|(report, found)| Finding {
        outcome: report.verdict.name(),
        name: report.check.id,
        found,
        hint: hint(report),
    });
    let findings: Vec<Finding<'_>> = findings.collect();
    if cx.output.findings(&findings, &Verdict::ALL.map(Verdict::name))? {
        return Ok(());
    }
    for report in &results.checks {
        listing.push(&Row {
            check: report.check.id,
            verdict: report.verdict.name(),
            section: format!("SPEC §{}", report.check.section),
            found: &report.found,
            hint: hint(report),
        });
    }
    cx.output.list(listing)
}

/// Fails if a check failed.
pub(super) fn end(results: &Results) -> Result<(), CliError> {
    let failed = results.checks.iter().filter(|report| report.verdict == Verdict::Fail);
    let failed: Vec<&Report> = failed.collect();
    let (what, hint) = match &*failed {
        [] => return Ok(()),
        [one] => (
            format!("the check `{}` failed: {}", one.check.id, one.found),
            one.check.fix.to_owned(),
        ),
        all => {
            let ids: Vec<&str> = all.iter().map(|report| report.check.id).collect();
            let hint = format!("run them again with `--only {}`", ids.join(","));
            (format!("{} of {} checks failed", all.len(), results.checks.len()), hint)
        }
    };
    Err(CliError::coded(Code::CheckFailed, what).hint(hint))
}

pub(super) fn junit_case(report: &Report) -> JunitCase<'_> {
    let check = &report.check;
    // Submissions are personal data, and reports are stored for long.
    let is_private = report.request.as_ref().is_some_and(|path| path.contains("/submissions"));
    let answer = report.answer.as_ref().filter(|_| !is_private || report.status != Some(200));
    let lines = [
        Some(format!("statement: SPEC §{}: {}", check.section, check.statement)),
        report.request.as_ref().map(|request| format!("request: {request}")),
        report.status.map(|status| format!("status: {status}")),
        answer.map(|answer| format!("answer: {answer}")),
        Some(format!("fix: {}", check.fix)),
    ];
    JunitCase {
        name: check.id,
        outcome: match report.verdict {
            Verdict::Pass => JunitOutcome::Passed,
            Verdict::Fail => JunitOutcome::Failed,
            Verdict::Skipped => JunitOutcome::Skipped,
        },
        found: &report.found,
        details: lines.into_iter().flatten().collect(),
        took: report.took,
    }
}

/// The finding; if the check failed, also the statement and the exchange.
fn describe(report: &Report) -> String {
    let check = &report.check;
    if report.verdict != Verdict::Fail {
        return report.found.clone();
    }
    let request = report.request.as_ref().map(|request| format!("; request: {request}"));
    format!(
        "{}; expected: {} (SPEC §{}){}",
        report.found,
        check.statement,
        check.section,
        request.unwrap_or_default()
    )
}

fn hint(report: &Report) -> Option<&'static str> {
    (report.verdict == Verdict::Fail).then_some(report.check.fix)
}
