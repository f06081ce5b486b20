//! A row of the table of checks.

use super::bodies::Body;
use super::mark::Mark;
use super::seen::{Found, Seen};

/// A check of a receiver.
#[derive(Debug)]
pub struct Check {
    /// Stable name, on command lines and in reports.
    pub id: &'static str,
    /// Section of the specification.
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
    pub(super) is_gate: bool,
    pub(super) plan: Plan,
    pub(super) judge: fn(&Seen<'_>) -> Found,
}

/// The requests of a check, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// One after the other, each a submission of its own.
    Each(&'static [Step]),
    /// One after the other, all of them one submission.
    Again(&'static [Step]),
    /// One submission so many times at once. Requests answered with 503 are repeated.
    AtOnce(Step, u8),
}

/// A request of a check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its name among the requests of its check; empty if it is the only one.
    pub(super) label: &'static str,
    pub(super) body: Body,
    pub(super) mark: Mark,
    pub(super) way: Way,
}

/// How a signed delivery is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Unchanged.
    Whole,
    /// With an answer changed after signing.
    Tampered,
    /// By GET, without a body.
    Get,
}

pub(super) const fn step(label: &'static str, body: Body, mark: Mark) -> Step {
    Step { label, body, mark, way: Way::Whole }
}

pub(super) const fn check(
    id: &'static str,
    section: u8,
    plan: Plan,
    judge: fn(&Seen<'_>) -> Found,
) -> Check {
    Check { id, section, sends: "", wants: "", why: "", fix: "", is_gate: false, plan, judge }
}

impl Check {
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
            Plan::Each(steps) | Plan::Again(steps) => steps.len(),
            Plan::AtOnce(_, times) => times.into(),
        }
    }
}
