//! Sends captures one after another, and prints the responses.

use formsvc_contract::send::HttpSender;
use formsvc_workbench::compare::Difference;
use formsvc_workbench::delivery::{CaptureNumber, Delivery};
use formsvc_workbench::expectation::ResponseTally;
use formsvc_workbench::export::{ExportFormat, Exporter};
use formsvc_workbench::mask;
use formsvc_workbench::record::millis;
use formsvc_workbench::replay::{
    Replay as Resend, ReplayPlan, ReplaySignature, ReplayTarget, Replayed,
};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::simulate::unix_now;
use formsvc_workbench::store::CaptureStore;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::super::captures;
use super::super::events::print_differences;
use super::super::expectation;
use super::super::text;
use super::{FIELDS, Replay};
use crate::base::text::wrap_whole_words;
use crate::context::Context;
use crate::error::CliError;
use crate::output::OutputFormat;
use crate::output::{Column, Columns, ItemPrinter, TextStyle};

/// The captures to send, and the means to send them.
pub(super) struct ReplayRun<'a> {
    pub(super) cx: &'a Context,
    pub(super) store: CaptureStore,
    pub(super) sender: HttpSender,
    pub(super) secrets: SigningSecrets,
    pub(super) plan: ReplayPlan<'static>,
    pub(super) args: &'a Replay,
}

/// The JSON of a replay.
#[derive(Serialize)]
struct ReplayRecord<'a> {
    capture: CaptureNumber,
    submission_id: Option<&'a str>,
    to: String,
    before: Option<u16>,
    status: Option<u16>,
    took_ms: Option<f64>,
    error: Option<String>,
    body_size: usize,
    signature: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Vec<Difference>>,
}

impl ReplayRun<'_> {
    /// Sends each capture as often as wanted. With `--dry-run`, only prints it.
    pub(super) async fn send(&self) -> Result<(), CliError> {
        let output = self.cx.output.piped_as(OutputFormat::Ndjson);
        let printer = output.items(self.columns(), FIELDS)?;
        if self.cx.settings.terminal.stdout {
            self.cx.progress.share_terminal();
        }
        let mut tally = ResponseTally::new(self.args.expect);
        for (number, target) in &self.plan.sends {
            let delivery = captures::get(&self.store, *number).await?;
            let resend = self.resend(&delivery, target).await?;
            if self.args.dry_run {
                self.print(&printer, &resend, None)?;
                continue;
            }
            for _ in 0..self.args.times {
                // The signature is made now, because the last replay may be much later than the first.
                let replayed = resend.clone().send(&self.sender, &self.secrets, unix_now()).await?;
                let result = replayed.result.as_ref();
                tally.add(result.map(|response| (response.status, &*response.body)));
                self.print(&printer, &resend, Some(&replayed))?;
                if replayed.needs_password() {
                    self.cx.progress.remark(
                        "hint: the target asks for a password, which captures do not contain; pass its \
                         URL with `--to`",
                    );
                }
            }
        }
        if self.args.dry_run {
            self.cx.progress.remark("nothing was sent: --dry-run");
        }
        expectation::check(&tally, "replays", false, |status| Some(self.hint(status)))
    }

    /// Prints the requests, and sends none.
    pub(super) async fn export(&self, format: ExportFormat) -> Result<(), CliError> {
        let mut exporter = Exporter::new(format, self.args.reveal);
        for (number, target) in &self.plan.sends {
            let delivery = captures::get(&self.store, *number).await?;
            let resend = self.resend(&delivery, target).await?;
            let outgoing = resend.outgoing(&self.secrets, unix_now())?;
            self.cx.output.exactly(&exporter.request(Some(*number), &outgoing))?;
        }
        if self.cx.settings.terminal.stdout && format == ExportFormat::Http {
            self.cx.output.exactly(b"\n")?;
        }
        for warning in exporter.warnings() {
            self.cx.progress.warn(warning);
        }
        Ok(())
    }

    /// Returns the replay of a capture, with the changes of the flags.
    async fn resend<'d>(
        &self,
        delivery: &'d Delivery,
        target: &ReplayTarget,
    ) -> Result<Resend<'d>, CliError> {
        let body = self.args.changes.apply(&delivery.body).await?;
        Ok(Resend { delivery, to: target.clone(), body, signature: self.plan.signature })
    }

    fn print(
        &self,
        printer: &ItemPrinter<'_>,
        resend: &Resend<'_>,
        replayed: Option<&Replayed<'_>>,
    ) -> Result<(), CliError> {
        let summary = &resend.delivery.summary;
        let result = replayed.map(|replayed| replayed.result.as_ref());
        let differences = replayed.and_then(|replayed| replayed.differences(self.args.reveal));
        let record = ReplayRecord {
            capture: summary.number.unwrap_or_default(),
            submission_id: summary.names.submission_id.as_deref(),
            to: mask::url(resend.to.url.as_str(), self.args.reveal),
            before: match replayed {
                Some(replayed) => replayed.earlier_status,
                None => resend.earlier_status(),
            },
            status: result.and_then(Result::ok).map(|response| response.status),
            took_ms: replayed.map(|replayed| millis(replayed.took)),
            error: result.and_then(Result::err).map(ToString::to_string),
            body_size: resend.body.as_ref().unwrap_or(&resend.delivery.body).len(),
            signature: match resend.signature {
                ReplaySignature::Fresh => "fresh",
                ReplaySignature::AsReceived => "kept",
            },
            diff: if self.args.diff { Some(differences.clone().unwrap_or_default()) } else { None },
        };
        match printer {
            ItemPrinter::Json(stream) => stream.show(&record),
            ItemPrinter::Rows(columns) => {
                let took = replayed.map(|replayed| text::took(replayed.took)).unwrap_or_default();
                self.print_row(columns, &record, &took)?;
                if self.args.diff && record.error.is_none() {
                    print_response_diff(columns, differences.as_deref())?;
                }
                Ok(())
            }
        }
    }

    fn print_row(
        &self,
        columns: &Columns<'_>,
        record: &ReplayRecord<'_>,
        took: &str,
    ) -> Result<(), CliError> {
        let before = record.before.map_or("-".to_owned(), |status| status.to_string());
        let is_expected = record.status.is_some() && self.args.expect.contains(record.status);
        let (look, status) = match record.status {
            _ if self.args.dry_run => (TextStyle::Dim, "not sent".to_owned()),
            Some(status) if is_expected => (TextStyle::Success, status.to_string()),
            Some(status) => (TextStyle::Failure, status.to_string()),
            None => (TextStyle::Failure, "no response".to_owned()),
        };
        columns.row(&[
            (TextStyle::Heading, &record.capture.to_string()),
            (TextStyle::Plain, record.submission_id.unwrap_or("-")),
            (TextStyle::for_status(record.before), &before),
            (look, &status),
            (TextStyle::Dim, took),
            (TextStyle::Dim, &record.to),
        ])?;
        let width = columns.live.width();
        for line in record.error.iter().flat_map(|error| match width {
            Some(width) => wrap_whole_words(error, width.saturating_sub(4)),
            None => vec![error.clone()],
        }) {
            columns.live.line(&[(TextStyle::Plain, "    "), (TextStyle::Dim, &line)])?;
        }
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let sends = || self.plan.sends.iter();
        let largest = sends().map(|(number, _)| number.unsigned_abs()).max().unwrap_or_default();
        let url = |target: &ReplayTarget| mask::url(target.url.as_str(), self.args.reveal).width();
        let widest = sends().map(|(_, target)| url(target)).max().unwrap_or_default();
        vec![
            Column::numbers("CAPTURE", largest),
            Column::ids("SUBMISSION"),
            Column::text("BEFORE", 3, 3),
            Column::text("NOW", 8, 11),
            Column::text("TOOK", 6, 6),
            Column::text("TO", widest, widest),
        ]
    }

    /// Returns the most frequent cause of an unexpected status.
    fn hint(&self, status: u16) -> &'static str {
        match (status, self.plan.signature) {
            (401 | 403, ReplaySignature::AsReceived) => {
                "receivers refuse signatures older than 5 minutes; without `--keep-signature` the replay \
                 is signed now"
            }
            (401 | 403, ReplaySignature::Fresh) => "check that the receiver has the same secret",
            _ => "`--diff` compares the response with the recorded one",
        }
    }
}

fn print_response_diff(
    columns: &Columns<'_>,
    differences: Option<&[Difference]>,
) -> Result<(), CliError> {
    let note = match differences {
        None => "there is no recorded response of a target to compare with",
        Some([]) => "the same response, except the date",
        Some(differences) => return print_differences(&columns.live, differences, "    "),
    };
    columns.live.line(&[(TextStyle::Plain, "    "), (TextStyle::Dim, note)])
}
