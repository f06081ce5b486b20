//! The attempts of one submission, as the page has them.

use formsvc_protocol::RetrySchedule;
use serde::Serialize;

use super::row::Row;
use crate::webhook::attempts::{Answered, AttemptPause, pauses};

/// An attempt: a row, and the pause before it.
#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    #[serde(flatten)]
    row: Row,
    pause: Option<AttemptPause>,
}

/// Attempts of one submission, in the order they came.
pub(super) fn attempts(
    schedule: &RetrySchedule,
    answered: Vec<Answered>,
    reveal: bool,
) -> Vec<Attempt> {
    let pauses = pauses(schedule, &answered);
    let paired = answered.into_iter().zip(pauses);
    paired
        .map(|(answered, pause)| Attempt { row: Row::of(answered.listed, reveal), pause })
        .collect()
}
