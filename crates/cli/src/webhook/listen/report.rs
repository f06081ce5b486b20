//! Tells whoever reads of what happens: people or programs.

use jiff::Timestamp;

use super::goal::{End, Met};
use super::happened::{Happened, Warning};
use super::record::{self, Ready};
use super::tally::Tally;
use super::text::{self, Line, View};
use crate::error::CliError;
use crate::output::{Live, Look};
use crate::progress::Progress;

/// The warning that a target does not answer.
const TARGET_DOWN: &str = "target_down";

/// Tells of a listener: data on standard output, everything else on standard error.
pub(crate) struct Report<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) progress: &'a Progress,
    pub(crate) view: View,
    /// Whether signatures are told as they came.
    pub(crate) reveal: bool,
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
                text::delivered(told, &self.view).iter().try_for_each(|line| self.line(line))
            }
            Happened::Refused(refused) => self.line(&text::refused(refused, &self.view)),
            Happened::Warned(warning) => {
                // The line of the delivery tells why it was not answered.
                if warning.code != TARGET_DOWN {
                    self.warn(warning);
                }
                Ok(())
            }
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
        end: &End,
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
            Happened::Delivered(told) => record::delivered(told, self.reveal),
            Happened::Refused(refused) => vec![record::refused(refused)],
            Happened::Warned(warning) => {
                self.warn(warning);
                vec![record::warned(warning, Timestamp::now())]
            }
        };
        records.iter().try_for_each(|record| self.live.record(record))
    }

    fn warn(&self, warning: &Warning) {
        self.progress.remark(&format!("warning: {}", warning.message));
    }

    fn line(&self, line: &Line) -> Result<(), CliError> {
        let parts: Vec<(Look, &str)> = line.iter().map(|(look, text)| (*look, &**text)).collect();
        self.live.line(&parts)
    }
}
