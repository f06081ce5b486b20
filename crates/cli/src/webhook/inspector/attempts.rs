//! The attempts of one submission, and whether the pauses between them are the service's.

use std::time::Duration;

use formsvc_protocol::RetrySchedule;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use serde::Serialize;

use super::row::Row;
use crate::webhook::fields::millis;
use crate::webhook::history::Pause;
use crate::webhook::store::Listed;

/// An attempt: a row, and the pause before it.
#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    #[serde(flatten)]
    row: Row,
    pause: Option<AttemptPause>,
}

/// The pause between the end of an attempt and the next one.
#[derive(Debug, PartialEq, Serialize)]
struct AttemptPause {
    waited_ms: f64,
    fits: bool,
    /// In words: what the schedule has.
    expected: String,
}

/// An attempt with what its answer asked for.
pub(super) struct Answered {
    pub(super) listed: Listed,
    /// `Retry-After` of the answer.
    pub(super) asked_for: Option<Duration>,
}

/// Attempts of one submission, in the order they came.
pub(super) fn attempts(answered: Vec<Answered>) -> Vec<Attempt> {
    let schedule = RetrySchedule::default();
    let (mut failed, mut before) = (0, None);
    let mut attempts = Vec::with_capacity(answered.len());
    for Answered { listed, asked_for } in answered {
        let pause = before.map(|before| pause(&schedule, failed, before, &listed));
        let outcome = listed.outcome.as_ref();
        let accepted = outcome.and_then(|outcome| outcome.status).is_some_and(is_2xx);
        // What was accepted is not tried again, so nothing is expected of what comes after it.
        (failed, before) = match outcome {
            Some(outcome) if !accepted => {
                let took = outcome.took.min(DELIVERY_TIMEOUT);
                (failed + 1, Some((listed.at, took, asked_for)))
            }
            _ => (0, None),
        };
        attempts.push(Attempt { row: listed.into(), pause });
    }
    attempts
}

fn pause(
    schedule: &RetrySchedule,
    retry: u32,
    (at, took, asked_for): (jiff::Timestamp, Duration, Option<Duration>),
    next: &Listed,
) -> AttemptPause {
    let since = Duration::try_from(next.at.duration_since(at)).unwrap_or_default();
    let of = |random| schedule.pause(retry, random, asked_for);
    let expected = (retry <= schedule.retries).then(|| (of(0.0), of(1.0)));
    let pause = Pause { retry, waited: since.saturating_sub(took), expected };
    let words = match expected {
        Some((least, most)) if least == most => format!("the answer asked for {}", secs(least)),
        Some((least, most)) => format!("{} to {}", secs(least), secs(most)),
        None => format!("no more than {} retries", schedule.retries),
    };
    AttemptPause { waited_ms: millis(pause.waited), fits: pause.fits(), expected: words }
}

fn secs(pause: Duration) -> String {
    format!("{} s", pause.as_secs_f64())
}

fn is_2xx(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use http::Method;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::webhook::capture::{AnsweredBy, Arrival, Source};
    use crate::webhook::store::ListedOutcome;
    use crate::webhook::verdict::{Verdict, VerdictCode};

    /// One that came after so many seconds, and was answered so at once.
    fn answered(at: i64, status: Option<u16>) -> Answered {
        let listed = Listed {
            number: Some(1),
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at),
            source: Source::Request(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
            method: Method::POST,
            request_target: "/".to_owned(),
            length: 2,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age: None },
            event: None,
            submission_id: Some("a".to_owned()),
            form_id: None,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
            outcome: Some(ListedOutcome { status, by: AnsweredBy::Listener, took: Duration::ZERO }),
        };
        Answered { listed, asked_for: None }
    }

    fn fits(answered: Vec<Answered>) -> Vec<Option<bool>> {
        attempts(answered).iter().map(|a| a.pause.as_ref().map(|pause| pause.fits)).collect()
    }

    #[test]
    fn the_pauses_of_the_schedule_fit_and_others_do_not() {
        let failed = |at| answered(at, Some(503));
        let usual = vec![failed(0), failed(11), failed(80), failed(480)];
        assert_eq!(fits(usual), [None, Some(true), Some(true), Some(true)]);
        let hasty = vec![failed(0), failed(1), failed(61), failed(121)];
        assert_eq!(fits(hasty), [None, Some(false), Some(true), Some(false)]);
        let stubborn = vec![failed(0), failed(10), failed(70), failed(430), failed(790)];
        assert_eq!(fits(stubborn).last(), Some(&Some(false)));
    }

    #[test]
    fn what_follows_an_acceptance_is_no_retry() {
        let came = vec![answered(0, Some(503)), answered(10, Some(204)), answered(11, Some(204))];
        assert_eq!(fits(came), [None, Some(true), None]);
    }

    #[test]
    fn a_drop_is_a_failure_and_an_answer_can_ask_for_more() {
        assert_eq!(fits(vec![answered(0, None), answered(10, Some(200))]), [None, Some(true)]);
        let mut first = answered(0, Some(429));
        first.asked_for = Some(Duration::from_secs(30));
        let attempts = attempts(vec![first, answered(30, Some(200))]);
        let pause = attempts[1].pause.as_ref().unwrap();
        assert_eq!((pause.fits, pause.expected.as_str()), (true, "the answer asked for 30 s"));
    }
}
