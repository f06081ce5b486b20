//! What can be set about deliveries.

use std::time::Duration;

use formsvc_protocol::limits::DELIVERY_TIMEOUT;

use super::schedule::Schedule;

/// How deliveries are made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeliveryOptions {
    /// When a failed delivery is tried again.
    pub schedule: Schedule,
    /// Attempts under way at a time.
    pub slots: Slots,
    /// Time an attempt has, from looking up the name to the last byte that is kept of the answer.
    pub timeout: Duration,
    /// How long outcomes wait for others to be recorded with. A crash within it repeats the
    /// deliveries whose outcomes it loses.
    pub linger: Duration,
}

/// Attempts under way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// In all.
    pub in_all: u32,
    /// To one endpoint.
    pub per_endpoint: u32,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            slots: Slots { in_all: 256, per_endpoint: 4 },
            timeout: DELIVERY_TIMEOUT,
            linger: Duration::from_millis(1),
        }
    }
}

impl DeliveryOptions {
    /// How long a claim holds: the time of an attempt, and as much again as recording its outcome may
    /// take on a bad day.
    pub(super) fn lease(&self) -> Duration {
        self.timeout + Duration::from_secs(20)
    }
}
