//! The attempts of one submission, and whether the pauses between them are the service's.

use std::time::Duration;

use formsvc_protocol::RetrySchedule;
use serde::Serialize;

use super::capture::Capture;
use super::fields::millis;
use super::history::{Pause, known_after};
use super::store::{Captures, Listed, Query, StoreError};

/// Attempts of one submission that are shown: the newest.
const ATTEMPTS_MAX: usize = 50;

/// The pause between the end of an attempt and the next one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AttemptPause {
    pub(crate) waited_ms: f64,
    pub(crate) fits: bool,
    /// In words: what the schedule has.
    pub(crate) expected: String,
}

/// An attempt with what its answer asked for.
pub(crate) struct Answered {
    pub(crate) listed: Listed,
    /// `Retry-After` of the answer.
    pub(crate) asked_for: Option<Duration>,
}

/// The pause before each attempt, where it is a retry: of attempts of one submission, in the order they
/// came. What a listener found when they came is theirs: the number of each, and whether one before was
/// accepted.
pub(crate) fn pauses(schedule: &RetrySchedule, answered: &[Answered]) -> Vec<Option<AttemptPause>> {
    let each = answered.iter().enumerate();
    each.map(|(at, now)| pause(schedule, &answered[..at], &now.listed)).collect()
}

/// The attempts of the submission of a capture in the order they came, and whether there were more.
pub(crate) async fn answered(
    captures: &Captures,
    capture: &Capture,
) -> Result<(Vec<Answered>, bool), StoreError> {
    let Some(submission) = capture.received.submission_id.clone() else {
        return Ok((Vec::new(), false));
    };
    let limit = Some(ATTEMPTS_MAX + 1);
    let query = Query { submission: Some(submission), limit, ..Query::default() };
    let mut listed = captures.list(query).await?;
    let cut = listed.len() > ATTEMPTS_MAX;
    listed.truncate(ATTEMPTS_MAX);
    let mut answered = Vec::with_capacity(listed.len());
    for listed in listed.into_iter().rev() {
        let status = listed.outcome.as_ref().and_then(|outcome| outcome.status);
        // Only such an answer can ask for patience.
        let asked_for = match (status, listed.number) {
            (Some(429 | 503), Some(number)) => {
                captures.get(number).await?.as_ref().and_then(Capture::asked_for)
            }
            _ => None,
        };
        answered.push(Answered { listed, asked_for });
    }
    Ok((answered, cut))
}

/// The pause before an attempt, where it is a retry: of what had been accepted nothing more is expected, and
/// what came while the one before was being answered waited for nothing.
fn pause(schedule: &RetrySchedule, earlier: &[Answered], retried: &Listed) -> Option<AttemptPause> {
    let arrival = retried.arrival;
    let retry = arrival.number.checked_sub(1).filter(|retry| *retry > 0 && !arrival.duplicate)?;
    // What was forged was not counted, and has the number of a first one.
    let is_counted = |before: &Listed| before.verdict.code.is_proven();
    let before = earlier
        .iter()
        .rev()
        .find(|Answered { listed, .. }| is_counted(listed) && listed.arrival.number == retry)?;
    let ended = before.listed.outcome.as_ref()?;
    let since = Duration::try_from(retried.at.duration_since(before.listed.at)).ok()?;
    let waited = since.checked_sub(known_after(ended.took))?;
    let pause = Pause::of(schedule, retry, waited, before.asked_for);
    let expected = match pause.expected {
        Some((least, most)) if least == most => format!("the answer asked for {}", secs(least)),
        Some((least, most)) => format!("{} to {}", secs(least), secs(most)),
        None => format!("no more than {} retries", schedule.retries),
    };
    Some(AttemptPause { waited_ms: millis(pause.waited), fits: pause.fits(), expected })
}

/// The schedule in words.
pub(crate) fn told(schedule: &RetrySchedule) -> String {
    let mut pauses: Vec<_> =
        (1..=schedule.retries).map(|retry| secs(schedule.pause(retry, 0.0, None))).collect();
    let last = pauses.pop().unwrap_or_default();
    let before = pauses.join(", ");
    let and = if before.is_empty() { "" } else { " and " };
    let jitter = (schedule.jitter * 100.0).round();
    format!(
        "A failed delivery is tried again after {before}{and}{last}, each up to {jitter} % longer."
    )
}

fn secs(pause: Duration) -> String {
    format!("{} s", pause.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Instant;

    use http::Method;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::webhook::capture::{AnsweredBy, Arrival, Source};
    use crate::webhook::history::History;
    use crate::webhook::store::ListedOutcome;
    use crate::webhook::verdict::{Verdict, VerdictCode};

    /// The one of this number, which came after so many seconds and was answered so at once.
    fn answered(number: u32, at: i64, status: Option<u16>) -> Answered {
        let listed = Listed {
            number: Some(number.into()),
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at),
            source: Source::Request(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))),
            method: Method::POST,
            request_target: "/".to_owned(),
            length: 2,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age: None },
            event: None,
            submission_id: Some("a".to_owned()),
            form_id: None,
            arrival: Arrival { number, gap: None, duplicate: false },
            outcome: Some(ListedOutcome { status, by: AnsweredBy::Listener, took: Duration::ZERO }),
        };
        Answered { listed, asked_for: None }
    }

    /// Attempts that failed, at these seconds.
    fn failed<const N: usize>(at: [i64; N]) -> Vec<Answered> {
        (1..).zip(at).map(|(number, at)| answered(number, at, Some(503))).collect()
    }

    fn fits(answered: &[Answered]) -> Vec<Option<bool>> {
        judged(&RetrySchedule::default(), answered)
    }

    fn judged(schedule: &RetrySchedule, answered: &[Answered]) -> Vec<Option<bool>> {
        let pauses = pauses(schedule, answered);
        pauses.into_iter().map(|pause| pause.map(|pause| pause.fits)).collect()
    }

    #[test]
    fn the_pauses_of_the_schedule_fit_and_others_do_not() {
        let usual = failed([0, 11, 80, 480]);
        assert_eq!(fits(&usual), [None, Some(true), Some(true), Some(true)]);
        let hasty = failed([0, 1, 61, 121]);
        assert_eq!(fits(&hasty), [None, Some(false), Some(true), Some(false)]);
        let stubborn = failed([0, 10, 70, 430, 790]);
        assert_eq!(fits(&stubborn).last(), Some(&Some(false)));
    }

    #[test]
    fn they_are_judged_by_the_schedule_that_the_listener_was_given() {
        let schedule =
            RetrySchedule { base: Duration::from_secs(1), factor: 2, ..RetrySchedule::default() };
        assert_eq!(judged(&schedule, &failed([0, 1, 3])), [None, Some(true), Some(true)]);
        assert_eq!(judged(&schedule, &failed([0, 11])), [None, Some(false)]);
        let words =
            "A failed delivery is tried again after 1 s, 2 s and 4 s, each up to 20 % longer.";
        assert_eq!(told(&schedule), words);
    }

    #[test]
    fn they_are_judged_as_the_listener_judges_them() {
        // Each came so many seconds after the first, and was answered after so many more.
        let came = [(0, 4), (14, 12), (90, 1), (91, 1), (500, 0)];
        let schedule = RetrySchedule::default();
        let (mut history, began) = (History::new(10, schedule), Instant::now());
        let (mut answered, mut listened) = (Vec::new(), Vec::new());
        for (at, took) in came {
            let [at, took] = [at, took].map(Duration::from_secs);
            let came = history.arrived("a", began + at);
            history.ended("a", (began + at, began + at + took), false, None);
            listened.push(came.pause.map(|pause| (millis(pause.waited), pause.fits())));
            let mut one = self::answered(1, at.as_secs().cast_signed(), Some(503));
            one.listed.arrival = came.arrival;
            one.listed.outcome.as_mut().unwrap().took = took;
            answered.push(one);
        }
        let of = |pause: AttemptPause| (pause.waited_ms, pause.fits);
        let found = pauses(&schedule, &answered).into_iter().map(|pause| pause.map(of));
        assert_eq!(found.collect::<Vec<_>>(), listened);
    }

    #[test]
    fn what_follows_an_acceptance_or_overtakes_its_answer_is_no_retry() {
        let mut again = answered(3, 11, Some(204));
        again.listed.arrival.duplicate = true;
        let came = vec![answered(1, 0, Some(503)), answered(2, 10, Some(204)), again];
        assert_eq!(fits(&came), [None, Some(true), None]);
        let mut slow = answered(1, 0, Some(503));
        slow.listed.outcome.as_mut().unwrap().took = Duration::from_secs(9);
        assert_eq!(fits(&[slow, answered(2, 8, Some(503))]), [None, None]);
        // What anybody can send is no attempt.
        let mut forged = answered(1, 5, Some(401));
        forged.listed.verdict.code = VerdictCode::NoMatch;
        let came = vec![answered(1, 0, Some(503)), forged, answered(2, 10, Some(200))];
        assert_eq!(fits(&came), [None, None, Some(true)]);
        // To another listener, which counts from one.
        assert_eq!(fits(&[answered(1, 0, Some(503)), answered(1, 5, Some(503))]), [None, None]);
    }

    #[test]
    fn a_drop_is_a_failure_and_an_answer_can_ask_for_more() {
        let dropped = vec![answered(1, 0, None), answered(2, 10, Some(200))];
        assert_eq!(fits(&dropped), [None, Some(true)]);
        let mut first = answered(1, 0, Some(429));
        first.asked_for = Some(Duration::from_secs(30));
        let schedule = RetrySchedule::default();
        let pauses = pauses(&schedule, &[first, answered(2, 30, Some(200))]);
        let pause = pauses[1].as_ref().unwrap();
        assert_eq!((pause.fits, pause.expected.as_str()), (true, "the answer asked for 30 s"));
    }
}
