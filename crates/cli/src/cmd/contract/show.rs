//! Output of `formsvc contract check`.

use formsvc_contract::api::Profile;
use formsvc_contract::report::Report;
use formsvc_contract::sender::SenderProfile;
use serde::Serialize;

use crate::checks::junit::JunitCase;
use crate::checks::{self, Check, Outcome};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Field, Listing};

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
#[derive(Default, Serialize)]
pub(super) struct Results {
    pub(super) checks: Vec<Report>,
    pub(super) profile: Option<Profile>,
    pub(super) deliveries: Option<SenderProfile>,
}

/// A row of a table, CSV or TSV.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    report: &'a Report,
    hint: Option<&'a str>,
}

/// Creates the listing, before any request is sent: it reports wrong output flags.
pub(super) fn listing(cx: &Context) -> Result<Listing, CliError> {
    cx.output.listing(if cx.output.has_columns() { COLUMNS } else { JSON_FIELDS })
}

/// Prints one object as JSON, else one entry for each check.
pub(super) fn print(cx: &Context, mut listing: Listing, results: &Results) -> Result<(), CliError> {
    if !cx.output.has_columns() {
        listing.push(results);
        return cx.output.item(&listing);
    }
    let rows = results.checks.iter().map(|report| Row { report, hint: hint(report) });
    checks::print(cx, listing, &summaries(results), &rows.collect::<Vec<_>>())
}

/// Returns the checks. The reason of a failure contains the statement and the request.
pub(super) fn summaries(results: &Results) -> Vec<Check> {
    let summary = |report: &Report| {
        let check = &report.check;
        let mut found = report.found.clone();
        if report.outcome == Outcome::Failed {
            found = format!("{found}; expected: {} (SPEC §{})", check.statement, check.section);
            found.extend(report.request.iter().map(|request| format!("; request: {request}")));
        }
        Check::new(check.id, report.outcome, found).hint(hint(report))
    };
    results.checks.iter().map(summary).collect()
}

/// Returns the fix of a failed check.
fn hint(report: &Report) -> Option<&'static str> {
    (report.outcome == Outcome::Failed).then_some(report.check.fix)
}

pub(super) fn junit_case(report: &Report) -> JunitCase<'_> {
    let check = &report.check;
    // Submissions are personal data, and reports are stored for a long time.
    let is_private = report.request.as_ref().is_some_and(|path| path.contains("/submissions"));
    let response = report.answer.as_ref().filter(|_| !is_private || report.status != Some(200));
    let lines = [
        Some(format!("statement: SPEC §{}: {}", check.section, check.statement)),
        report.request.as_ref().map(|request| format!("request: {request}")),
        report.status.map(|status| format!("status: {status}")),
        response.map(|response| format!("response: {response}")),
        Some(format!("fix: {}", check.fix)),
    ];
    JunitCase {
        name: check.id,
        outcome: report.outcome,
        found: &report.found,
        details: lines.into_iter().flatten().collect(),
        took: report.took,
    }
}
