//! What a row of the table of checks says.

use super::bodies::Body;
use super::mark::Mark;
use super::seen::{Found, Seen};

/// One thing that is asked of a receiver.
#[derive(Debug)]
pub struct Check {
    /// Its name, on command lines and in reports; it never changes.
    pub id: &'static str,
    /// The section of the specification that asks for it.
    pub section: u8,
    /// What is sent.
    pub sends: &'static str,
    /// What is wanted.
    pub wants: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How it is mended.
    pub fix: &'static str,
    /// Whether nothing after it can be judged where it fails.
    pub(super) is_gate: bool,
    pub(super) plan: Plan,
    pub(super) judge: fn(&Seen<'_>) -> Found,
}

/// What a check sends, and in which order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// One after the other, each a submission of its own.
    Each(&'static [Step]),
    /// One after the other, all of them one submission.
    Again(&'static [Step]),
    /// One submission so many times at once. Those that are asked to come again do.
    AtOnce(Step, u8),
}

/// A request of a check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// What sets it apart from the others of its check; empty where there are none.
    pub(super) label: &'static str,
    pub(super) body: Body,
    pub(super) mark: Mark,
    pub(super) way: Way,
}

/// What is done to a delivery on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing.
    Whole,
    /// Somebody changes an answer after it was signed.
    Tampered,
    /// It is sent by GET, without a body.
    Get,
}

pub(super) const fn step(label: &'static str, body: Body, mark: Mark) -> Step {
    Step { label, body, mark, way: Way::Whole }
}

impl Check {
    /// How many requests it makes, repeats that the receiver asks for aside.
    pub fn requests(&self) -> usize {
        match self.plan {
            Plan::Each(steps) | Plan::Again(steps) => steps.len(),
            Plan::AtOnce(_, times) => times.into(),
        }
    }
}
