//! Prints the checks and their results.

use formsvc_contract::receiver::{ReceiverCheck, ReceiverReport};
use formsvc_workbench::record::millis;
use serde::Serialize;

use crate::checks::junit::JunitCase;
use crate::checks::{self, Check, Outcome};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Field, Listing};

/// The fields of a result.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("check"),
    Field::status("outcome"),
    Field::new("section"),
    Field::new("found"),
    Field::new("hint"),
    Field::new("sends").json_only(),
    Field::new("wants").json_only(),
    Field::new("why").json_only(),
    Field::new("requests").json_only(),
    Field::new("took_ms").json_only(),
];

/// The fields of `--list`.
pub(super) const LIST_FIELDS: &[Field] = &[
    Field::new("check"),
    Field::new("section"),
    Field::new("sends"),
    Field::new("wants"),
    Field::new("why").json_only(),
    Field::new("fix").json_only(),
];

/// The JSON of a check.
#[derive(Serialize)]
struct CheckRecord<'a> {
    check: &'a str,
    section: String,
    sends: &'a str,
    wants: &'a str,
    why: &'a str,
    fix: &'a str,
}

/// The JSON of a result.
#[derive(Serialize)]
struct ResultRecord<'a> {
    #[serde(flatten)]
    check: CheckRecord<'a>,
    outcome: Outcome,
    found: &'a str,
    hint: Option<&'a str>,
    requests: usize,
    took_ms: f64,
}

/// Prints the results. Returns an error if a check failed.
pub(super) fn print(
    cx: &Context,
    listing: Listing,
    reports: &[ReceiverReport],
) -> Result<(), CliError> {
    let summary = |report: &ReceiverReport| {
        Check::new(report.check.id, report.outcome, found(report)).hint(hint(report))
    };
    let summaries: Vec<Check> = reports.iter().map(summary).collect();
    let rows = reports.iter().map(|report| ResultRecord {
        check: record(report.check),
        outcome: report.outcome,
        found: &report.found,
        hint: hint(report),
        requests: report.requests,
        took_ms: millis(report.took),
    });
    checks::print(cx, listing, &summaries, &rows.collect::<Vec<_>>())?;
    checks::result(&summaries, Some("--only"))
}

/// Lists checks.
pub(super) fn list(
    cx: &Context,
    mut listing: Listing,
    checks: &[&ReceiverCheck],
) -> Result<(), CliError> {
    for check in checks {
        listing.push(&record(check));
    }
    cx.output.list(&listing)
}

fn record(check: &ReceiverCheck) -> CheckRecord<'_> {
    let ReceiverCheck { id, section, sends, wants, why, fix, .. } = check;
    CheckRecord { check: id, section: format!("SPEC §{section}"), sends, wants, why, fix }
}

/// Returns the finding of a check. A warning or a failure also names the expected response.
fn found(report: &ReceiverReport) -> String {
    let (found, check) = (&report.found, report.check);
    match report.outcome {
        Outcome::Passed | Outcome::Skipped => found.clone(),
        Outcome::Warning | Outcome::Failed => {
            format!("{found}; expected: {}, because {}", check.wants, check.why)
        }
    }
}

/// Returns the fix after a warning or a failure.
fn hint(report: &ReceiverReport) -> Option<&'static str> {
    matches!(report.outcome, Outcome::Warning | Outcome::Failed).then_some(report.check.fix)
}

/// Returns the test case of a JUnit report.
pub(super) fn junit_case(report: &ReceiverReport) -> JunitCase<'_> {
    let check = report.check;
    JunitCase {
        name: check.id,
        outcome: report.outcome,
        found: &report.found,
        details: vec![
            format!("sent: {}", check.sends),
            format!("expected: {}", check.wants),
            format!("why: SPEC §{}: {}", check.section, check.why),
            format!("fix: {}", check.fix),
        ],
        took: report.took,
    }
}
