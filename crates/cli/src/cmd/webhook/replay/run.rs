//! Sends captures once more, one after the other, and shows what is answered.

use std::sync::Arc;

use formsvc_contract::send::{Answer, HttpSender, SendError};
use http::HeaderMap;
use http::header::DATE;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::plan::{Plan, Send};
use super::{FIELDS, Replay};
use crate::args::OutputFormat;
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Look, Stream};
use crate::webhook::capture::Capture;
use crate::webhook::changes::{Change, changed, edited};
use crate::webhook::columns::{Column, Columns};
use crate::webhook::expected::Answers;
use crate::webhook::export::{Form, Writer};
use crate::webhook::fields::millis;
use crate::webhook::kept::difference::{self, Row as Different};
use crate::webhook::kept::get;
use crate::webhook::listen::text;
use crate::webhook::mask;
use crate::webhook::replay::{Replay as Once, Signature, now};
use crate::webhook::secrets::Secrets;
use crate::webhook::store::Captures;
use crate::webhook::tone::Tone;
use crate::wrap::folded;

/// What sending needs.
pub(super) struct Run<'a> {
    pub(super) cx: &'a Context,
    pub(super) captures: Captures,
    pub(super) sender: HttpSender,
    pub(super) secrets: Secrets,
    pub(super) signature: Signature,
    pub(super) changes: Vec<Change>,
    pub(super) asked: &'a Replay,
}

/// A replay, as programs are told of it.
#[derive(Serialize)]
struct Replayed<'a> {
    capture: u64,
    submission_id: Option<&'a str>,
    to: String,
    before: Option<u16>,
    status: Option<u16>,
    took_ms: Option<f64>,
    error: Option<String>,
    body_size: usize,
    signature: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Vec<Different>>,
}

/// How replays are shown.
enum Show<'a> {
    Lines(Columns<'a>),
    Items(Stream<'a>),
}

impl Run<'_> {
    pub(super) async fn send(&self, plan: &Plan) -> Result<(), CliError> {
        let output = self.cx.output.piped_as(OutputFormat::Ndjson);
        let show = if output.is_for_reading() {
            Show::Lines(Columns::new(output.live()?, columns(plan, self.asked.reveal)))
        } else {
            Show::Items(output.stream(FIELDS)?)
        };
        if self.cx.settings.terminal.stdout {
            self.cx.progress.share_terminal();
        }
        let mut answers = Answers::new(self.asked.expect);
        for send in &plan.sends {
            let capture = get(&self.captures, send.number).await?;
            let once = self.once(&capture, send).await?;
            if self.asked.dry_run {
                self.show(&show, &capture, send, &once, None)?;
                continue;
            }
            for _ in 0..self.asked.times {
                // Signed anew each time: the last one may be sent long after the first.
                let outgoing = once.clone().outgoing(&self.secrets, now())?;
                let answer = self.sender.send(outgoing).await;
                answers.note(&answer);
                self.show(&show, &capture, send, &once, Some(&answer))?;
            }
        }
        if self.asked.dry_run {
            self.cx.progress.remark("nothing was sent: --dry-run");
        }
        answers.judged("replays", |status| Some(self.hint_of(status)))
    }

    /// Prints requests, and sends none.
    pub(super) async fn print(&self, plan: &Plan, form: Form) -> Result<(), CliError> {
        let mut writer = Writer::new(form, self.asked.reveal);
        for send in &plan.sends {
            let capture = get(&self.captures, send.number).await?;
            let outgoing = self.once(&capture, send).await?.outgoing(&self.secrets, now())?;
            self.cx.output.exactly(&writer.request(Some(send.number), &outgoing))?;
        }
        if self.cx.settings.terminal.stdout {
            self.cx.output.exactly(writer.end_of_line().as_bytes())?;
        }
        for warning in writer.warnings() {
            self.cx.progress.warn(warning);
        }
        Ok(())
    }

    /// The request, with what is changed in it.
    async fn once<'c>(&self, capture: &'c Capture, send: &Send) -> Result<Once<'c>, CliError> {
        let received = &*capture.received;
        let mut body = None;
        if !self.changes.is_empty() {
            body = Some(changed(&received.body, &self.changes)?.0);
        }
        if self.asked.edit {
            let shown = body.clone().unwrap_or_else(|| received.body.clone());
            body = Some(edited(shown).await?);
        }
        let (to, signature) = (send.to.clone(), self.signature);
        Ok(Once { received, to, body, signature })
    }

    fn show(
        &self,
        show: &Show<'_>,
        capture: &Arc<Capture>,
        send: &Send,
        once: &Once<'_>,
        answer: Option<&Result<Answer, SendError>>,
    ) -> Result<(), CliError> {
        let old = send.before(capture);
        let before = match old {
            Some(forward) if self.asked.to.is_none() => {
                forward.answer.as_ref().ok().map(|answer| answer.status)
            }
            _ => capture.outcome.as_ref().and_then(|outcome| outcome.status),
        };
        let new = answer.and_then(|answer| answer.as_ref().ok());
        let took = answer.map(|answer| match answer {
            Ok(answer) => answer.took,
            Err(error) => error.took,
        });
        let diff = self.asked.diff.then(|| {
            let old = old.and_then(|old| old.answer.as_ref().ok());
            let status = |status: Option<u16>| status.map(|status| status.to_string());
            let (a, b) = (status(before), status(new.map(|new| new.status.as_u16())));
            let mut rows: Vec<Different> =
                Different::of("answer", "status", a, b).into_iter().collect();
            if let (Some(old), Some(new)) = (old, new) {
                let reveal = self.asked.reveal;
                let (a, b) = (without_date(&old.headers), without_date(&new.headers));
                rows.extend(difference::headers(&a, &b, reveal));
                // A page for debugging says again what it was asked, its signature included.
                let (a, b) = (mask::answer(&old.body, reveal), mask::answer(&new.body, reveal));
                rows.extend(difference::bodies(&a, &b));
            }
            rows
        });
        let row = Replayed {
            capture: send.number,
            submission_id: capture.received.submission_id.as_deref(),
            to: mask::url(send.to.as_str(), self.asked.reveal),
            before,
            status: new.map(|answer| answer.status.as_u16()),
            took_ms: took.map(millis),
            error: answer.and_then(|answer| answer.as_ref().err()).map(ToString::to_string),
            body_size: once.body.as_ref().unwrap_or(&capture.received.body).len(),
            signature: if self.signature == Signature::Kept { "kept" } else { "fresh" },
            diff,
        };
        match show {
            Show::Items(stream) => stream.show(&row),
            Show::Lines(columns) => {
                let took = took.map(text::took).unwrap_or_default();
                self.line(columns, &row, &took, old.is_some_and(|old| old.answer.is_ok()))
            }
        }
    }

    fn line(
        &self,
        columns: &Columns<'_>,
        row: &Replayed<'_>,
        took: &str,
        has_old: bool,
    ) -> Result<(), CliError> {
        let (live, number) = (&columns.live, row.capture.to_string());
        let before = row.before.map_or("-".to_owned(), |status| status.to_string());
        let status = match row.status {
            _ if self.asked.dry_run => "not sent".to_owned(),
            Some(status) => status.to_string(),
            None => "no answer".to_owned(),
        };
        let now = if self.asked.dry_run {
            Look::Past
        } else if row.status.is_some() && self.asked.expect.has(row.status) {
            Look::Good
        } else {
            Look::Bad
        };
        columns.tell(&[
            (Look::Heading, &number),
            (Look::Plain, row.submission_id.unwrap_or("-")),
            (Tone::of_status(row.before).look(), &before),
            (now, &status),
            (Look::Past, took),
            (Look::Past, &row.to),
        ])?;
        for error in row.error.iter().flat_map(|error| match live.width() {
            Some(width) => folded(error, width.saturating_sub(4)),
            None => vec![error.clone()],
        }) {
            live.line(&[(Look::Plain, "    "), (Look::Past, &error)])?;
        }
        if let Some(diff) = &row.diff {
            difference::tell(live, diff, "    ")?;
            if !has_old {
                let none = "there is no old answer of a target to compare with";
                live.line(&[(Look::Plain, "    "), (Look::Past, none)])?;
            } else if diff.is_empty() {
                live.line(&[(Look::Plain, "    "), (Look::Past, "the same answer, dates aside")])?;
            }
        }
        Ok(())
    }

    /// What is most often behind a status that was not expected.
    fn hint_of(&self, status: u16) -> &'static str {
        match status {
            401 | 403 if self.signature == Signature::Kept => {
                "a receiver refuses what is older than 5 minutes: without --keep-signature it is signed now"
            }
            401 | 403 => "does the receiver have the same secret?",
            _ => "`--diff` compares the answer with the old one",
        }
    }
}

/// What people are told of each.
fn columns(plan: &Plan, reveal: bool) -> Vec<Column> {
    let longest = plan.sends.iter().map(|send| send.number).max().unwrap_or_default();
    let to = plan.sends.iter().map(|send| mask::url(send.to.as_str(), reveal).width());
    vec![
        Column::numbers("CAPTURE", longest),
        Column::ids("SUBMISSION"),
        Column::text("BEFORE", 3, 3),
        Column::text("NOW", 9, 9),
        Column::text("TOOK", 6, 6),
        Column::addresses("TO", to.max().unwrap_or_default()).or_below(),
    ]
}

/// The headers of an answer without its date, which is another each time.
fn without_date(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(DATE);
    headers
}
