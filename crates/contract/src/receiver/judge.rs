//! Judges the answers to the requests of a check. Pure.

use std::time::Duration;

use http::header::{LOCATION, RETRY_AFTER};

use super::exchange::{Evidence, Exchange, Finding};
use crate::report::Outcome;
use crate::send::SendErrorKind;

/// Percentage of the time limit from which an answer counts as slow.
const SLOW_PERCENT: u32 = 80;

/// Expects 2xx for every request.
pub(super) fn accepted(evidence: &Evidence<'_>) -> Finding {
    match evidence.exchanges.iter().find(|exchange| !exchange.is_accepted()) {
        Some(exchange) => Finding::new(Outcome::Failed, describe(exchange)),
        None => Finding::new(Outcome::Passed, statuses(evidence.exchanges)),
    }
}

/// Expects 2xx, where the specification does not require it: other answers are a warning.
pub(super) fn preferably_accepted(evidence: &Evidence<'_>) -> Finding {
    let finding = accepted(evidence);
    match finding.outcome {
        Outcome::Failed => Finding { outcome: Outcome::Warning, ..finding },
        _ => finding,
    }
}

/// Expects a refusal of every request: best 4xx, in any case an answer other than 2xx.
pub(super) fn refused(evidence: &Evidence<'_>) -> Finding {
    let mut worst = Finding::new(Outcome::Passed, statuses(evidence.exchanges));
    for exchange in evidence.exchanges {
        let problem = match exchange.status() {
            Some(400..=499) => continue,
            Some(200..=299) => return Finding::new(Outcome::Failed, describe_accepted(exchange)),
            None => return Finding::new(Outcome::Failed, describe(exchange)),
            Some(500..=599) => "which monitoring counts as an error of the server",
            Some(_) => "which is neither an acceptance (2xx) nor a refusal (4xx)",
        };
        worst = Finding::new(Outcome::Warning, format!("{}, {problem}", describe(exchange)));
    }
    worst
}

/// Expects 2xx for every request. A failure includes the error of the receiver's clock.
pub(super) fn accepted_by_clock(evidence: &Evidence<'_>) -> Finding {
    with_clock_error(accepted(evidence), evidence)
}

/// Expects a refusal of every request. A failure includes the error of the receiver's clock.
pub(super) fn refused_by_clock(evidence: &Evidence<'_>) -> Finding {
    with_clock_error(refused(evidence), evidence)
}

/// Adds the error of the receiver's clock to a failure: it may be the cause.
fn with_clock_error(finding: Finding, evidence: &Evidence<'_>) -> Finding {
    let leads = evidence.exchanges.iter().map(|exchange| exchange.clock_lead);
    match (finding.outcome, leads.max_by_key(|lead| lead.abs())) {
        (Outcome::Failed, Some(lead @ (..=-1 | 1..))) => {
            let side = if lead > 0 { "ahead of" } else { "behind" };
            let (reason, seconds) = (finding.reason, lead.unsigned_abs());
            let reason = format!("{reason}; its clock is {seconds} s {side} this machine's");
            Finding { reason, ..finding }
        }
        _ => finding,
    }
}

/// Expects a refusal, where an acceptance does little harm and is a warning.
pub(super) fn preferably_refused(evidence: &Evidence<'_>) -> Finding {
    match evidence.exchanges.iter().find(|exchange| exchange.is_accepted()) {
        Some(exchange) => Finding::new(Outcome::Warning, describe_accepted(exchange)),
        None => Finding::new(Outcome::Passed, statuses(evidence.exchanges)),
    }
}

/// Expects that a body above the size limit is refused or the connection is closed, without a wait for
/// the rest of the body.
pub(super) fn oversize_refused(evidence: &Evidence<'_>) -> Finding {
    let Some(exchange) = evidence.exchanges.first() else { return nothing_sent() };
    match exchange.status() {
        Some(400..=499) => Finding::new(Outcome::Passed, statuses(evidence.exchanges)),
        Some(200..=299) => Finding::new(Outcome::Failed, describe_accepted(exchange)),
        Some(_) => {
            let reason = format!("{}; the status for a large body is 413", describe(exchange));
            Finding::new(Outcome::Warning, reason)
        }
        None if exchange.error_kind() == Some(SendErrorKind::Closed) => {
            Finding::new(Outcome::Passed, "the connection was closed")
        }
        None => Finding::new(Outcome::Failed, describe(exchange)),
    }
}

/// Expects an answer within the time limit. Other failures are found by other checks.
pub(super) fn within_timeout(evidence: &Evidence<'_>) -> Finding {
    let Some(exchange) = evidence.exchanges.first() else { return nothing_sent() };
    let limit = seconds(evidence.timeout);
    match &exchange.outcome {
        Err(error) if error.kind == SendErrorKind::Timeout => {
            Finding::new(Outcome::Failed, format!("no answer within {limit}"))
        }
        Err(_) => Finding::new(Outcome::Skipped, describe(exchange)),
        Ok(answer) if answer.took > evidence.timeout * SLOW_PERCENT / 100 => {
            let took = seconds(answer.took);
            let reason = format!("answered after {took}, close to the limit of {limit}");
            Finding::new(Outcome::Warning, reason)
        }
        Ok(answer) => {
            Finding::new(Outcome::Passed, format!("answered after {}", seconds(answer.took)))
        }
    }
}

/// Expects an answer that is not a redirect.
pub(super) fn no_redirect(evidence: &Evidence<'_>) -> Finding {
    let Some(exchange) = evidence.exchanges.first() else { return nothing_sent() };
    match exchange.status() {
        Some(300..=399) => {
            let location = exchange.header(&LOCATION);
            let location = location.map_or(String::new(), |location| format!(" to {location}"));
            Finding::new(Outcome::Failed, describe(exchange) + &location)
        }
        Some(_) => Finding::new(Outcome::Passed, statuses(evidence.exchanges)),
        None => Finding::new(Outcome::Skipped, describe(exchange)),
    }
}

/// Expects that concurrent deliveries of one submission are all accepted, at the latest when they are
/// repeated after 503.
pub(super) fn concurrent_accepted(evidence: &Evidence<'_>) -> Finding {
    let is_busy = |exchange: &&Exchange| exchange.status() == Some(503);
    let is_wrong = |exchange: &&Exchange| !exchange.is_accepted() && !is_busy(exchange);
    if let Some(exchange) = evidence.exchanges.iter().find(is_wrong) {
        return Finding::new(Outcome::Failed, describe(exchange));
    }
    let busy: Vec<&Exchange> = evidence.exchanges.iter().filter(is_busy).collect();
    let repeats = evidence.exchanges.iter().filter(|exchange| exchange.is_repeat).count();
    if busy.len() > repeats {
        return Finding::new(Outcome::Failed, "answered 503 to every repeat");
    }
    if busy.iter().any(|exchange| exchange.header(&RETRY_AFTER).is_none()) {
        let reason = "answered 503 without Retry-After, then accepted the repeat";
        return Finding::new(Outcome::Warning, reason);
    }
    Finding::new(Outcome::Passed, statuses(evidence.exchanges))
}

/// Expects that no answer of the run contains the secret or a valid signature that was not sent.
pub(super) fn no_leak(evidence: &Evidence<'_>) -> Finding {
    match evidence.leaks.first() {
        Some((check, secret)) => {
            Finding::new(Outcome::Failed, format!("the answer to `{check}` contains {secret}"))
        }
        None => Finding::new(Outcome::Passed, "no answer contains the secret or a valid signature"),
    }
}

fn nothing_sent() -> Finding {
    Finding::new(Outcome::Skipped, "no request was sent")
}

/// Describes the answer to a request, with the request's label.
fn describe(exchange: &Exchange) -> String {
    let answer = match &exchange.outcome {
        Ok(answer) => format!("answered {}", answer.status.as_u16()),
        Err(error) => match error.kind {
            SendErrorKind::Refused => "the connection was refused".to_owned(),
            SendErrorKind::Closed => "the connection was closed without an answer".to_owned(),
            _ => error.to_string(),
        },
    };
    if exchange.label.is_empty() { answer } else { format!("{}: {answer}", exchange.label) }
}

fn describe_accepted(exchange: &Exchange) -> String {
    format!("{} (accepted)", describe(exchange))
}

/// Lists the distinct statuses, in the order of their arrival.
fn statuses(exchanges: &[Exchange]) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for exchange in exchanges {
        let status = exchange.status().map_or("nothing".to_owned(), |status| status.to_string());
        if !distinct.contains(&status) {
            distinct.push(status);
        }
    }
    format!("answered {}", distinct.join(", "))
}

fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::{Answer, SendError};
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    const TIMEOUT: Duration = Duration::from_secs(10);

    type Judge = fn(&Evidence<'_>) -> Finding;

    fn exchange(outcome: Result<Answer, SendError>) -> Exchange {
        Exchange { label: "", is_repeat: false, outcome, clock_lead: 0, leak: None }
    }

    fn answer(status: u16) -> Exchange {
        answer_with(status, HeaderMap::new(), Duration::from_millis(3))
    }

    fn answer_with(status: u16, headers: HeaderMap, took: Duration) -> Exchange {
        let status = StatusCode::from_u16(status).unwrap();
        exchange(Ok(Answer { status, headers, body: Bytes::new(), truncated: false, took }))
    }

    fn error(kind: SendErrorKind) -> Exchange {
        exchange(Err(SendError::new(kind, "why".to_owned())))
    }

    fn busy(retry_after: &'static str) -> Exchange {
        let header = (RETRY_AFTER, HeaderValue::from_static(retry_after));
        answer_with(503, HeaderMap::from_iter([header]), Duration::ZERO)
    }

    fn find(judge: Judge, exchanges: &[Exchange]) -> Finding {
        judge(&Evidence { exchanges, leaks: &[], timeout: TIMEOUT })
    }

    #[test]
    fn judge_outcome_for_each_kind_of_answer() {
        use Outcome::{Failed as Fail, Passed as Ok, Skipped as Skip, Warning as Warn};
        use SendErrorKind::{BadAnswer, Closed, Refused, Timeout};
        type Row = (&'static str, Judge, [Outcome; 11]);
        let answers = [
            answer(200),
            answer(204),
            answer(302),
            answer(400),
            answer(401),
            answer(500),
            answer(503),
            error(Timeout),
            error(Closed),
            error(Refused),
            error(BadAnswer),
        ];
        let rows: [Row; 8] = [
            ("accepted", accepted, [Ok, Ok, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail]),
            (
                "preferably_accepted",
                preferably_accepted,
                [Ok, Ok, Warn, Warn, Warn, Warn, Warn, Warn, Warn, Warn, Warn],
            ),
            ("refused", refused, [Fail, Fail, Warn, Ok, Ok, Warn, Warn, Fail, Fail, Fail, Fail]),
            (
                "preferably_refused",
                preferably_refused,
                [Warn, Warn, Ok, Ok, Ok, Ok, Ok, Ok, Ok, Ok, Ok],
            ),
            (
                "oversize_refused",
                oversize_refused,
                [Fail, Fail, Warn, Ok, Ok, Warn, Warn, Fail, Ok, Fail, Fail],
            ),
            (
                "within_timeout",
                within_timeout,
                [Ok, Ok, Ok, Ok, Ok, Ok, Ok, Fail, Skip, Skip, Skip],
            ),
            ("no_redirect", no_redirect, [Ok, Ok, Fail, Ok, Ok, Ok, Ok, Skip, Skip, Skip, Skip]),
            (
                "concurrent_accepted",
                concurrent_accepted,
                [Ok, Ok, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail],
            ),
        ];
        for (name, judge, wanted) in rows {
            for (answer, wanted) in answers.iter().zip(wanted) {
                let outcome = find(judge, std::slice::from_ref(answer)).outcome;
                assert_eq!(outcome, wanted, "{name}: {}", describe(answer));
            }
        }
    }

    #[test]
    fn one_wrong_answer_decides_and_is_named() {
        let wrong = |status| Exchange { label: "this one", ..answer(status) };
        let finding = find(accepted, &[answer(200), wrong(401), answer(200)]);
        assert_eq!(finding, Finding::new(Outcome::Failed, "this one: answered 401"));
        let finding = find(refused, &[answer(401), wrong(204), answer(500)]);
        assert_eq!(finding, Finding::new(Outcome::Failed, "this one: answered 204 (accepted)"));
        // A failure counts more than a warning before it.
        assert_eq!(find(refused, &[answer(500), answer(200)]).outcome, Outcome::Failed);
        assert_eq!(find(refused, &[answer(401), answer(400)]).reason, "answered 401, 400");
    }

    #[test]
    fn clock_error_is_part_of_a_failure() {
        let with_clock = |clock_lead, status| [Exchange { clock_lead, ..answer(status) }];
        let reason = |judge: Judge, exchanges: &[Exchange]| find(judge, exchanges).reason;
        assert_eq!(
            reason(accepted_by_clock, &with_clock(-400, 401)),
            "answered 401; its clock is 400 s behind this machine's"
        );
        assert_eq!(
            reason(refused_by_clock, &with_clock(3, 200)),
            "answered 200 (accepted); its clock is 3 s ahead of this machine's"
        );
        assert_eq!(reason(accepted_by_clock, &with_clock(0, 401)), "answered 401");
        assert_eq!(reason(accepted_by_clock, &with_clock(400, 200)), "answered 200");
    }

    #[test]
    fn answer_close_to_the_time_limit_is_a_warning() {
        for (seconds, outcome) in [(7.9, Outcome::Passed), (8.1, Outcome::Warning)] {
            let took = Duration::from_secs_f64(seconds);
            let exchanges = [answer_with(200, HeaderMap::new(), took)];
            assert_eq!(find(within_timeout, &exchanges).outcome, outcome, "{seconds}");
        }
    }

    #[test]
    fn busy_receiver_is_judged_by_the_repeats() {
        let repeat = |exchange| Exchange { is_repeat: true, ..exchange };
        let outcome = |exchanges: &[Exchange]| find(concurrent_accepted, exchanges).outcome;
        assert_eq!(outcome(&[answer(200), busy("1"), repeat(answer(200))]), Outcome::Passed);
        assert_eq!(
            outcome(&[answer(200), busy("1"), repeat(busy("1")), repeat(answer(200))]),
            Outcome::Passed
        );
        assert_eq!(outcome(&[answer(200), busy("1"), repeat(busy("1"))]), Outcome::Failed);
        assert_eq!(outcome(&[answer(200), busy("1"), repeat(answer(409))]), Outcome::Failed);
        assert_eq!(outcome(&[answer(200), answer(503), repeat(answer(200))]), Outcome::Warning);
        assert_eq!(outcome(&[answer(200), answer(409)]), Outcome::Failed);
    }

    #[test]
    fn leak_is_reported_with_its_check() {
        let leaks = [("stale", "the valid signature")];
        let exchanges = [answer(401)];
        let finding = no_leak(&Evidence { exchanges: &exchanges, leaks: &leaks, timeout: TIMEOUT });
        assert_eq!(finding.outcome, Outcome::Failed);
        assert_eq!(finding.reason, "the answer to `stale` contains the valid signature");
    }
}
