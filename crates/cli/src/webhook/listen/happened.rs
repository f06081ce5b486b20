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
    /// Something whoever runs the listener should know.
    Warned(Warning),
}

/// A delivery that was answered.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// With its outcome.
    pub(crate) capture: Arc<Capture>,
    /// The pause before it, where it is a retry.
    pub(crate) pause: Option<Pause>,
}

/// A request that went no further.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    pub(crate) request_target: String,
    pub(crate) refusal: Refusal,
}

/// Something to know. The code never changes: NDJSON has it.
#[derive(Clone, Debug)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}
