//! Sends the deliveries of `trigger`, and prints each attempt.

use std::time::Duration;

use formsvc_workbench::expectation::{ResponseTally, StatusSet};
use formsvc_workbench::mask;
use formsvc_workbench::record::millis;
use formsvc_workbench::simulate::{Bodies, Sent, Simulation, SimulationEvent};
use serde::Serialize;

use super::super::{expectation, text};
use super::FIELDS;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::OutputFormat;
use crate::output::{Column, ItemPrinter, Output, TextStyle};
use crate::settings::args::format_duration;

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

enum Printer<'a> {
    /// For a single attempt.
    Single(&'a Output),
    Items(ItemPrinter<'a>),
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
    let (count, has_retries) = (simulation.count, simulation.retries.is_some());
    let printer = if count == 1 && !has_retries {
        Printer::Single(&output)
    } else {
        Printer::Items(output.items(columns(count), FIELDS)?)
    };
    let (mut tally, mut failed) = (ResponseTally::new(expect), 0_u64);
    let mut events = simulation.start(bodies);
    while let Some(event) = events.recv().await {
        match event? {
            SimulationEvent::Sent(sent) => {
                tally.add(sent.response());
                print(&printer, &sent, expect, reveal)?;
            }
            SimulationEvent::RetryScheduled { retry, pause, .. } => {
                let pause = Duration::from_millis(pause.as_millis().try_into().unwrap_or(u64::MAX));
                cx.progress.remark(&format!("retry {retry} of 3 after {}", format_duration(pause)));
            }
            SimulationEvent::Ended { submission_id, attempts, is_delivered, .. } if has_retries => {
                let name = submission_id.as_deref().unwrap_or("the delivery");
                let s = if attempts == 1 { "" } else { "s" };
                cx.progress.remark(&if is_delivered {
                    format!("{name}: delivered after {attempts} attempt{s}")
                } else {
                    format!("{name}: failed after {attempts} attempts")
                });
                failed += u64::from(!is_delivered);
            }
            SimulationEvent::Ended { .. } => {}
        }
    }
    if has_retries {
        return check_deliveries(failed, count);
    }
    let is_body_printed = matches!(printer, Printer::Single(_));
    expectation::check(&tally, "deliveries", is_body_printed, hint)
}

/// Returns an error if deliveries failed after all retries.
fn check_deliveries(failed: u64, count: u64) -> Result<(), CliError> {
    let what = match (failed, count) {
        (0, _) => return Ok(()),
        (_, 1) => "the delivery failed: no attempt got a 2xx response".to_owned(),
        _ => format!("{failed} of {count} deliveries failed"),
    };
    Err(CliError::coded(Code::Unmet, what).hint("the service does not retry after that either"))
}

fn print(
    printer: &Printer<'_>,
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
    match printer {
        Printer::Items(ItemPrinter::Json(stream)) => stream.show(&record),
        Printer::Single(output) => {
            let mut listing = output.listing(FIELDS)?;
            listing.push(&record);
            output.item(&listing)
        }
        Printer::Items(ItemPrinter::Rows(columns)) => {
            let status = record.status.map_or("no response".to_owned(), |it| it.to_string());
            let is_expected = record.status.is_some() && expect.contains(record.status);
            columns.row(&[
                (TextStyle::Heading, &record.index.to_string()),
                (TextStyle::Plain, &record.attempt.to_string()),
                (if is_expected { TextStyle::Success } else { TextStyle::Failure }, &status),
                (TextStyle::Dim, &text::took(sent.took())),
                (
                    TextStyle::Dim,
                    record.error.as_deref().or(record.body.as_deref()).unwrap_or_default(),
                ),
                (TextStyle::Plain, record.submission_id.unwrap_or("-")),
            ])
        }
    }
}

fn columns(count: u64) -> Vec<Column> {
    vec![
        Column::numbers("#", count),
        Column::numbers("ATTEMPT", 1),
        Column::text("STATUS", 11, 11),
        Column::text("TOOK", 6, 6),
        Column::rest("RESPONSE"),
        Column::ids("SUBMISSION"),
    ]
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
