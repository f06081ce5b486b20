//! The JSON of a check and its result.

use formsvc_contract::receiver::{ReceiverCheck, ReceiverReport};
use formsvc_workbench::record::millis;
use serde::Serialize;

use super::print::hint;
use crate::output::Field;

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

/// A check, with its result if it was run.
#[derive(Debug, Serialize)]
pub(super) struct CheckRecord<'a> {
    check: &'a str,
    section: String,
    sends: &'a str,
    wants: &'a str,
    why: &'a str,
    #[serde(flatten)]
    more: Details<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Details<'a> {
    Listed { fix: &'a str },
    Run { outcome: &'a str, found: &'a str, hint: Option<&'a str>, requests: usize, took_ms: f64 },
}

impl<'a> CheckRecord<'a> {
    pub(super) fn of_check(check: &'a ReceiverCheck) -> Self {
        let ReceiverCheck { id, section, sends, wants, why, fix, .. } = check;
        let section = format!("SPEC §{section}");
        Self { check: id, section, sends, wants, why, more: Details::Listed { fix } }
    }

    pub(super) fn of_report(report: &'a ReceiverReport) -> Self {
        let more = Details::Run {
            outcome: report.outcome.name(),
            found: &report.found,
            hint: hint(report),
            requests: report.requests,
            took_ms: millis(report.took),
        };
        Self { more, ..Self::of_check(report.check) }
    }
}
