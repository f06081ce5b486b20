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
    let again = seen.exchanges.iter().filter(|exchange| exchange.label == AGAIN).count();
    if busy.len() > again {
        return Found::new(Outcome::Fail, "answered 503 each time it came again");
    }
    if busy.iter().any(|exchange| exchange.header(&RETRY_AFTER).is_none()) {
        let what = "503 without Retry-After while it was being handled, then taken";
        return Found::new(Outcome::Warn, what);
    }
    Found::new(Outcome::Ok, statuses(seen.exchanges))
}

/// What the repeats are called that a receiver asked for.
pub(super) const AGAIN: &str = "sent again";

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
