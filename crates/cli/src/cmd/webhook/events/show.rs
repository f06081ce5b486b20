//! `formsvc webhook events show`

use std::borrow::Cow;

use clap::Args;
use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::{
    AnsweredBy, CaptureNumber, Delivery, DeliverySummary, Forward, Source,
};
use formsvc_workbench::mask;
use formsvc_workbench::record::{DeliveryRecord, millis};
use formsvc_workbench::store::CaptureQuery;
use formsvc_workbench::verdict::{VerdictCode, sentence};
use http::HeaderMap;

use super::super::args::capture_number;
use super::super::captures;
use super::super::fields::ALL_FIELDS;
use super::super::text::verdict_label;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::output::pretty::pretty;
use crate::output::{Detail, Output};

/// Show a recorded delivery: the request, the verdict and the response
///
/// Signatures and secrets in headers are masked. In a pipe, the output is one JSON object; `body_b64` has the
/// exact body.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events show 2\n  formsvc --demo webhook events show 4 --jq .verdict\n  formsvc --demo webhook events show --raw"
)]
pub(crate) struct Show {
    /// Number of the capture [default: the newest]
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
            cx.output.refuse_flags("`--raw` writes the body as it was received")?;
        }
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let mut listing = output.listing(ALL_FIELDS)?;
        let store = captures::require(cx).await?;
        let number = if let Some(number) = self.number {
            number
        } else {
            let newest = CaptureQuery { limit: Some(1), ..CaptureQuery::default() };
            let newest = store.list(newest).await?.first().and_then(|newest| newest.number);
            newest.ok_or_else(|| CliError::new(Exit::NotFound, captures::none_message(cx)))?
        };
        let delivery = captures::get(&store, number).await?;
        if self.raw {
            return output.exactly(&delivery.body);
        }
        if output.is_for_reading() && cx.settings.terminal.stdout {
            return print(&output, &delivery, self.reveal);
        }
        listing.push(&DeliveryRecord::of(&delivery, self.reveal));
        output.item(&listing)
    }
}

fn print(output: &Output, delivery: &Delivery, reveal: bool) -> Result<(), CliError> {
    let Delivery { summary, headers, body, forwards, .. } = delivery;
    let verdict = summary.verdict.code;
    let own = [
        ("capture", summary.number.unwrap_or_default().to_string()),
        ("received", format!("{:.3}", summary.received_at)),
        ("request", request(summary, reveal)),
        ("verdict", verdict_label(verdict).to_owned()),
        ("meaning", meaning(delivery)),
        ("attempt", attempt(summary)),
        ("response", response(summary)),
    ];
    let mut blocks: Vec<(Cow<'_, str>, Cow<'_, str>)> = vec![
        ("headers".into(), header_lines(headers, reveal).into()),
        (format!("body ({} bytes)", body.len()).into(), body_text(body).into()),
    ];
    blocks.extend(forwards.iter().map(|forward| forward_block(forward, reveal)));
    let own = own.iter().map(|(name, value)| (*name, &**value)).collect();
    output.detail(&Detail { own, answers: blocks })
}

fn request(summary: &DeliverySummary, reveal: bool) -> String {
    let source = match summary.source {
        Source::Request(peer) => format!("from {peer}"),
        Source::Poll => "built here from a submission of the service".to_owned(),
    };
    let target = mask::target(&summary.request_target, reveal);
    format!("{} {target}, {source}", summary.method)
}

fn meaning(delivery: &Delivery) -> String {
    let verdict = &delivery.summary.verdict;
    let error = match verdict.code {
        VerdictCode::BadEvent => WebhookEvent::from_json(delivery.body.clone()).err(),
        _ => None,
    };
    let error = error.map(|error| format!(" {}", sentence(&error.to_string()))).unwrap_or_default();
    format!("{}{error}", verdict.description())
}

fn attempt(summary: &DeliverySummary) -> String {
    let attempt = summary.attempt;
    let gap = attempt.gap.map(|gap| format!(", {:.1} s after the previous one", gap.as_secs_f64()));
    let duplicate = if attempt.is_duplicate { "; a duplicate: an earlier one got 2xx" } else { "" };
    format!("{}{}{duplicate}", attempt.number, gap.unwrap_or_default())
}

fn response(summary: &DeliverySummary) -> String {
    let Some(response) = &summary.response else {
        return "none yet, or the listener ended before it".to_owned();
    };
    let status = response.status.map_or_else(
        || "none: the connection was closed on purpose".to_owned(),
        |status| status.to_string(),
    );
    let origin = match response.answered_by {
        AnsweredBy::Listener => "from the listener",
        AnsweredBy::Fault => "(injected)",
        AnsweredBy::Target => "from the target",
        AnsweredBy::NoRoute => "from the listener, because no route matched",
    };
    format!("{status} {origin} after {} ms", millis(response.took))
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

fn forward_block(forward: &Forward, reveal: bool) -> (Cow<'static, str>, Cow<'static, str>) {
    let (url, ms) = (mask::url(&forward.url, reveal), millis(forward.took));
    let label = format!("forwarded to {url}");
    let text = match &forward.result {
        Err(error) => format!("no response after {ms} ms: {}", error.message),
        Ok(response) => {
            let more = if response.is_truncated { "\n… (the rest was not read)" } else { "" };
            format!(
                "{} after {ms} ms\n{}\n{}{more}",
                response.status,
                header_lines(&response.headers, reveal),
                body_text(&mask::response_body(&response.body, reveal))
            )
        }
    };
    (label.into(), text.into())
}
