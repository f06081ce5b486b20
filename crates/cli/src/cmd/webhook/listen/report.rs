//! Prints the events of a listener: for users as lines, for programs as JSON on standard output, warnings on
//! standard error.

use formsvc_workbench::delivery::Delivery;
use formsvc_workbench::listen::{
    Ended, Expectation, ListenerEvent, ListenerLine, ReadyLine, Totals,
};
use formsvc_workbench::warning::{Warning, WarningCode};
use jiff::Timestamp;

use super::line::{Line, LineStyle};
use super::summary;
use crate::error::CliError;
use crate::output::progress::Progress;
use crate::output::{Live, to_json};

/// Prints the events of a listener.
pub(super) struct Report<'a> {
    pub(super) live: Live<'a>,
    pub(super) progress: &'a Progress,
    pub(super) style: LineStyle,
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

    /// Prints events. The warnings of a delivery precede it.
    pub(super) fn events(&self, events: &[ListenerEvent]) -> Result<(), CliError> {
        // Warnings go to another stream, so the lines before them are written first.
        let has_warnings = |event: &ListenerEvent| match event {
            ListenerEvent::Delivered { warnings, .. } => !warnings.is_empty(),
            ListenerEvent::Refused(_) => false,
        };
        events.chunk_by(|_, next| !has_warnings(next)).try_for_each(|events| self.chunk(events))
    }

    fn chunk(&self, events: &[ListenerEvent]) -> Result<(), CliError> {
        if self.live.is_for_programs() {
            let records: Vec<_> = events.iter().flat_map(|event| self.records(event)).collect();
            return self.live.records(&records);
        }
        let lines: Vec<Line> = events.iter().flat_map(|event| self.lines(event)).collect();
        self.live.lines(lines.iter().map(Vec::as_slice))
    }

    fn records(&self, event: &ListenerEvent) -> Vec<String> {
        let reveal = self.style.reveal;
        let (delivery, warnings) = match event {
            ListenerEvent::Delivered { delivery, warnings } => (delivery, warnings),
            ListenerEvent::Refused(refused) => {
                return vec![to_json(&ListenerLine::refused(refused, reveal))];
            }
        };
        let warnings = warnings.iter().map(|warning| {
            self.progress.warn(&warning.message);
            to_json(&ListenerLine::warning(warning, Timestamp::now()))
        });
        let mut records: Vec<_> = warnings.collect();
        records.push(to_json(&ListenerLine::delivery(delivery, reveal)));
        records
    }

    fn lines(&self, event: &ListenerEvent) -> Vec<Line> {
        let (delivery, warnings): (&Delivery, _) = match event {
            ListenerEvent::Delivered { delivery, warnings } => (delivery, warnings),
            ListenerEvent::Refused(refused) => return vec![self.style.refused(refused)],
        };
        // The lines of the delivery contain the error of the target.
        let others = warnings.iter().filter(|warning| warning.code != WarningCode::TargetDown);
        others.for_each(|warning| self.progress.warn(&warning.message));
        self.style.delivery(delivery)
    }

    /// Prints a warning that is not about a delivery.
    pub(super) fn warning(&self, warning: &Warning) -> Result<(), CliError> {
        self.progress.warn(&warning.message);
        self.record(&ListenerLine::warning(warning, Timestamp::now()))
    }

    /// Prints the totals of the run: for users on standard error.
    pub(super) fn summary(
        &self,
        totals: &Totals,
        ended: Ended,
        expectations: &[Expectation],
    ) -> Result<(), CliError> {
        for line in summary::lines(totals) {
            self.progress.remark(&line);
        }
        self.record(&ListenerLine::summary(totals, ended, expectations, Timestamp::now()))
    }

    /// Prints a line for programs.
    fn record(&self, line: &ListenerLine<'_>) -> Result<(), CliError> {
        if self.live.is_for_programs() { self.live.record(&to_json(line)) } else { Ok(()) }
    }
}

/// Returns the settings of a listener, one on each line.
fn settings(ready: &ReadyLine<'_>) -> Vec<String> {
    let verifies = match &ready.secrets[..] {
        // A warning reports this.
        [] => None,
        [current] => Some(format!("verifies with the secret {current}")),
        [current, previous @ ..] => {
            Some(format!("verifies with the secrets {current} and {}", previous.join(" and ")))
        }
    };
    let targets = ready.targets.join(" and ");
    let forwards = (!ready.targets.is_empty()).then(|| format!("forwards to {targets}"));
    let stores = match &ready.store {
        Some(folder) => format!("stores captures in {folder}"),
        None => "keeps captures in memory until it ends".to_owned(),
    };
    verifies.into_iter().chain(forwards).chain([stores]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(settings(&ready), ["keeps captures in memory until it ends"]);
        ready.secrets = vec!["new.txt", "old.txt"];
        ready.targets = vec!["http://localhost:1/".into(), "http://localhost:2/".into()];
        ready.store = Some("/state/webhook".into());
        let expected = [
            "verifies with the secrets new.txt and old.txt",
            "forwards to http://localhost:1/ and http://localhost:2/",
            "stores captures in /state/webhook",
        ];
        assert_eq!(settings(&ready), expected);
    }
}
