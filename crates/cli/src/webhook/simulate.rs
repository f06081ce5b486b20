//! The service's own behaviour towards an endpoint (SPEC §6): attempts, and the pauses between them.

use std::time::Duration;

use formsvc_contract::send::Answer;
use formsvc_protocol::{RetrySchedule, retry_after};
use http::header::RETRY_AFTER;

use super::statuses::is_accepted;

/// How the service would deliver.
pub(crate) struct Simulation<'a> {
    pub(crate) schedule: RetrySchedule,
    /// Pauses are this many times shorter.
    pub(crate) time_scale: f64,
    /// A number from 0 to 1 for each pause's jitter.
    pub(crate) random: &'a dyn Fn() -> f64,
}

/// What an attempt means for its sender; by default nothing came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempted {
    /// Whether it was answered with 2xx.
    pub(crate) accepted: bool,
    /// The pause that the answer asked for.
    pub(crate) asked_for: Option<Duration>,
}

impl Attempted {
    /// What an answer of this moment, in Unix seconds, means.
    pub(crate) fn by(answer: &Answer, now: u64) -> Self {
        let status = answer.status;
        let asked_for = answer.headers.get(RETRY_AFTER);
        let asked_for =
            asked_for.and_then(|value| retry_after(status.as_u16(), value.as_bytes(), now));
        Self { accepted: is_accepted(status.as_u16()), asked_for }
    }
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An attempt was answered with 2xx.
    Delivered { attempts: u32 },
    /// None was, and there are no more.
    Failed { attempts: u32 },
}

impl Simulation<'_> {
    /// Attempts a delivery until it is accepted or no retry is left. `attempt` sends it, and is told its
    /// number; its error ends this. `pause` is told the number of the retry and what comes before it.
    pub(crate) async fn deliver<E>(
        &self,
        mut attempt: impl AsyncFnMut(u32) -> Result<Attempted, E>,
        mut pause: impl FnMut(u32, Duration),
    ) -> Result<End, E> {
        let mut number = 1;
        loop {
            let attempted = attempt(number).await?;
            if attempted.accepted {
                return Ok(End::Delivered { attempts: number });
            }
            if number > self.schedule.retries {
                return Ok(End::Failed { attempts: number });
            }
            let wait = self.schedule.pause(number, (self.random)(), attempted.asked_for);
            let wait = Duration::try_from_secs_f64(wait.as_secs_f64() / self.time_scale);
            let wait = wait.unwrap_or(Duration::MAX);
            pause(number, wait);
            tokio::time::sleep(wait).await;
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};
    use tokio::time::Instant;

    use super::*;

    fn answer(status: u16, retry_after: Option<&'static str>) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
        }
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers, body: Bytes::new(), truncated: false, took: Duration::ZERO }
    }

    /// Attempts with these answers; when each began, in milliseconds, and how it ended.
    async fn played(time_scale: f64, answers: &[(u16, Option<&'static str>)]) -> (Vec<u128>, End) {
        let (began, times) = (Instant::now(), RefCell::new(Vec::new()));
        let schedule = RetrySchedule::default();
        let simulation = Simulation { schedule, time_scale, random: &|| 0.5 };
        let attempt = async |number: u32| {
            times.borrow_mut().push(began.elapsed().as_millis());
            let (status, retry_after) = answers[number as usize - 1];
            Ok::<_, Infallible>(Attempted::by(&answer(status, retry_after), 784_111_777))
        };
        let end = simulation.deliver(attempt, |_, _| ()).await;
        (times.into_inner(), end.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_delivery_that_is_taken_at_once_is_attempted_once() {
        assert_eq!(played(1.0, &[(204, None)]).await, (vec![0], End::Delivered { attempts: 1 }));
    }

    #[tokio::test(start_paused = true)]
    async fn retries_come_by_the_schedule_and_stop_at_the_first_2xx() {
        let answers = [(503, None), (301, None), (200, None)];
        let (times, end) = played(1.0, &answers).await;
        assert_eq!(
            (times, end),
            (vec![0, 11_000, 11_000 + 66_000], End::Delivered { attempts: 3 })
        );
    }

    #[tokio::test(start_paused = true)]
    async fn after_three_retries_it_failed_for_good_and_time_can_be_scaled() {
        let (times, end) = played(60.0, &[(500, None); 4]).await;
        // 11 s, 66 s and 396 s, sixty times shorter; timers have whole milliseconds.
        let expected = [0, 183, 1_283, 7_883];
        assert_eq!(end, End::Failed { attempts: 4 });
        for (time, expected) in times.iter().zip(expected) {
            assert!(time.abs_diff(expected) <= 3, "{times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_can_ask_for_a_longer_pause_in_seconds_or_as_a_date() {
        let date = "Sun, 06 Nov 1994 08:50:37 GMT";
        for (status, asked, pause) in [
            (429, "30", 30_000),
            (503, date, 60_000),
            (429, "3", 11_000),
            (429, "soon", 11_000),
            (500, "30", 11_000),
        ] {
            let (times, _) = played(1.0, &[(status, Some(asked)), (200, None)]).await;
            assert_eq!(times, [0, pause], "{status} {asked}");
        }
    }
}
