//! Tells whoever reads of what happens: people or programs.

use jiff::Timestamp;

use super::goal::{End, Met};
use super::happened::{Delivered, Happened, Warning, WarningCode};
use super::record::{self, Ready};
use super::tally::Tally;
use super::text::{self, Line, View};
use crate::error::CliError;
use crate::output::{Live, Look};
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
        let remark = format!("ready: listening on {} (Ctrl-C stops it)", ready.url);
        self.progress.remark(&remark);
        if let Some(page) = ready.ui_url {
            self.progress.remark(&format!("inspector page: {page}"));
        }
        if self.live.is_for_programs() { self.live.record(&record::ready(ready)) } else { Ok(()) }
    }

    /// Something happened.
    pub(crate) fn tell(&self, happened: &Happened) -> Result<(), CliError> {
        if self.live.is_for_programs() {
            return self.record(happened);
        }
        match happened {
            Happened::Delivered(told) => {
                // The line of the delivery tells why it was not answered.
                let known = |warning: &&Warning| warning.code == WarningCode::TargetDown;
                told.warnings.iter().filter(|w| !known(w)).for_each(|warning| self.warn(warning));
                text::delivered(told, &self.view).iter().try_for_each(|line| self.line(line))
            }
            Happened::Refused(refused) => self.line(&text::refused(refused, &self.view)),
        }
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

    fn record(&self, happened: &Happened) -> Result<(), CliError> {
        let records = match happened {
            Happened::Delivered(told) => self.records(told),
            Happened::Refused(refused) => vec![record::refused(refused)],
        };
        records.iter().try_for_each(|record| self.live.record(record))
    }

    /// The lines of a delivery, and of what became known by it.
    fn records(&self, told: &Delivered) -> Vec<String> {
        let warned = told.warnings.iter().map(|warning| {
            self.warn(warning);
            record::warned(warning, Timestamp::now())
        });
        warned.chain(record::delivered(told, self.view.reveal)).collect()
    }

    fn warn(&self, warning: &Warning) {
        self.progress.remark(&format!("warning: {}", warning.message));
    }

    fn line(&self, line: &Line) -> Result<(), CliError> {
        let parts: Vec<(Look, &str)> = line.iter().map(|(look, text)| (*look, &**text)).collect();
        self.live.line(&parts)
    }
}
