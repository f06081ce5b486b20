//! What came, counted: in memory that does not grow with it.

use std::collections::BTreeMap;

use formsvc_protocol::RetrySchedule;

use super::happened::{Delivered, Happened};
use super::histogram::Histogram;
use super::text::{seconds, took};
use crate::webhook::history::Pause;
use crate::webhook::verdict::{VERDICTS, VerdictCode};

/// Everything that came to a listener.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    verdicts: Vec<(VerdictCode, u64)>,
    pub(crate) duplicates: u64,
    pub(crate) retries: u64,
    /// Requests that were no deliveries, or could not be taken.
    pub(crate) refused: u64,
    /// By status; those without an answer have none. There are no more than there are statuses.
    pub(crate) answers: BTreeMap<Option<u16>, u64>,
    pub(crate) answer_time: Histogram,
    pub(crate) forwards_answered: u64,
    pub(crate) forwards_failed: u64,
    /// Deliveries that were to be passed on, and that no route took.
    pub(crate) unrouted: u64,
    pub(crate) forward_time: Histogram,
    pub(crate) pauses: Pauses,
}

/// The pauses before retries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    pub(crate) seen: u64,
    pub(crate) fitting: u64,
    /// The first that the schedule does not have, and of which submission.
    pub(crate) odd: Option<(String, Pause)>,
}

impl Tally {
    pub(crate) fn add(&mut self, happened: &Happened) {
        match happened {
            Happened::Delivered(delivered) => self.delivered(delivered),
            Happened::Refused(_) => self.refused += 1,
        }
    }

    fn delivered(&mut self, delivered: &Delivered) {
        let received = &delivered.capture.received;
        self.received += 1;
        let code = received.verdict.code;
        match self.verdicts.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += 1,
            None => self.verdicts.push((code, 1)),
        }
        let arrival = received.arrival;
        if arrival.duplicate {
            self.duplicates += 1;
        } else if arrival.number > 1 {
            self.retries += 1;
        }
        if let Some(pause) = delivered.pause {
            self.pauses.add(received.submission_id.as_deref().unwrap_or_default(), pause);
        }
        let Some(outcome) = &delivered.capture.outcome else { return };
        *self.answers.entry(outcome.status).or_default() += 1;
        self.answer_time.add(outcome.took);
        self.unrouted += u64::from(delivered.is_unrouted);
        for forward in &outcome.forwards {
            self.forward_time.add(forward.took);
            match forward.answer {
                Ok(_) => self.forwards_answered += 1,
                Err(_) => self.forwards_failed += 1,
            }
        }
    }

    /// How many there were of each verdict, in the order of the table; none that did not come.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = (VerdictCode, u64)> {
        VERDICTS
            .iter()
            .filter_map(|row| self.verdicts.iter().find(|(code, _)| *code == row.code).copied())
    }

    /// The lines of a summary.
    pub(crate) fn lines(&self, schedule: &RetrySchedule) -> Vec<String> {
        if self.received == 0 {
            let none = "no delivery came".to_owned();
            return vec![if self.refused == 0 { none } else { none + &self.of_refused() }];
        }
        let mut parts: Vec<String> = self
            .verdicts()
            .map(|(code, count)| format!("{count} {}", code.row().name.replace('_', " ")))
            .collect();
        if self.duplicates > 0 {
            parts.push(plural(self.duplicates, "duplicate"));
        }
        let all = plural(self.received, "delivery");
        let mut lines = vec![format!("{all}: {}{}", parts.join(", "), self.of_refused())];
        let answers = self.answers.iter().map(|(status, count)| {
            let status = status.map_or("dropped".to_owned(), |status| status.to_string());
            format!("{status} ×{count}")
        });
        let answers = answers.collect::<Vec<_>>().join(", ");
        lines.push(format!("answered {answers}{}", times(&self.answer_time)));
        let forwards = self.forwards_answered + self.forwards_failed;
        if forwards > 0 {
            let failed = match self.forwards_failed {
                0 => String::new(),
                1 if forwards == 1 => ", not answered".to_owned(),
                failed if failed == forwards => ", none of them answered".to_owned(),
                failed => format!(", {failed} of them not answered"),
            };
            let forwards = plural(forwards, "forward");
            lines.push(format!("{forwards}{failed}{}", times(&self.forward_time)));
        }
        if self.unrouted > 0 {
            let unrouted = plural(self.unrouted, "delivery");
            lines.push(format!("{unrouted} went no further: no route matches"));
        }
        lines.extend(self.pauses.line(self.retries, schedule));
        lines
    }

    fn of_refused(&self) -> String {
        match self.refused {
            0 => String::new(),
            refused => format!("; and {} went no further", plural(refused, "request")),
        }
    }
}

impl Pauses {
    fn add(&mut self, id: &str, pause: Pause) {
        self.seen += 1;
        if pause.fits() {
            self.fitting += 1;
        } else if self.odd.is_none() {
            self.odd = Some((id.to_owned(), pause));
        }
    }

    /// Whether all there were are those of the schedule; none where there were none.
    pub(crate) fn fit(&self) -> Option<bool> {
        (self.seen > 0).then_some(self.fitting == self.seen)
    }

    fn line(&self, retries: u64, schedule: &RetrySchedule) -> Option<String> {
        let told = in_words(schedule);
        match (&self.odd, self.seen) {
            (None, 0) if retries == 0 => None,
            (None, 0) => Some(format!("{}, of which no pause is known", plural(retries, "retry"))),
            (None, seen) => {
                let pauses = plural(seen, "retry");
                Some(format!("{pauses}: every pause fits the service's schedule ({told})"))
            }
            (Some((id, pause)), seen) => {
                let odd = seen - self.fitting;
                let expected = match pause.expected {
                    Some((least, most)) => {
                        format!("{} to {} expected", seconds(least), seconds(most))
                    }
                    None => format!("no more than {} retries expected", schedule.retries),
                };
                Some(format!(
                    "{}: {odd} of {seen} pauses do not fit the service's schedule ({told}); the first: \
                     retry {} of {id} after {}, {expected}; `--retry-base` and `--retry-factor` tell of \
                     another schedule",
                    plural(seen, "retry"),
                    pause.retry,
                    seconds(pause.waited),
                ))
            }
        }
    }
}

/// A schedule in words: `10.0s, 60.0s, 6m00s, each up to 20 % longer`.
fn in_words(schedule: &RetrySchedule) -> String {
    let pauses = (1..=schedule.retries).map(|retry| seconds(schedule.pause(retry, 0.0, None)));
    let percent = schedule.jitter * 100.0;
    format!("{}, each up to {percent:.0} % longer", pauses.collect::<Vec<_>>().join(", "))
}

fn times(histogram: &Histogram) -> String {
    let percentile = |percent| histogram.percentile(percent).map(took);
    match (percentile(50), percentile(95)) {
        (Some(half), Some(most)) => {
            format!("; p50 {half}, p95 {most}, longest {}", took(histogram.longest()))
        }
        _ => String::new(),
    }
}

/// A count and its noun.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::webhook::capture::AnsweredBy;
    use crate::webhook::listen::samples::{BODY, Sample};

    fn told(deliveries: Vec<Delivered>) -> Vec<String> {
        let mut tally = Tally::default();
        for delivery in deliveries {
            tally.add(&Happened::Delivered(delivery));
        }
        tally.lines(&RetrySchedule::default())
    }

    fn retry(retry: u32, waited: u64) -> Delivered {
        let waited = Duration::from_secs(waited);
        let schedule = RetrySchedule::default();
        let of = |random| schedule.pause(retry, random, None);
        let expected = (retry <= schedule.retries).then(|| (of(0.0), of(1.0)));
        let told = Sample::of(BODY).attempt(retry + 1, waited.as_secs(), false).told();
        Delivered { pause: Some(Pause { retry, waited, expected }), ..told }
    }

    #[test]
    fn a_summary_counts_and_says_how_long() {
        assert_eq!(told(Vec::new()), ["no delivery came"]);
        let stale = Sample::of(BODY).verdict(VerdictCode::TooOld, Some(400));
        let stale = stale.answered(Some(401), AnsweredBy::Listener).told();
        let lines = told(vec![
            Sample::of(BODY).told(),
            Sample::of(BODY).attempt(2, 1, true).told(),
            stale,
            Sample::of(BODY).answered(None, AnsweredBy::Fault).told(),
        ]);
        assert_eq!(
            lines,
            [
                "4 deliveries: 3 valid, 1 signature too old, 1 duplicate",
                "answered dropped ×1, 200 ×2, 401 ×1; p50 41ms, p95 41ms, longest 41ms",
            ]
        );
    }

    #[test]
    fn what_no_route_matches_is_counted() {
        let unrouted = Delivered { is_unrouted: true, ..Sample::of(BODY).told() };
        let lines = told(vec![Sample::of(BODY).told(), unrouted]);
        assert_eq!(lines[0], "2 deliveries: 2 valid");
        assert_eq!(lines[2..], ["1 delivery went no further: no route matches"]);
    }

    #[test]
    fn pauses_are_judged_by_the_schedule() {
        let schedule = "(10.0s, 60.0s, 6m00s, each up to 20 % longer)";
        let fits = told(vec![Sample::of(BODY).told(), retry(1, 11), retry(2, 72), retry(3, 361)]);
        let line = format!("3 retries: every pause fits the service's schedule {schedule}");
        assert_eq!(fits.last(), Some(&line));
        let odd = told(vec![retry(1, 11), retry(2, 11), retry(4, 1_000)]);
        let line = format!(
            "3 retries: 2 of 3 pauses do not fit the service's schedule {schedule}; the first: \
             retry 2 of sub_1 after 11.0s, 60.0s to 72.0s expected; `--retry-base` and `--retry-factor` \
             tell of another schedule"
        );
        assert_eq!(odd.last(), Some(&line));
        let beyond = told(vec![retry(4, 1_000)]);
        assert!(beyond.last().unwrap().contains("after 16m40s, no more than 3 retries expected; "));
        let unknown = told(vec![Sample::of(BODY).attempt(2, 0, false).told()]);
        assert_eq!(unknown.last().unwrap(), "1 retry, of which no pause is known");
    }
}
