//! Output of `formsvc contract check`.

use formsvc_contract::api::Profile;
use formsvc_contract::report::Report;
use formsvc_contract::sender::SenderProfile;
use serde::Serialize;

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

/// Creates the listing, before any request is sent: it reports wrong output flags.
pub(super) fn listing(cx: &Context) -> Result<Listing, CliError> {
    cx.output.listing(if cx.output.has_columns() { COLUMNS } else { JSON_FIELDS })
}

/// Prints one object as JSON, else one entry for each check.
pub(super) fn print(
    cx: &Context,
    mut listing: Listing,
    results: &Results,
    checks: &[Check],
) -> Result<(), CliError> {
    if !cx.output.has_columns() {
        listing.push(results);
        return cx.output.item(&listing);
    }
    checks::print(cx, listing, checks, &results.checks)
}

/// Returns the check of a report.
pub(super) fn check(report: &Report) -> Check {
    let info = &report.check;
    let request = report.request.as_ref();
    let expected = || {
        let request = request.map_or(String::new(), |request| format!("; request: {request}"));
        format!("{} (SPEC §{}){request}", info.statement, info.section)
    };
    let has_failed = report.outcome == Outcome::Failed;
    // Submissions are personal data, and reports are stored for a long time.
    let is_private = request.is_some_and(|path| path.contains("/submissions"));
    let response = report.answer.as_ref().filter(|_| !is_private || report.status != Some(200));
    let details = [
        Some(format!("statement: SPEC §{}: {}", info.section, info.statement)),
        request.map(|request| format!("request: {request}")),
        report.status.map(|status| format!("status: {status}")),
        response.map(|response| format!("response: {response}")),
        Some(format!("fix: {}", info.fix)),
    ];
    Check {
        expected: has_failed.then(expected),
        hint: has_failed.then(|| info.fix.to_owned()),
        details: details.into_iter().flatten().collect(),
        took: report.took,
        ..Check::new(info.id, report.outcome, &*report.found)
    }
}
