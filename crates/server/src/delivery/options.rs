//! What can be set about deliveries.

use std::time::Duration;

use formsvc_protocol::RetrySchedule;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;

use crate::value_text::{duration, whole};

const FACTOR_MAX: u32 = 100;

/// How deliveries are made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeliveryOptions {
    /// When a failed delivery is tried again.
    pub schedule: RetrySchedule,
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
            schedule: RetrySchedule::default(),
            slots: Slots { in_all: 256, per_endpoint: 4 },
            timeout: DELIVERY_TIMEOUT,
            linger: Duration::from_millis(1),
        }
    }
}

/// Reads the pause before the first retry as commands take it, such as `10s`; the error is the rule
/// that the text breaks, to be read after "it".
pub fn read_retry_base(text: &str) -> Result<Duration, &'static str> {
    duration(text)
        .ok_or("must be a whole number with `ms`, `s` or `m`, of at most 10m, such as 10s")
}

/// Reads what each further pause is multiplied by, as commands take it; the error is the rule that the
/// text breaks, to be read after "it".
pub fn read_retry_factor(text: &str) -> Result<u32, &'static str> {
    whole(text, 1, FACTOR_MAX).ok_or("must be a whole number from 1 to 100")
}

impl DeliveryOptions {
    /// How long a claim holds: the time of an attempt, a second at hand before it, and as much again as
    /// recording its outcome may take on a bad day.
    pub(super) fn lease(&self) -> Duration {
        self.timeout + Duration::from_secs(20)
    }
}
