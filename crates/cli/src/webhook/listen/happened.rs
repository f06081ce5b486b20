//! What a listener tells.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;

use super::answers::Refusal;
use crate::webhook::capture::Capture;
use crate::webhook::history::Pause;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Happened {
    /// A delivery was answered.
    Delivered(Delivered),
    /// A request was no delivery, or could not be taken.
    Refused(Refused),
}

impl Happened {
    /// Whether there is something to know before it.
    pub(crate) fn warns(&self) -> bool {
        matches!(self, Self::Delivered(told) if !told.warnings.is_empty())
    }
}

/// A delivery that was answered.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// With its outcome.
    pub(crate) capture: Arc<Capture>,
    /// The pause before it, where it is a retry.
    pub(crate) pause: Option<Pause>,
    /// What became known by it. It travels with the delivery, whose place is reserved: what is told once
    /// is not lost where there is no room for more.
    pub(crate) warnings: Vec<Warning>,
    /// Whether it was to be passed on, and no route takes it.
    pub(crate) is_unrouted: bool,
}

/// A request that went no further.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    pub(crate) request_target: String,
    pub(crate) refusal: Refusal,
}

/// Something whoever runs the listener should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) code: WarningCode,
    pub(crate) message: String,
}

/// What a warning is about, of a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarningCode {
    /// There is no secret to verify with.
    NotVerified,
    /// Others than this machine can reach it.
    Reachable,
    /// Captures are kept in memory, since they cannot be kept on the disk.
    InMemory,
    /// A capture could not be kept.
    NotStored,
    /// Targets have more time than the service waits.
    LongTimeout,
    /// A target is the listener itself.
    Loop,
    /// A target elsewhere is reached without TLS.
    PlainHttp,
    /// A target does not answer.
    TargetDown,
    /// It answers again.
    TargetUp,
    /// It answers so late that the service may not wait for it.
    TargetSlow,
}

impl WarningCode {
    /// Every code there is, and their names in JSON, which never change.
    pub(crate) const ALL: [(Self, &str); 10] = [
        (Self::NotVerified, "not_verified"),
        (Self::Reachable, "reachable"),
        (Self::InMemory, "in_memory"),
        (Self::NotStored, "not_stored"),
        (Self::LongTimeout, "long_timeout"),
        (Self::Loop, "loop"),
        (Self::PlainHttp, "plain_http"),
        (Self::TargetDown, "target_down"),
        (Self::TargetUp, "target_up"),
        (Self::TargetSlow, "target_slow"),
    ];

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(known, _)| *known == self);
        known.map(|(_, name)| *name).expect("every warning has a name")
    }
}
