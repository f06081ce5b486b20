//! A check, and what came of it, as data.

use formsvc_contract::receiver::{ReceiverCheck, ReceiverReport};
use serde::Serialize;

use super::shown::hint;
use crate::output::Field;
use crate::webhook::fields::millis;

/// What a run shows.
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

/// What `--list` shows.
pub(super) const LIST_FIELDS: &[Field] = &[
    Field::new("check"),
    Field::new("section"),
    Field::new("sends"),
    Field::new("wants"),
    Field::new("why").json_only(),
    Field::new("fix").json_only(),
];

/// A check; with what was found, where it was made.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    check: &'a str,
    section: String,
    sends: &'a str,
    wants: &'a str,
    why: &'a str,
    #[serde(flatten)]
    more: More<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum More<'a> {
    Listed { fix: &'a str },
    Made { outcome: &'a str, found: &'a str, hint: Option<&'a str>, requests: usize, took_ms: f64 },
}

impl<'a> Row<'a> {
    /// A check that there is.
    pub(super) fn of(check: &'a ReceiverCheck) -> Self {
        let ReceiverCheck { id, section, sends, wants, why, fix, .. } = check;
        let section = format!("SPEC §{section}");
        Self { check: id, section, sends, wants, why, more: More::Listed { fix } }
    }
}

impl<'a> From<&'a ReceiverReport> for Row<'a> {
    fn from(report: &'a ReceiverReport) -> Self {
        let more = More::Made {
            outcome: report.outcome.name(),
            found: &report.found,
            hint: hint(report),
            requests: report.requests,
            took_ms: millis(report.took),
        };
        Self { more, ..Self::of(report.check) }
    }
}
