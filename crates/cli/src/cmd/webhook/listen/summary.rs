//! The summary of a run, as lines for the terminal.

use formsvc_workbench::listen::{Times, Totals};
use formsvc_workbench::verdict::VERDICTS;

use crate::cmd::webhook::text::took;

/// Returns the lines of a summary.
pub(super) fn lines(totals: &Totals) -> Vec<String> {
    let refused = match totals.refused {
        0 => String::new(),
        refused => format!("; {} refused", counted(refused, "other request")),
    };
    if totals.received == 0 {
        return vec![format!("no delivery arrived{refused}")];
    }
    let verdicts = VERDICTS.iter().filter_map(|row| {
        totals.verdicts.get(row.name).map(|count| format!("{count} {}", row.label()))
    });
    let duplicates = (totals.duplicates > 0).then(|| counted(totals.duplicates, "duplicate"));
    let retries = (totals.retries > 0).then(|| counted(totals.retries, "retry"));
    let parts: Vec<_> = verdicts.chain(retries).chain(duplicates).collect();
    let received = counted(totals.received, "delivery");
    let mut lines = vec![format!("{received}: {}{refused}", parts.join(", "))];
    let dropped = (totals.dropped > 0).then(|| format!("dropped ×{}", totals.dropped));
    let statuses = totals.statuses.iter().map(|(status, count)| format!("{status} ×{count}"));
    let responses: Vec<_> = dropped.into_iter().chain(statuses).collect();
    lines.push(format!("responses: {}{}", responses.join(", "), times(&totals.response_times)));
    let forwards = totals.forwards_answered + totals.forwards_failed;
    if forwards > 0 {
        let failed = match totals.forwards_failed {
            0 => String::new(),
            failed => format!(", {failed} without a response"),
        };
        let times = times(&totals.forward_times);
        lines.push(format!("{}{failed}{times}", counted(forwards, "forward")));
    }
    if totals.unrouted > 0 {
        let unrouted = counted(totals.unrouted, "delivery");
        lines.push(format!("{unrouted} not forwarded: no route matches"));
    }
    lines
}

fn times(times: &Times) -> String {
    match (times.percentile(50), times.percentile(95)) {
        (Some(p50), Some(p95)) => {
            let [p50, p95, max] = [p50, p95, times.max()].map(took);
            format!("; p50 {p50}, p95 {p95}, max {max}")
        }
        _ => String::new(),
    }
}

/// Returns a number and its noun.
fn counted(count: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use formsvc_workbench::delivery::{AnsweredBy, Attempt};
    use formsvc_workbench::verdict::VerdictCode;

    use super::super::line::tests::delivery;
    use super::*;

    #[test]
    fn summary_counts_verdicts_statuses_and_times() {
        let mut totals = Totals { refused: 2, ..Totals::default() };
        assert_eq!(lines(&totals), ["no delivery arrived; 2 other requests refused"]);
        totals.refused = 0;
        let (mut old, mut twice, mut dropped) = (delivery(), delivery(), delivery());
        old.summary.verdict.code = VerdictCode::SignatureTooOld;
        let response = old.summary.response.as_mut().unwrap();
        (response.status, response.answered_by) = (Some(401), AnsweredBy::Listener);
        twice.summary.attempt = Attempt { number: 2, gap: None, is_duplicate: true };
        dropped.summary.response.as_mut().unwrap().status = None;
        dropped.summary.attempt.number = 2;
        for one in [delivery(), old, twice, dropped] {
            totals.add(&one);
        }
        let expected = [
            "4 deliveries: 3 valid, 1 signature too old, 1 retry, 1 duplicate",
            "responses: dropped ×1, 200 ×2, 401 ×1; p50 41ms, p95 41ms, max 41ms",
        ];
        assert_eq!(lines(&totals), expected);
    }

    #[test]
    fn summary_counts_deliveries_without_a_route() {
        let mut totals = Totals::default();
        let mut unrouted = delivery();
        unrouted.summary.response.as_mut().unwrap().answered_by = AnsweredBy::NoRoute;
        totals.add(&unrouted);
        assert_eq!(lines(&totals)[2..], ["1 delivery not forwarded: no route matches"]);
    }
}
