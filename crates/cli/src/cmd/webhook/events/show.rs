//! `formsvc webhook events show`

use std::borrow::Cow;

use clap::Args;
use formsvc_workbench::delivery::{CaptureNumber, Delivery, Source};
use formsvc_workbench::mask;
use formsvc_workbench::record::DeliveryRecord;
use formsvc_workbench::secrets::SigningSecrets;
use http::HeaderMap;
use jiff::tz::TimeZone;

use super::super::args::capture_number;
use super::super::captures;
use super::super::fields::ALL_FIELDS;
use super::super::line::LineStyle;
use crate::base::text::duration;
use crate::cmd::help_flags::refuse_data;
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Detail, OutputFormat, pretty};

/// Show a recorded delivery: the request, the verdict and the response
///
/// Signatures and secrets in headers are masked. In a pipe, the output is one JSON object; `body_b64` is the
/// exact body.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events show 2\n  formsvc --demo webhook events show 4 --jq .verdict\n  formsvc --demo webhook events show --raw"
)]
pub(crate) struct Show {
    /// Number of the delivery [default: the newest]
    #[arg(id = "capture", value_name = "N", value_parser = capture_number)]
    number: Option<CaptureNumber>,
    /// Write only the body, byte for byte
    #[arg(long)]
    raw: bool,
    /// Do not mask signatures and secrets. They allow others to replay the delivery
    #[arg(long)]
    reveal: bool,
}

impl Show {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.raw {
            refuse_data(&cx.settings.given, "`--raw` writes the body as it was received")?;
        }
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let mut listing = output.listing(ALL_FIELDS)?;
        let store = captures::require(cx).await?;
        let number = match self.number {
            Some(number) => number,
            None => captures::newest(&store).await?.ok_or_else(|| captures::none(cx))?,
        };
        let delivery = captures::get(&store, number).await?;
        if self.raw {
            return output.exactly(&delivery.body);
        }
        if output.is_for_reading() && cx.settings.terminal.stdout {
            let own = properties(&delivery, self.reveal);
            let own = own.iter().map(|(name, value)| (*name, &**value)).collect();
            return output.detail(&Detail { own, answers: blocks(&delivery, self.reveal) });
        }
        listing.push(&DeliveryRecord::of(&delivery, self.reveal));
        output.item(&listing)
    }
}

/// Returns the properties of a delivery with their labels: the lines of `webhook listen` and their meaning.
fn properties(delivery: &Delivery, reveal: bool) -> Vec<(&'static str, String)> {
    let summary = &delivery.summary;
    let source = match summary.source {
        Source::Request(peer) => format!("from {peer}"),
        Source::Poll => "polled from the service".to_owned(),
    };
    let style = LineStyle {
        zone: TimeZone::UTC,
        width: None,
        secrets: SigningSecrets::default(),
        reveal,
        several_targets: true,
    };
    let lines = style.delivery(delivery);
    let labels = ["delivery"].into_iter().chain(std::iter::repeat("note"));
    let lines = labels.zip(&lines).map(|(label, line)| {
        let texts: String = line.iter().map(|(_, text)| &**text).collect();
        (label, texts.trim().to_owned())
    });
    let received = ("received", format!("{:.3}, {source}", summary.received_at));
    [received]
        .into_iter()
        .chain(lines)
        .chain([("meaning", summary.verdict.description())])
        .collect()
}

/// Returns headers, body and forwards with their labels.
fn blocks(delivery: &Delivery, reveal: bool) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
    let body = &delivery.body;
    let mut blocks: Vec<(Cow<'_, str>, Cow<'_, str>)> = vec![
        ("headers".into(), header_lines(&delivery.headers, reveal).into()),
        (format!("body ({} bytes)", body.len()).into(), body_text(body).into()),
    ];
    for forward in &delivery.forwards {
        let took = duration(forward.took);
        let text = match &forward.result {
            Err(error) => format!("no response after {took}: {}", error.message),
            Ok(response) => format!(
                "{} after {took}\n{}\n{}{}",
                response.status,
                header_lines(&response.headers, reveal),
                body_text(&mask::response_body(&response.body, reveal)),
                if response.is_truncated { "\n… (the rest was not read)" } else { "" },
            ),
        };
        let label = format!("forwarded to {}", mask::url(&forward.url, reveal));
        blocks.push((label.into(), text.into()));
    }
    blocks
}

fn header_lines(headers: &HeaderMap, reveal: bool) -> String {
    let masked = mask::headers(headers, reveal);
    let lines = masked
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    // The final line feed puts even a short text below its label.
    lines.collect()
}

fn body_text(body: &[u8]) -> String {
    let text = || std::str::from_utf8(body).ok().filter(|text| !text.contains('\0'));
    pretty(body)
        .or_else(|| text().map(str::to_owned))
        .unwrap_or_else(|| "(not text; --raw writes it as it was received)".to_owned())
}
