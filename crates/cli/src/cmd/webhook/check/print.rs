//! Prints checks and their results.

use formsvc_contract::receiver::{Outcome, ReceiverCheck, ReceiverReport};

use super::record::CheckRecord;
use crate::checks::junit::{JunitCase, JunitOutcome};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Detail, Finding, Listing};

/// Prints a block for each check on a terminal, else rows. A table may have no room for the problems, so they
/// are also printed to standard error.
pub(super) fn reports(
    cx: &Context,
    mut listing: Listing,
    reports: &[ReceiverReport],
) -> Result<(), CliError> {
    let found: Vec<String> = reports.iter().map(found).collect();
    let findings = reports.iter().zip(&found).map(|(report, found)| Finding {
        outcome: report.outcome.name(),
        name: report.check.id,
        found,
        hint: hint(report),
    });
    let findings: Vec<Finding<'_>> = findings.collect();
    if cx.output.findings(&findings, &Outcome::ALL.map(Outcome::name))? {
        return Ok(());
    }
    for report in reports {
        listing.push(&CheckRecord::of_report(report));
    }
    cx.output.list(listing)?;
    if cx.output.is_for_reading() {
        for (report, found) in reports.iter().zip(&found) {
            let text = format!("{}: {found}", report.check.id);
            match report.outcome {
                Outcome::Warn => cx.progress.warn(&text),
                Outcome::Fail => cx.progress.remark(&format!("failed: {text}")),
                Outcome::Ok | Outcome::Skip => continue,
            }
            cx.progress.remark(&format!("hint: {}", report.check.fix));
        }
    }
    Ok(())
}

/// Lists checks: a block for each on a terminal, without cut texts, else rows.
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

/// Returns the result, with the rule if the check did not pass.
fn found(report: &ReceiverReport) -> String {
    let (found, check) = (&report.found, report.check);
    match report.outcome {
        Outcome::Ok | Outcome::Skip => found.clone(),
        Outcome::Warn | Outcome::Fail => {
            format!("{found}; wanted: {} (SPEC §{}: {})", check.wants, check.section, check.why)
        }
    }
}

/// Returns the fix if the check did not pass.
pub(super) fn hint(report: &ReceiverReport) -> Option<&'static str> {
    matches!(report.outcome, Outcome::Warn | Outcome::Fail).then_some(report.check.fix)
}

/// Returns the test case of a JUnit report.
pub(super) fn junit_case(report: &ReceiverReport) -> JunitCase<'_> {
    let check = report.check;
    JunitCase {
        name: check.id,
        outcome: match report.outcome {
            Outcome::Ok => JunitOutcome::Passed,
            Outcome::Warn => JunitOutcome::Warned,
            Outcome::Fail => JunitOutcome::Failed,
            Outcome::Skip => JunitOutcome::Skipped,
        },
        found: &report.found,
        details: vec![
            format!("sent: {}", check.sends),
            format!("wanted: {}", check.wants),
            format!("why: SPEC §{}: {}", check.section, check.why),
            format!("fix: {}", check.fix),
        ],
        took: report.took,
    }
}
