//! Sends captures one after another, and prints the responses.

use formsvc_contract::send::HttpSender;
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

use super::super::{captures, expectation, line};
use super::{FIELDS, Replay};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{ItemPrinter, OutputFormat, TextStyle};

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
    took_ms: f64,
    error: Option<String>,
    body_size: usize,
    signature: &'static str,
}

impl ReplayRun<'_> {
    /// Sends each capture. `not_valid` are the numbers of captures without a valid signature.
    pub(super) async fn send(&self, not_valid: &[String]) -> Result<(), CliError> {
        let targets = self.plan.sends.iter().map(|(_, target)| target.url.as_str());
        targets.into_iter().try_for_each(|url| self.cx.check_network(url))?;
        let output = self.cx.output.piped_as(OutputFormat::Ndjson);
        let printer = output.items(FIELDS)?;
        if self.cx.settings.terminal.stdout {
            self.cx.progress.share_terminal();
        }
        let mut tally = ResponseTally::new(self.args.expect);
        for (number, target) in &self.plan.sends {
            let delivery = captures::get(&self.store, *number).await?;
            let resend = self.resend(&delivery, target)?;
            // The signature is made now, because the last replay may be much later than the first.
            let replayed = resend.clone().send(&self.sender, &self.secrets, unix_now()).await?;
            let result = replayed.result.as_ref();
            tally.add(result.map(|response| (response.status, &*response.body)));
            self.print(&printer, &resend, &replayed)?;
            if replayed.needs_password() {
                self.cx.progress.remark(
                    "hint: the target asks for a password, which captures do not contain; pass its URL \
                     with `--to`",
                );
            }
        }
        expectation::check(
            &tally,
            "replay",
            false,
            match self.plan.signature {
                ReplaySignature::Fresh => "check that the receiver has the same secret",
                ReplaySignature::AsReceived if not_valid.is_empty() => {
                    "receivers refuse signatures older than 5 minutes; without `--keep-signature`, the replay \
                 gets a fresh signature"
                }
                ReplaySignature::AsReceived => {
                    "the recorded signature was not valid when the delivery arrived; without \
                 `--keep-signature`, the replay gets a fresh signature"
                }
            },
        )
    }

    /// Prints the requests, and sends none.
    pub(super) async fn export(&self, format: ExportFormat) -> Result<(), CliError> {
        let mut exporter = Exporter::new(format, self.args.reveal);
        for (number, target) in &self.plan.sends {
            let delivery = captures::get(&self.store, *number).await?;
            let outgoing = self.resend(&delivery, target)?.outgoing(&self.secrets, unix_now())?;
            self.cx.output.exactly(&exporter.request(Some(*number), &outgoing))?;
        }
        if self.cx.settings.terminal.stdout && format == ExportFormat::Http {
            self.cx.output.exactly(b"\n")?;
        }
        for warning in exporter.warnings() {
            self.cx.progress.warn(&warning);
        }
        Ok(())
    }

    /// Returns the replay of a capture, with the changes of the flags.
    fn resend<'d>(
        &self,
        delivery: &'d Delivery,
        target: &ReplayTarget,
    ) -> Result<Resend<'d>, CliError> {
        let body = self.args.changes.apply(&delivery.body)?;
        Ok(Resend { delivery, to: target.clone(), body, signature: self.plan.signature })
    }

    fn print(
        &self,
        printer: &ItemPrinter<'_>,
        resend: &Resend<'_>,
        replayed: &Replayed<'_>,
    ) -> Result<(), CliError> {
        let summary = &resend.delivery.summary;
        let result = replayed.result.as_ref();
        let record = ReplayRecord {
            capture: summary.number.unwrap_or_default(),
            submission_id: summary.names.submission_id.as_deref(),
            to: mask::url(resend.to.url.as_str(), self.args.reveal),
            before: replayed.earlier_status,
            status: result.map(|response| response.status).ok(),
            took_ms: millis(replayed.took),
            error: result.err().map(ToString::to_string),
            body_size: resend.body.as_ref().unwrap_or(&resend.delivery.body).len(),
            signature: match resend.signature {
                ReplaySignature::Fresh => "fresh",
                ReplaySignature::AsReceived => "kept",
            },
        };
        let live = match printer {
            ItemPrinter::Json(stream) => return stream.show(&record),
            ItemPrinter::Lines(live) => live,
        };
        let mut parts = vec![(TextStyle::Heading, format!("#{}", record.capture))];
        parts.extend(record.submission_id.map(|id| (TextStyle::Plain, id.to_owned())));
        parts.push((TextStyle::Dim, record.to));
        parts.push(line::status(record.status, self.args.expect));
        parts.extend(record.before.map(|status| (TextStyle::Dim, format!("(before: {status})"))));
        parts.push((TextStyle::Dim, line::took(replayed.took)));
        line::print(live, parts, record.error.as_slice())
    }
}
