//! What answers mean. Pure: exchanges go in, a finding comes out.

use std::time::Duration;

use http::header::{LOCATION, RETRY_AFTER};

use super::seen::{Exchange, Found, Outcome, Reply, Seen};
use crate::send::SendErrorKind;

/// How much of the time an answer may take before it is worth a word, in percent.
const CLOSE_CALL: u32 = 80;

/// Every request is to be taken: answered with 2xx.
pub(super) fn accepted(seen: &Seen<'_>) -> Found {
    match seen.exchanges.iter().find(|exchange| !exchange.is_accepted()) {
        Some(exchange) => Found::new(Outcome::Fail, told(exchange)),
        None => Found::new(Outcome::Ok, statuses(seen.exchanges)),
    }
}

/// As [`accepted`], where the specification does not say that it must be.
pub(super) fn better_accepted(seen: &Seen<'_>) -> Found {
    let found = accepted(seen);
    match found.outcome {
        Outcome::Fail => Found { outcome: Outcome::Warn, ..found },
        _ => found,
    }
}

/// Every request is to be refused: answered, and not with 2xx.
pub(super) fn refused(seen: &Seen<'_>) -> Found {
    let mut worst = Found::new(Outcome::Ok, statuses(seen.exchanges));
    for exchange in seen.exchanges {
        let found = match exchange.status() {
            Some(400..=499) => continue,
            Some(200..=299) => {
                return Found::new(Outcome::Fail, format!("{}: taken", told(exchange)));
            }
            None => return Found::new(Outcome::Fail, told(exchange)),
            Some(500..=599) => "which monitoring takes for an outage of yours",
            Some(_) => "which tells a sender nothing",
        };
        worst = Found::new(Outcome::Warn, format!("{}, {found}", told(exchange)));
    }
    worst
}

/// As [`accepted`], where the clocks matter.
pub(super) fn accepted_in_time(seen: &Seen<'_>) -> Found {
    with_clock(accepted(seen), seen)
}

/// As [`refused`], where the clocks matter.
pub(super) fn refused_in_time(seen: &Seen<'_>) -> Found {
    with_clock(refused(seen), seen)
}

/// Says what is off with the receiver's clock, which may be all that is wrong.
fn with_clock(found: Found, seen: &Seen<'_>) -> Found {
    let most = seen.exchanges.iter().map(|exchange| exchange.ahead).max_by_key(|ahead| ahead.abs());
    match (found.outcome, most) {
        (Outcome::Fail, Some(ahead @ (..=-1 | 1..))) => {
            let side = if ahead > 0 { "ahead of" } else { "behind" };
            let what = format!(
                "{}; its clock is {} s {side} this machine's",
                found.what,
                ahead.unsigned_abs()
            );
            Found { what, ..found }
        }
        _ => found,
    }
}

/// Requests that are better refused, and cost little when they are taken.
pub(super) fn better_refused(seen: &Seen<'_>) -> Found {
    match seen.exchanges.iter().find(|exchange| exchange.is_accepted()) {
        Some(exchange) => Found::new(Outcome::Warn, format!("{}: taken", told(exchange))),
        None => Found::new(Outcome::Ok, statuses(seen.exchanges)),
    }
}

/// Too much to read is to be refused, or the connection closed, and not waited for.
pub(super) fn bounded(seen: &Seen<'_>) -> Found {
    let Some(exchange) = seen.exchanges.first() else { return nothing_seen() };
    let is_closed = matches!(exchange.reply, Reply::Nothing(SendErrorKind::Closed, _));
    match exchange.status() {
        Some(400..=499) => Found::new(Outcome::Ok, statuses(seen.exchanges)),
        Some(200..=299) => Found::new(Outcome::Fail, format!("{}: taken", told(exchange))),
        Some(_) => {
            let what = format!("{}, where 413 would say what is wrong", told(exchange));
            Found::new(Outcome::Warn, what)
        }
        None if is_closed => Found::new(Outcome::Ok, "the connection was closed"),
        None => Found::new(Outcome::Fail, told(exchange)),
    }
}

/// An answer is to come in time. What came instead of one is for other checks.
pub(super) fn in_time(seen: &Seen<'_>) -> Found {
    let Some(exchange) = seen.exchanges.first() else { return nothing_seen() };
    let close = seen.limit * CLOSE_CALL / 100;
    match &exchange.reply {
        Reply::Nothing(SendErrorKind::Timeout, _) => {
            let limit = seconds(seen.limit);
            Found::new(Outcome::Fail, format!("no answer within {limit}"))
        }
        Reply::Nothing(..) => Found::new(Outcome::Skip, told(exchange)),
        Reply::Answer(_) if exchange.took > close => {
            let (took, limit) = (seconds(exchange.took), seconds(seen.limit));
            Found::new(Outcome::Warn, format!("answered after {took}, close to {limit}"))
        }
        Reply::Answer(_) => {
            Found::new(Outcome::Ok, format!("answered after {}", seconds(exchange.took)))
        }
    }
}

/// An answer is not to send the service somewhere else.
pub(super) fn no_redirect(seen: &Seen<'_>) -> Found {
    let Some(exchange) = seen.exchanges.first() else { return nothing_seen() };
    match exchange.status() {
        Some(300..=399) => {
            let to = exchange.header(&LOCATION);
            let to = to.map_or(String::new(), |to| format!(" to {to}"));
            Found::new(Outcome::Fail, told(exchange) + &to)
        }
        Some(_) => Found::new(Outcome::Ok, statuses(seen.exchanges)),
        None => Found::new(Outcome::Skip, told(exchange)),
    }
}

/// One submission several times at once: each is to be taken, at the latest when it comes again after
/// having been asked to by 503.
pub(super) fn at_once(seen: &Seen<'_>) -> Found {
    let is_busy = |exchange: &&Exchange| exchange.status() == Some(503);
    let wrong = |exchange: &&Exchange| !exchange.is_accepted() && !is_busy(exchange);
    if let Some(exchange) = seen.exchanges.iter().find(wrong) {
        return Found::new(Outcome::Fail, told(exchange));
    }
    let busy: Vec<&Exchange> = seen.exchanges.iter().filter(is_busy).collect();
    let again = seen.exchanges.iter().filter(|exchange| exchange.is_repeat).count();
    if busy.len() > again {
        return Found::new(Outcome::Fail, "answered 503 each time it came again");
    }
    if busy.iter().any(|exchange| exchange.header(&RETRY_AFTER).is_none()) {
        let what = "503 without Retry-After while it was being handled, then taken";
        return Found::new(Outcome::Warn, what);
    }
    Found::new(Outcome::Ok, statuses(seen.exchanges))
}

/// No answer of the whole run is to hold what only the secret's owner can know.
pub(super) fn silent(seen: &Seen<'_>) -> Found {
    match seen.leaks.first() {
        Some((check, what)) => {
            Found::new(Outcome::Fail, format!("the answer to `{check}` holds {what}"))
        }
        None => Found::new(Outcome::Ok, "no answer holds the secret or a right signature"),
    }
}

fn nothing_seen() -> Found {
    Found::new(Outcome::Skip, "nothing was sent")
}

/// What came of one request, in words.
pub(super) fn told(exchange: &Exchange) -> String {
    let came = match &exchange.reply {
        Reply::Answer(answer) => format!("answered {}", answer.status.as_u16()),
        Reply::Nothing(SendErrorKind::Refused, _) => "nothing listens any more".to_owned(),
        Reply::Nothing(SendErrorKind::Closed, _) => {
            "the connection was closed without an answer".to_owned()
        }
        Reply::Nothing(_, what) => what.clone(),
    };
    if exchange.label.is_empty() { came } else { format!("{}: {came}", exchange.label) }
}

/// The statuses that came, each once, in the order they came in.
fn statuses(exchanges: &[Exchange]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for exchange in exchanges {
        let status = exchange.status().map_or("nothing".to_owned(), |status| status.to_string());
        if !seen.contains(&status) {
            seen.push(status);
        }
    }
    format!("answered {}", seen.join(", "))
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
    use crate::send::Answer;
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    const LIMIT: Duration = Duration::from_secs(10);

    fn exchange(label: &'static str, reply: Reply, took: Duration) -> Exchange {
        Exchange { label, is_repeat: false, reply, took, ahead: 0, leak: None }
    }

    fn answer(status: u16) -> Exchange {
        with(status, HeaderMap::new())
    }

    fn with(status: u16, headers: HeaderMap) -> Exchange {
        let status = StatusCode::from_u16(status).unwrap();
        let (body, took) = (Bytes::new(), Duration::from_millis(3));
        let answer = Answer { status, headers, body, truncated: false, took };
        exchange("", Reply::Answer(answer), took)
    }

    fn nothing(kind: SendErrorKind) -> Exchange {
        exchange("", Reply::Nothing(kind, "why".to_owned()), LIMIT)
    }

    fn later(seconds: &'static str) -> Exchange {
        with(503, HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(seconds))]))
    }

    fn judged(judge: fn(&Seen<'_>) -> Found, exchanges: &[Exchange]) -> Outcome {
        judge(&Seen { exchanges, leaks: &[], limit: LIMIT }).outcome
    }

    #[test]
    fn each_judge_knows_each_kind_of_answer() {
        use Outcome::{Fail, Ok, Skip, Warn};
        use SendErrorKind::{BadAnswer, Closed, Refused, Timeout};
        type Row = (&'static str, fn(&Seen<'_>) -> Found, [Outcome; 11]);
        let came = [
            answer(200),
            answer(204),
            answer(302),
            answer(400),
            answer(401),
            answer(500),
            answer(503),
            nothing(Timeout),
            nothing(Closed),
            nothing(Refused),
            nothing(BadAnswer),
        ];
        let rows: [Row; 8] = [
            ("accepted", accepted, [Ok, Ok, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail]),
            (
                "better_accepted",
                better_accepted,
                [Ok, Ok, Warn, Warn, Warn, Warn, Warn, Warn, Warn, Warn, Warn],
            ),
            ("refused", refused, [Fail, Fail, Warn, Ok, Ok, Warn, Warn, Fail, Fail, Fail, Fail]),
            ("better_refused", better_refused, [Warn, Warn, Ok, Ok, Ok, Ok, Ok, Ok, Ok, Ok, Ok]),
            ("bounded", bounded, [Fail, Fail, Warn, Ok, Ok, Warn, Warn, Fail, Ok, Fail, Fail]),
            ("in_time", in_time, [Ok, Ok, Ok, Ok, Ok, Ok, Ok, Fail, Skip, Skip, Skip]),
            ("no_redirect", no_redirect, [Ok, Ok, Fail, Ok, Ok, Ok, Ok, Skip, Skip, Skip, Skip]),
            ("at_once", at_once, [Ok, Ok, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail, Fail]),
        ];
        for (name, judge, wanted) in rows {
            for (came, wanted) in came.iter().zip(wanted) {
                let found = judged(judge, std::slice::from_ref(came));
                assert_eq!(found, wanted, "{name}: {}", told(came));
            }
        }
    }

    #[test]
    fn one_wrong_answer_among_right_ones_counts_and_is_named() {
        let wrong = |status| Exchange { label: "this one", ..answer(status) };
        let seen = |exchanges: &[Exchange], judge: fn(&Seen<'_>) -> Found| {
            judge(&Seen { exchanges, leaks: &[], limit: LIMIT })
        };
        let found = seen(&[answer(200), wrong(401), answer(200)], accepted);
        assert_eq!(found, Found::new(Outcome::Fail, "this one: answered 401"));
        let found = seen(&[answer(401), wrong(204), answer(500)], refused);
        assert_eq!(found, Found::new(Outcome::Fail, "this one: answered 204: taken"));
        // What is worse is told, whichever came first.
        assert_eq!(judged(refused, &[answer(500), answer(200)]), Outcome::Fail);
        assert_eq!(seen(&[answer(401), answer(400)], refused).what, "answered 401, 400");
    }

    #[test]
    fn a_clock_that_is_off_is_told_where_it_matters() {
        let off = |ahead, status| [Exchange { ahead, ..answer(status) }];
        let found = |exchanges: &[Exchange], judge: fn(&Seen<'_>) -> Found| {
            judge(&Seen { exchanges, leaks: &[], limit: LIMIT }).what
        };
        let told = found(&off(-400, 401), accepted_in_time);
        assert_eq!(told, "answered 401; its clock is 400 s behind this machine's");
        let told = found(&off(3, 200), refused_in_time);
        assert_eq!(told, "answered 200: taken; its clock is 3 s ahead of this machine's");
        assert_eq!(found(&off(0, 401), accepted_in_time), "answered 401");
        assert_eq!(found(&off(400, 200), accepted_in_time), "answered 200");
    }

    #[test]
    fn an_answer_close_to_the_limit_is_worth_a_word() {
        let after = |took| exchange("", answer(200).reply, took);
        for (seconds, outcome) in [(7.9, Outcome::Ok), (8.1, Outcome::Warn)] {
            let took = Duration::from_secs_f64(seconds);
            assert_eq!(judged(in_time, &[after(took)]), outcome, "{seconds}");
        }
    }

    #[test]
    fn who_is_busy_with_a_submission_is_judged_by_the_repeat() {
        let again = |exchange| Exchange { is_repeat: true, ..exchange };
        let judged = |exchanges: &[Exchange]| judged(at_once, exchanges);
        assert_eq!(judged(&[answer(200), later("1"), again(answer(200))]), Outcome::Ok);
        assert_eq!(
            judged(&[answer(200), later("1"), again(later("1")), again(answer(200))]),
            Outcome::Ok
        );
        assert_eq!(judged(&[answer(200), later("1"), again(later("1"))]), Outcome::Fail);
        assert_eq!(judged(&[answer(200), later("1"), again(answer(409))]), Outcome::Fail);
        assert_eq!(judged(&[answer(200), answer(503), again(answer(200))]), Outcome::Warn);
        assert_eq!(judged(&[answer(200), answer(409)]), Outcome::Fail);
    }

    #[test]
    fn what_any_answer_gave_away_is_told_with_the_check_it_answered() {
        let leaks = [("stale", "the right signature")];
        let found = silent(&Seen { exchanges: &[answer(401)], leaks: &leaks, limit: LIMIT });
        assert_eq!(found.outcome, Outcome::Fail);
        assert_eq!(found.what, "the answer to `stale` holds the right signature");
    }
}
