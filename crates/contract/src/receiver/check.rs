//! A row of the table of checks.

use serde::Serialize;

use super::bodies::Body;
use super::exchange::{Evidence, Finding};
use super::signature_kind::SignatureKind;
use crate::report::as_spec_section;

/// A check of a receiver.
#[derive(Debug, Serialize)]
pub struct ReceiverCheck {
    /// Stable name, on command lines and in reports.
    #[serde(rename = "check")]
    pub id: &'static str,
    /// Section of the specification. Serialized as `SPEC §5`.
    #[serde(serialize_with = "as_spec_section")]
    pub section: u8,
    /// The request.
    pub sends: &'static str,
    /// The expected answer.
    pub wants: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to fix a receiver that fails the check.
    pub fix: &'static str,
    /// True if the checks after it are skipped if it fails.
    #[serde(skip)]
    pub(super) is_gate: bool,
    #[serde(skip)]
    pub(super) plan: Plan,
    #[serde(skip)]
    pub(super) judge: fn(&Evidence<'_>) -> Finding,
}

/// The requests of a check, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// One after the other, each with another submission.
    Separate(&'static [Step]),
    /// One after the other, all with the same submission.
    Same(&'static [Step]),
    /// This number of concurrent requests with the same submission. Those answered with 503 are repeated.
    Concurrent(Step, u8),
}

/// A request of a check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its name among the requests of its check; empty if it is the only one.
    pub(super) label: &'static str,
    pub(super) body: Body,
    pub(super) signature: SignatureKind,
    pub(super) mode: SendMode,
}

/// The difference between the signed delivery and the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendMode {
    /// None.
    Unchanged,
    /// An answer is changed after signing.
    Tampered,
    /// GET, without a body.
    Get,
}

pub(super) const fn step(label: &'static str, body: Body, signature: SignatureKind) -> Step {
    Step { label, body, signature, mode: SendMode::Unchanged }
}

pub(super) const fn check(
    id: &'static str,
    section: u8,
    plan: Plan,
    judge: fn(&Evidence<'_>) -> Finding,
) -> ReceiverCheck {
    ReceiverCheck {
        id,
        section,
        sends: "",
        wants: "",
        why: "",
        fix: "",
        is_gate: false,
        plan,
        judge,
    }
}

impl ReceiverCheck {
    pub(super) const fn sends(self, sends: &'static str) -> Self {
        Self { sends, ..self }
    }

    pub(super) const fn wants(self, wants: &'static str) -> Self {
        Self { wants, ..self }
    }

    pub(super) const fn why(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    pub(super) const fn fix(self, fix: &'static str) -> Self {
        Self { fix, ..self }
    }

    pub(super) const fn gate(self) -> Self {
        Self { is_gate: true, ..self }
    }

    /// Returns the number of requests, without repeats after 503.
    pub fn requests(&self) -> usize {
        match self.plan {
            Plan::Separate(steps) | Plan::Same(steps) => steps.len(),
            Plan::Concurrent(_, count) => count.into(),
        }
    }
}
