//! Tells whoever reads of what happens: people or programs.

use jiff::Timestamp;

use super::goal::{End, Met};
use super::happened::{Happened, Warning, WarningCode};
use super::record::{self, Ready};
use super::tally::Tally;
use super::text::{self, Line, View};
use crate::error::CliError;
use crate::output::Live;
use crate::progress::Progress;

/// Tells of a listener: data on standard output, everything else on standard error.
pub(crate) struct Report<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) progress: &'a Progress,
    pub(crate) view: View,
}

impl Report<'_> {
    /// The listener answers.
    pub(crate) fn ready(&self, ready: &Ready<'_>) -> Result<(), CliError> {
        self.progress.remark(&format!("ready: listening on {} (Ctrl-C stops it)", ready.url));
        if !self.live.is_for_programs() {
            for line in what_it_does(ready) {
                self.progress.remark(&format!("  {line}"));
            }
        }
        if let Some(page) = ready.ui_url {
            self.progress.remark(&format!("inspector page: {page}"));
        }
        if self.live.is_for_programs() { self.live.record(&record::ready(ready)) } else { Ok(()) }
    }

    /// Things happened. What is known of one is said before it, and after what happened before.
    pub(crate) fn tell(&self, happened: &[Happened]) -> Result<(), CliError> {
        happened.chunk_by(|_, next| !next.warns()).try_for_each(|some| self.tell_together(some))
    }

    fn tell_together(&self, happened: &[Happened]) -> Result<(), CliError> {
        if self.live.is_for_programs() {
            let records: Vec<String> = happened.iter().flat_map(|one| self.records(one)).collect();
            return self.live.records(&records);
        }
        let lines: Vec<Line> = happened.iter().flat_map(|one| self.lines(one)).collect();
        self.live.lines(lines.iter().map(Vec::as_slice))
    }

    /// Something to know that did not come through the intake.
    pub(crate) fn warned(&self, warning: &Warning) -> Result<(), CliError> {
        self.warn(warning);
        if self.live.is_for_programs() {
            self.live.record(&record::warned(warning, Timestamp::now()))?;
        }
        Ok(())
    }

    /// The end: for people on standard error, since it is no delivery.
    pub(crate) fn summary(
        &self,
        tally: &Tally,
        lines: &[String],
        end: End,
        met: &[Met],
    ) -> Result<(), CliError> {
        for line in lines {
            self.progress.remark(line);
        }
        if self.live.is_for_programs() {
            let record = record::summary(tally, end.name(), met, Timestamp::now());
            self.live.record(&record)?;
        }
        Ok(())
    }

    /// What programs are told of it: what became known by it, and itself.
    fn records(&self, happened: &Happened) -> Vec<String> {
        let told = match happened {
            Happened::Delivered(told) => told,
            Happened::Refused(refused) => return vec![record::refused(refused, self.view.reveal)],
        };
        let warned = told.warnings.iter().map(|warning| {
            self.warn(warning);
            record::warned(warning, Timestamp::now())
        });
        warned.chain(record::delivered(told, self.view.reveal)).collect()
    }

    /// The terminal lines of it.
    fn lines(&self, happened: &Happened) -> Vec<Line> {
        let told = match happened {
            Happened::Delivered(told) => told,
            Happened::Refused(refused) => return vec![text::refused(refused, &self.view)],
        };
        // The line of the delivery tells why it was not answered.
        let known = |warning: &&Warning| warning.code == WarningCode::TargetDown;
        for warning in told.warnings.iter().filter(|warning| !known(warning)) {
            self.warn(warning);
        }
        text::delivered(told, &self.view)
    }

    fn warn(&self, warning: &Warning) {
        self.progress.warn(&warning.message);
    }
}

/// What a listener does with what comes, a line each.
fn what_it_does(ready: &Ready<'_>) -> Vec<String> {
    let verifies = match &ready.secrets[..] {
        // Whoever starts it without one is warned.
        [] => None,
        [current] => Some(format!("verifies with the secret of {current}")),
        [current, previous @ ..] => Some(format!(
            "verifies with the secret of {current}, and with what it replaced: {}",
            previous.join(", ")
        )),
    };
    let forwards =
        (!ready.targets.is_empty()).then(|| format!("forwards to {}", ready.targets.join(" and ")));
    let keeps = match &ready.store {
        Some(folder) => format!("keeps captures in {folder}"),
        None => "keeps captures in memory, until it ends".to_owned(),
    };
    verifies.into_iter().chain(forwards).chain([keeps]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_starts_it_is_told_what_becomes_of_deliveries() {
        let mut ready = Ready {
            at: Timestamp::UNIX_EPOCH,
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
        assert_eq!(what_it_does(&ready), ["keeps captures in memory, until it ends"]);
        ready.secrets = vec!["new.txt"];
        ready.targets = vec!["http://localhost:1/".into(), "http://localhost:2/".into()];
        ready.store = Some("/state/webhook".into());
        assert_eq!(
            what_it_does(&ready),
            [
                "verifies with the secret of new.txt",
                "forwards to http://localhost:1/ and http://localhost:2/",
                "keeps captures in /state/webhook",
            ]
        );
        ready.secrets.extend(["old.txt", "older.txt"]);
        let both =
            "verifies with the secret of new.txt, and with what it replaced: old.txt, older.txt";
        assert_eq!(what_it_does(&ready)[0], both);
    }
}
