//! Sends the deliveries of `trigger`, and prints each attempt.

use std::collections::BTreeMap;

use formsvc_workbench::expectation::ResponseTally;
use formsvc_workbench::listen::Times;
use formsvc_workbench::mask;
use formsvc_workbench::record::millis;
use formsvc_workbench::simulate::{Bodies, Sent, Simulation, SimulationEvent};
use serde::Serialize;

use super::super::{expectation, line};
use super::{FIELDS, Trigger};
use crate::base::text::{count as counted, duration};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{ItemPrinter, OutputFormat, TextStyle};

/// Hint for a receiver that responds with 401 or 403.
const REFUSED: &str = "check that the receiver has the same secret and verifies the raw body; \
    `formsvc webhook verify --explain` finds the cause";

/// The JSON of an attempt.
#[derive(Serialize)]
struct AttemptRecord<'a> {
    index: u64,
    attempt: u32,
    submission_id: Option<&'a str>,
    status: Option<u16>,
    took_ms: f64,
    error: Option<String>,
    body: Option<String>,
    truncated: bool,
}

/// The number of attempts by their result, and their times.
#[derive(Default)]
struct Totals {
    results: BTreeMap<String, u64>,
    times: Times,
}

impl Trigger {
    /// Sends the deliveries. Returns an error if a status is not expected, or a delivery failed after all retries.
    pub(super) async fn send(
        &self,
        cx: &Context,
        simulation: Simulation,
        bodies: Bodies,
    ) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let printer = output.items(FIELDS)?;
        let (mut tally, mut totals) = (ResponseTally::new(self.expect), Totals::default());
        let mut failed = 0;
        let mut events = simulation.start(bodies);
        while let Some(event) = events.recv().await {
            match event? {
                SimulationEvent::Sent(sent) => {
                    tally.add(sent.response());
                    totals.add(&sent);
                    self.print(&printer, &sent)?;
                }
                SimulationEvent::RetryScheduled { retry, pause, .. } => {
                    cx.progress.remark(&format!("retry {retry} of 3 after {}", duration(pause)));
                }
                SimulationEvent::Ended { is_delivered, .. } => failed += u64::from(!is_delivered),
            }
        }
        if tally.sent > 1 && matches!(printer, ItemPrinter::Lines(_)) {
            cx.progress.remark(&totals.describe());
        }
        if !self.simulate_sender {
            return expectation::check(&tally, "delivery", true, REFUSED);
        }
        if failed == 0 {
            return Ok(());
        }
        let count = counted(self.count, "delivery");
        Err(CliError::coded(Code::Unmet, format!("{failed} of {count} failed after all retries")))
    }

    fn print(&self, printer: &ItemPrinter<'_>, sent: &Sent) -> Result<(), CliError> {
        let response = sent.result.as_ref().ok();
        // A debug page of a receiver may contain the signature.
        let body = response.map(|response| mask::response_body(&response.body, self.reveal));
        let record = AttemptRecord {
            index: sent.index,
            attempt: sent.attempt,
            submission_id: sent.submission_id.as_deref(),
            status: response.map(|response| response.status.as_u16()),
            took_ms: millis(sent.took()),
            error: sent.result.as_ref().err().map(ToString::to_string),
            body: body.map(|body| String::from_utf8_lossy(&body).into_owned()),
            truncated: response.is_some_and(|response| response.truncated),
        };
        let live = match printer {
            ItemPrinter::Json(stream) => return stream.show(&record),
            ItemPrinter::Lines(live) => live,
        };
        let mut parts = vec![(TextStyle::Heading, format!("#{}", record.index))];
        parts.extend(record.submission_id.map(|id| (TextStyle::Plain, id.to_owned())));
        if record.attempt > 1 {
            parts.push((TextStyle::Warning, line::attempt(record.attempt)));
        }
        parts.push(line::status(record.status, self.expect));
        parts.push((TextStyle::Dim, line::took(sent.took())));
        let note = record.error.or(record.body).unwrap_or_default();
        line::print(live, parts, &[line::excerpt(&note)])
    }
}

impl Totals {
    fn add(&mut self, sent: &Sent) {
        let result =
            sent.response().map_or("no response".to_owned(), |(status, _)| status.to_string());
        *self.results.entry(result).or_default() += 1;
        self.times.add(sent.took());
    }

    /// Returns a line such as `3 attempts: 200 ×2, 503 ×1; p50 2.3ms, max 9.8ms`.
    fn describe(&self) -> String {
        let results = self.results.iter().map(|(result, count)| format!("{result} ×{count}"));
        let attempts = counted(self.results.values().sum(), "attempt");
        let p50 = line::took(self.times.percentile(50).unwrap_or_default());
        let (results, max) = (results.collect::<Vec<_>>().join(", "), line::took(self.times.max()));
        format!("{attempts}: {results}; p50 {p50}, max {max}")
    }
}
