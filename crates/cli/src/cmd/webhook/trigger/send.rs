//! Sends the deliveries of `trigger`, and prints each attempt.

use formsvc_workbench::expectation::{ResponseTally, StatusSet};
use formsvc_workbench::mask;
use formsvc_workbench::record::millis;
use formsvc_workbench::simulate::{Bodies, Sent, Simulation, SimulationEvent};
use serde::Serialize;

use super::super::{expectation, line};
use super::FIELDS;
use crate::base::text::{count as counted, duration};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::{ItemPrinter, OutputFormat, TextStyle};

/// Longest response that is printed as a line, in characters.
const MAX_PREVIEW: usize = 200;

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

/// Sends the deliveries. Returns an error if a status is not expected, or a delivery failed after all retries.
pub(super) async fn send(
    cx: &Context,
    simulation: Simulation,
    bodies: Bodies,
    expect: StatusSet,
    reveal: bool,
) -> Result<(), CliError> {
    let output = cx.output.piped_as(OutputFormat::Ndjson);
    let printer = output.items(FIELDS)?;
    let (count, has_retries) = (simulation.count, simulation.retries.is_some());
    let (mut tally, mut failed) = (ResponseTally::new(expect), 0_u64);
    let mut events = simulation.start(bodies);
    while let Some(event) = events.recv().await {
        match event? {
            SimulationEvent::Sent(sent) => {
                tally.add(sent.response());
                print(&printer, &sent, expect, reveal)?;
            }
            SimulationEvent::RetryScheduled { retry, pause, .. } => {
                cx.progress.remark(&format!("retry {retry} of 3 after {}", duration(pause)));
            }
            SimulationEvent::Ended { submission_id, attempts, is_delivered, .. } if has_retries => {
                let name = submission_id.as_deref().unwrap_or("the delivery");
                let result = if is_delivered { "delivered" } else { "failed" };
                let attempts = counted(attempts.into(), "attempt");
                cx.progress.remark(&format!("{name}: {result} after {attempts}"));
                failed += u64::from(!is_delivered);
            }
            SimulationEvent::Ended { .. } => {}
        }
    }
    match (has_retries, failed) {
        (false, _) => expectation::check(&tally, "delivery", true, hint),
        (true, 0) => Ok(()),
        (true, _) => {
            let what =
                format!("{failed} of {} failed after all retries", counted(count, "delivery"));
            Err(CliError::coded(Code::Unmet, what))
        }
    }
}

fn print(
    printer: &ItemPrinter<'_>,
    sent: &Sent,
    expect: StatusSet,
    reveal: bool,
) -> Result<(), CliError> {
    let response = sent.result.as_ref().ok();
    // A debug page of a receiver may contain the signature.
    let body = response.map(|response| mask::response_body(&response.body, reveal));
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
    let status = record.status.map_or("no response".to_owned(), |it| it.to_string());
    let is_expected = record.status.is_some() && expect.contains(record.status);
    let mut parts = vec![(TextStyle::Heading, format!("#{}", record.index))];
    parts.extend(record.submission_id.map(|id| (TextStyle::Plain, id.to_owned())));
    if record.attempt > 1 {
        parts.push((TextStyle::Warning, line::attempt(record.attempt)));
    }
    parts.push((TextStyle::Dim, "→".to_owned()));
    parts.push((if is_expected { TextStyle::Success } else { TextStyle::Failure }, status));
    parts.push((TextStyle::Dim, line::took(sent.took())));
    let mut lines = line::wrapped([parts], live.width());
    let note: String = record.error.or(record.body).unwrap_or_default();
    let note: String = note.trim().chars().take(MAX_PREVIEW).collect();
    if !note.is_empty() {
        lines.extend(line::note_lines(&note, live.width()));
    }
    live.lines(lines.iter().map(Vec::as_slice))
}

/// Returns the most frequent cause of an unexpected status.
fn hint(status: u16) -> Option<&'static str> {
    Some(match status {
        300..=399 => "the service does not follow redirects; pass the URL of the redirect",
        401 | 403 => {
            "check that the receiver has the same secret and verifies the raw body; \
             `formsvc webhook verify --explain` finds the cause"
        }
        404 | 405 => "check the path, and that the receiver accepts POST",
        _ => return None,
    })
}
