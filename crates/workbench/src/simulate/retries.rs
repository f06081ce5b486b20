//! The retries of the service (SPEC §6).

use std::time::Duration;

use formsvc_contract::send::{Answer, SendError};
use formsvc_protocol::{RetrySchedule, retry_after};
use http::HeaderValue;
use http::header::RETRY_AFTER;

use crate::delivery::is_success;

/// The schedule of the retries of a delivery.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    pub schedule: RetrySchedule,
    /// Factor by which the pauses of the schedule are divided.
    pub time_scale: f64,
}

/// The part of an attempt's result on which the next retry depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptResult {
    pub is_success: bool,
    /// The pause that the receiver requests by `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl AttemptResult {
    /// Creates the result of a response that arrived now.
    pub fn of_response(
        status: u16,
        retry_after_value: Option<&HeaderValue>,
        now_unix_secs: u64,
    ) -> Self {
        let retry_after =
            retry_after_value.and_then(|v| retry_after(status, v.as_bytes(), now_unix_secs));
        Self { is_success: is_success(status), retry_after }
    }

    /// Creates the result of an attempt that ended now.
    pub fn of(result: &Result<Answer, SendError>, now_unix_secs: u64) -> Self {
        result.as_ref().map_or_else(
            |_| Self::default(),
            |response| {
                let value = response.headers.get(RETRY_AFTER);
                Self::of_response(response.status.as_u16(), value, now_unix_secs)
            },
        )
    }
}

impl Retries {
    /// Returns the pause before the next attempt. Returns `None` after a success or the last retry. `attempts` is the
    /// number of attempts so far, and `random` is between 0 and 1.
    pub fn pause(&self, attempts: u32, result: AttemptResult, random: f64) -> Option<Duration> {
        if result.is_success || attempts > self.schedule.retries {
            return None;
        }
        let pause = self.schedule.pause(attempts, random, result.retry_after);
        let scaled = Duration::try_from_secs_f64(pause.as_secs_f64() / self.time_scale);
        Some(scaled.unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:37Z
    const NOW: u64 = 784_111_777;

    fn pause_secs(attempts: u32, status: u16, asked: Option<&'static str>) -> Option<u64> {
        let retries = Retries { schedule: RetrySchedule::default(), time_scale: 1.0 };
        let value = asked.map(HeaderValue::from_static);
        let result = AttemptResult::of_response(status, value.as_ref(), NOW);
        retries.pause(attempts, result, 0.5).map(|pause| pause.as_secs())
    }

    #[test]
    fn retries_follow_the_schedule_until_2xx() {
        let pauses = [1, 2, 3, 4].map(|attempts| pause_secs(attempts, 503, None));
        assert_eq!(pauses, [Some(11), Some(66), Some(396), None]);
        assert_eq!(pause_secs(1, 301, None), Some(11));
        for status in [200, 204, 299] {
            assert_eq!(pause_secs(1, status, None), None, "{status}");
        }
    }

    #[test]
    fn retry_after_lengthens_the_pause() {
        let date = "Sun, 06 Nov 1994 08:50:37 GMT";
        for (status, asked, pause) in
            [(429, "30", 30), (503, date, 60), (429, "3", 11), (429, "soon", 11), (500, "30", 11)]
        {
            assert_eq!(pause_secs(1, status, Some(asked)), Some(pause), "{status} {asked}");
        }
    }

    #[test]
    fn time_scale_divides_the_pauses() {
        let retries = |time_scale| Retries { schedule: RetrySchedule::default(), time_scale };
        let pause = |scale| retries(scale).pause(1, AttemptResult::default(), 0.0);
        assert_eq!(pause(4.0), Some(Duration::from_millis(2_500)));
        assert_eq!(pause(0.0), Some(Duration::MAX));
    }
}
