//! Prints checks and their results.

use formsvc_contract::receiver::{ReceiverCheck, ReceiverReport};

use super::record::CheckRecord;
use crate::checks::junit::JunitCase;
use crate::checks::{self, Check, Outcome};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Detail, Listing};

/// Prints the results. Returns an error if a check failed.
pub(super) fn reports(
    cx: &Context,
    listing: Listing,
    reports: &[ReceiverReport],
) -> Result<(), CliError> {
    let summary = |report: &ReceiverReport| {
        Check::new(report.check.id, report.outcome, found(report)).hint(hint(report))
    };
    let summaries: Vec<Check> = reports.iter().map(summary).collect();
    let rows: Vec<_> = reports.iter().map(CheckRecord::of_report).collect();
    checks::print(cx, listing, &summaries, &rows)?;
    checks::result(&summaries, Some("--only"))
}

/// Lists checks. On a terminal, each check is a block of complete texts; otherwise each check is a row.
pub(super) fn list(
    cx: &Context,
    mut listing: Listing,
    checks: &[&ReceiverCheck],
) -> Result<(), CliError> {
    if cx.output.is_for_reading() && cx.settings.terminal.stdout {
        let block = |check: &&ReceiverCheck| {
            let ReceiverCheck { id, section, sends, wants, .. } = check;
            let text = format!("sends {sends}\nwants {wants}");
            (format!("{id} (SPEC §{section})").into(), text.into())
        };
        let answers = checks.iter().map(block).collect();
        return cx.output.detail(&Detail { own: Vec::new(), answers });
    }
    for check in checks {
        listing.push(&CheckRecord::of_check(check));
    }
    cx.output.list(listing)
}

/// Returns what the check found, and after a warning or a failure what was expected.
fn found(report: &ReceiverReport) -> String {
    let (found, check) = (&report.found, report.check);
    match report.outcome {
        Outcome::Passed | Outcome::Skipped => found.clone(),
        Outcome::Warning | Outcome::Failed => {
            format!("{found}; expected: {} (SPEC §{}: {})", check.wants, check.section, check.why)
        }
    }
}

/// Returns the fix after a warning or a failure.
pub(super) fn hint(report: &ReceiverReport) -> Option<&'static str> {
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
