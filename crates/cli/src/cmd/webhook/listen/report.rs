//! Prints and counts the events of a listener: for users as lines, for programs as JSON on standard output. Warnings
//! and the summary for users are on standard error.

use std::time::Instant;

use formsvc_workbench::listen::{Ended, Goal, ListenerEvent, ListenerLine, ReadyLine, Totals};
use formsvc_workbench::verdict::VERDICTS;
use formsvc_workbench::warning::{Warning, WarningCode};
use jiff::Timestamp;
use serde_json::json;

use super::super::line::{Line, LineStyle};
use crate::base::text::count;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::{Live, to_json};

/// Prints and counts the events of a listener.
pub(super) struct Report<'a> {
    pub(super) live: Live<'a>,
    pub(super) progress: &'a Progress,
    pub(super) style: LineStyle,
    pub(super) goal: Goal,
    pub(super) totals: Totals,
}

impl Report<'_> {
    /// Prints that the listener accepts deliveries.
    pub(super) fn ready(&self, ready: ReadyLine<'_>) -> Result<(), CliError> {
        self.progress.remark(&format!("ready: listening on {} (Ctrl-C stops it)", ready.url));
        if !self.live.is_for_programs() {
            for line in settings(&ready) {
                self.progress.remark(&format!("  {line}"));
            }
        }
        if let Some(url) = ready.ui_url {
            self.progress.remark(&format!("inspector: {url}"));
        }
        self.record(&ListenerLine::Ready(ready))
    }

    /// Prints and counts an event. Returns a value if the run ends with it.
    pub(super) fn event(&mut self, event: ListenerEvent) -> Result<Option<Ended>, CliError> {
        let (is_for_programs, reveal) = (self.live.is_for_programs(), self.style.reveal);
        match event {
            ListenerEvent::Warning(warning) => self.warning(&warning).map(|()| None),
            ListenerEvent::Refused(refused) => {
                self.totals.refused += 1;
                self.record(&ListenerLine::refused(&refused, reveal))?;
                self.print(&self.style.refused(&refused)).map(|()| None)
            }
            ListenerEvent::Delivered { delivery, warnings } => {
                for warning in warnings {
                    // For users, this warning is omitted: the lines of the delivery show the error of the target.
                    if is_for_programs || warning.code != WarningCode::TargetDown {
                        self.warning(&warning)?;
                    }
                }
                if is_for_programs {
                    self.record(&ListenerLine::delivery(&delivery, reveal))?;
                } else {
                    self.print(&self.style.delivery(&delivery))?;
                }
                self.totals.add(&delivery);
                Ok(self.goal.observe(&delivery, Instant::now()))
            }
        }
    }

    /// Prints a warning.
    pub(super) fn warning(&self, warning: &Warning) -> Result<(), CliError> {
        self.progress.warn(&warning.message);
        self.record(&ListenerLine::warning(warning, Timestamp::now()))
    }

    /// Prints the totals of the run. Returns an error if the poll failed or the goal is not met.
    pub(super) fn end(self, ended: Ended, poll: Result<(), CliError>) -> Result<(), CliError> {
        let expectations = self.goal.result(ended);
        for line in summary(&self.totals) {
            self.progress.remark(&line);
        }
        self.record(&ListenerLine::summary(&self.totals, ended, &expectations, Timestamp::now()))?;
        // The end of the poll is the reason why expected deliveries did not arrive.
        poll?;
        let unmet = expectations.into_iter().filter(|one| !one.met);
        let causes =
            unmet.map(|one| format!("`--{}`: {}", one.text, one.reason.unwrap_or_default()));
        let error = CliError::new(Exit::Unmet, "the expected deliveries did not all arrive");
        let mut causes = causes.peekable();
        if causes.peek().is_none() { Ok(()) } else { Err(causes.fold(error, CliError::cause)) }
    }

    fn print(&self, lines: &[Line]) -> Result<(), CliError> {
        self.live.lines(lines.iter().map(Vec::as_slice))
    }

    /// Prints a line for programs.
    fn record(&self, line: &ListenerLine<'_>) -> Result<(), CliError> {
        if !self.live.is_for_programs() {
            return Ok(());
        }
        let item = match line {
            ListenerLine::Delivery(record) => match record.capture {
                Some(number) => format!("capture {number}"),
                None => format!("delivery of {}", record.at),
            },
            _ => format!("line of type {}", json!(line)["type"]),
        };
        self.live.record(&to_json(line)).or_else(|error| self.progress.warn_of_item(&item, error))
    }
}

/// Returns the settings of a listener, one on each line.
fn settings(ready: &ReadyLine<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    match &ready.secrets[..] {
        // A warning reports that there is no secret.
        [] => {}
        [current] => lines.push(format!("verifies with the secret `{current}`")),
        secrets => lines.push(format!("verifies with the secrets `{}`", secrets.join("` and `"))),
    }
    if !ready.targets.is_empty() {
        lines.push(format!("forwards to {}", ready.targets.join(" and ")));
    }
    lines.push(match &ready.store {
        Some(folder) => format!("stores captures in {folder}"),
        None => "keeps deliveries in memory only; they are lost when the listener ends".to_owned(),
    });
    lines
}

/// Returns the lines of a summary.
fn summary(totals: &Totals) -> Vec<String> {
    let count_if_any = |number, noun| (number > 0).then(|| count(number, noun));
    let refused = count_if_any(totals.refused, "other request");
    let refused = refused.map(|refused| format!("; {refused} refused")).unwrap_or_default();
    if totals.received == 0 {
        return vec![format!("no delivery arrived{refused}")];
    }
    let verdicts = VERDICTS.iter().filter_map(|row| {
        totals.verdicts.get(row.name).map(|count| format!("{count} {}", row.label()))
    });
    let retries = count_if_any(totals.retries, "retry");
    let duplicates = count_if_any(totals.duplicates, "duplicate");
    let parts: Vec<_> = verdicts.chain(retries).chain(duplicates).collect();
    let dropped = (totals.dropped > 0).then(|| format!("dropped ×{}", totals.dropped));
    let statuses = totals.statuses.iter().map(|(status, count)| format!("{status} ×{count}"));
    let responses: Vec<_> = dropped.into_iter().chain(statuses).collect();
    let mut lines = vec![
        format!("{}: {}{refused}", count(totals.received, "delivery"), parts.join(", ")),
        format!("responses: {}", responses.join(", ")),
    ];
    let unrouted = count_if_any(totals.unrouted, "delivery");
    lines.extend(unrouted.map(|unrouted| format!("{unrouted} not forwarded: no route matches")));
    lines
}

#[cfg(test)]
mod tests {
    use formsvc_workbench::delivery::{AnsweredBy, Attempt};
    use formsvc_workbench::verdict::VerdictCode;

    use super::*;
    use crate::cmd::webhook::line::tests::delivery;

    #[test]
    fn settings_name_secrets_targets_and_store() {
        let mut ready = ReadyLine {
            schema: 1,
            at: String::new(),
            url: "http://127.0.0.1:9000/",
            pid: 1,
            version: "0",
            secrets: vec![],
            on_invalid: "reject",
            path: None,
            targets: vec![],
            store: None,
            ui_url: None,
        };
        assert_eq!(
            settings(&ready),
            ["keeps deliveries in memory only; they are lost when the listener ends"]
        );
        ready.secrets = vec!["new.txt", "old.txt"];
        ready.targets = vec!["http://localhost:1/".into(), "http://localhost:2/".into()];
        ready.store = Some("/state/webhook".into());
        let expected = [
            "verifies with the secrets `new.txt` and `old.txt`",
            "forwards to http://localhost:1/ and http://localhost:2/",
            "stores captures in /state/webhook",
        ];
        assert_eq!(settings(&ready), expected);
    }

    #[test]
    fn summary_counts_verdicts_statuses_and_times() {
        let mut totals = Totals { refused: 2, ..Totals::default() };
        assert_eq!(summary(&totals), ["no delivery arrived; 2 other requests refused"]);
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
            "responses: dropped ×1, 200 ×2, 401 ×1",
        ];
        assert_eq!(summary(&totals), expected);
    }

    #[test]
    fn summary_counts_deliveries_without_a_route() {
        let mut totals = Totals::default();
        let mut unrouted = delivery();
        unrouted.summary.response.as_mut().unwrap().answered_by = AnsweredBy::NoRoute;
        totals.add(&unrouted);
        assert_eq!(summary(&totals)[2..], ["1 delivery not forwarded: no route matches"]);
    }
}
