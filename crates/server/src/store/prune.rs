//! Removing what is old, in steps.
//!
//! A step looks at some rows in the order of their keys and removes those that are old enough, in one
//! short transaction. So no index by time is needed, nobody else waits for long, and whoever begins
//! again after a crash goes over what is left.

use std::time::Duration;

use formsvc_protocol::FormId;

/// What can be removed once it is old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prunable {
    /// Attempts before the last one of their delivery, by when they began.
    Attempts,
    /// Deliveries that are finished and not being resent, by when they finished; with their attempts.
    Deliveries,
    /// Submissions of a form, by when they were made; with their deliveries. One with a delivery that
    /// is unfinished or being resent is kept.
    Submissions(FormId),
    /// Spam of all forms, by when it came.
    Spam,
}

/// One step.
#[derive(Clone, Debug)]
pub struct PruneRequest {
    /// What to remove.
    pub what: Prunable,
    /// Only what is older than this.
    pub age: Duration,
    /// Where to go on.
    pub after: PruneCursor,
    /// Whether to count only, and remove nothing.
    pub dry: bool,
}

/// How far a walk over what can be removed has come: the key of the row looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneCursor(pub(super) [i64; 3]);

impl Default for PruneCursor {
    /// Before everything.
    fn default() -> Self {
        Self([i64::MIN; 3])
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Rows of what was asked for that were removed; with [`dry`](PruneRequest::dry), that would be.
    pub count: u64,
    /// Where to go on; none when all was looked at.
    pub next: Option<PruneCursor>,
}

/// Rows looked at in one step.
pub(super) const LOOKED_AT: u32 = 1_000;
/// Submissions looked at in one step: each may have twenty deliveries, and megabytes of answers.
pub(super) const SUBMISSIONS_LOOKED_AT: u32 = 100;

impl Prunable {
    /// Rows to look at in one step.
    pub(super) fn looked_at(&self) -> u32 {
        match self {
            Self::Submissions(_) => SUBMISSIONS_LOOKED_AT,
            _ => LOOKED_AT,
        }
    }
}

/// A row that was looked at.
pub(super) struct Looked {
    pub(super) key: [i64; 3],
    pub(super) is_old: bool,
}

/// What a step found: the keys of what is old, and where the next step goes on.
pub(super) fn found(rows: &[Looked], limit: u32) -> (Vec<[i64; 3]>, Option<PruneCursor>) {
    let old = rows.iter().filter(|row| row.is_old).map(|row| row.key).collect();
    let next = rows.last().filter(|_| rows.len() >= limit as usize).map(|row| PruneCursor(row.key));
    (old, next)
}
