//! `formsvc webhook events show`

use std::borrow::Cow;

use clap::Args;
use http::HeaderMap;

use crate::args::OutputFormat;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Detail, Output};
use crate::pretty::pretty;
use crate::webhook::capture::{Capture, CaptureNumber, Forward, Received, Source};
use crate::webhook::fields::millis;
use crate::webhook::kept::{
    WHOLE_FIELDS, body_text, get, nothing, number, some_captures, whole_json,
};
use crate::webhook::mask;
use crate::webhook::store::Query;

/// Show one recorded delivery: the request, the verdict and the response
///
/// The newest one, unless a number says otherwise. Signatures and secrets among the headers show their
/// beginning only. In a pipe it is one JSON object, which has the body's bytes as `body_b64`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events show 2\n  formsvc --demo webhook events show 4 --jq .verdict\n  formsvc --demo webhook events show --raw"
)]
pub(crate) struct Show {
    /// The number of the capture [default: the newest]
    #[arg(id = "capture", value_name = "N", value_parser = number)]
    number: Option<CaptureNumber>,
    /// Write the body and nothing else, to the byte
    #[arg(long)]
    raw: bool,
    /// Show signatures and secrets whole; whoever has them can replay the delivery
    #[arg(long)]
    reveal: bool,
}

impl Show {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.raw {
            cx.output.refuse_flags("`--raw` writes the body as it came")?;
        }
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let mut listing = output.listing(WHOLE_FIELDS)?;
        let captures = some_captures(cx).await?;
        let number = if let Some(number) = self.number {
            number
        } else {
            let newest = Query { limit: Some(1), ..Query::default() };
            let newest = captures.list(newest).await?.first().and_then(|newest| newest.number);
            newest.ok_or_else(|| CliError::new(Exit::NotFound, nothing(cx)))?
        };
        let capture = get(&captures, number).await?;
        if self.raw {
            return output.exactly(&capture.received.body);
        }
        if output.is_for_reading() && cx.settings.terminal.stdout {
            return show(&output, &capture, number, self.reveal);
        }
        listing.push(&whole_json(&capture, self.reveal));
        output.item(&listing)
    }
}

fn show(
    output: &Output,
    capture: &Capture,
    number: CaptureNumber,
    reveal: bool,
) -> Result<(), CliError> {
    let received = &*capture.received;
    let own = [
        ("capture", number.to_string()),
        ("received", format!("{:.3}", received.at)),
        ("request", request(received, reveal)),
        ("verdict", verdict(received)),
        ("attempt", arrival(received)),
        ("answered", answered(capture)),
    ];
    let mut answers: Vec<(Cow<'_, str>, Cow<'_, str>)> = vec![
        ("headers".into(), header_lines(&received.headers, reveal).into()),
        (format!("body ({} bytes)", received.body.len()).into(), shown_body(&received.body).into()),
    ];
    let forwards = capture.outcome.iter().flat_map(|outcome| &outcome.forwards);
    answers.extend(forwards.map(|forward| forwarded(forward, reveal)));
    let own = own.iter().map(|(name, value)| (*name, &**value)).collect();
    output.detail(&Detail { own, answers })
}

fn request(received: &Received, reveal: bool) -> String {
    let from = match received.source {
        Source::Request(from) => format!("from {from}"),
        Source::Poll => "synthetic: made here of a submission that the service has".to_owned(),
    };
    format!("{} {}, {from}", received.method, mask::target(&received.request_target, reveal))
}

fn verdict(received: &Received) -> String {
    let row = received.verdict.code.row();
    let secret = received.verdict.secret.as_ref();
    let secret = secret.map_or(String::new(), |secret| format!(" (secret: {secret})"));
    let age = match received.verdict.age {
        Some(age @ ..=-2) => format!("; signed {} s ahead", age.unsigned_abs()),
        Some(age @ 2..) => format!("; signed {age} s before it came"),
        _ => String::new(),
    };
    let lack = received.verdict.code.lack(&received.body);
    let lack = lack.map_or(String::new(), |lack| format!(": {lack}"));
    format!("{}: {}{lack}{secret}{age}", row.name, row.meaning)
}

fn arrival(received: &Received) -> String {
    let arrival = received.arrival;
    let gap = arrival
        .gap
        .map_or(String::new(), |gap| format!(", {:.1} s after the one before", gap.as_secs_f64()));
    let duplicate =
        if arrival.duplicate { "; a duplicate: one before was answered with 2xx" } else { "" };
    format!("{}{gap}{duplicate}", arrival.number)
}

fn answered(capture: &Capture) -> String {
    let Some(outcome) = &capture.outcome else {
        return "not yet, or the listener ended before".to_owned();
    };
    let status = outcome.status.map_or_else(
        || "not: the connection was dropped on purpose".to_owned(),
        |status| status.to_string(),
    );
    format!("{status} {} after {} ms", outcome.by.told(), millis(outcome.took))
}

fn header_lines(headers: &HeaderMap, reveal: bool) -> String {
    let mut lines = String::new();
    for (name, value) in &mask::headers(headers, reveal) {
        lines.push_str(name.as_str());
        lines.push_str(": ");
        lines.push_str(&String::from_utf8_lossy(value.as_bytes()));
        lines.push('\n');
    }
    // A line feed at the end puts it below its label, however short.
    lines
}

fn shown_body(body: &[u8]) -> String {
    match (pretty(body), body_text(body)) {
        (Some(pretty), _) => pretty,
        (None, Some(text)) => text.to_owned(),
        (None, None) => "(not text; --raw writes it as it came)".to_owned(),
    }
}

fn forwarded(forward: &Forward, reveal: bool) -> (Cow<'static, str>, Cow<'static, str>) {
    let (url, ms) = (mask::url(&forward.url, reveal), millis(forward.took));
    let label = format!("forwarded to {url}");
    let text = match &forward.answer {
        Err(failed) => format!("no answer after {ms} ms: {}", failed.why),
        Ok(answer) => {
            let more = if answer.truncated { "\n… and more, which was not read" } else { "" };
            format!(
                "{} after {ms} ms\n{}\n{}{more}",
                answer.status,
                header_lines(&answer.headers, reveal),
                shown_body(&mask::answer(&answer.body, reveal))
            )
        }
    };
    (label.into(), text.into())
}
