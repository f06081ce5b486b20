//! Deliveries and sent requests as lines on a terminal. A line that is wider than the terminal continues
//! below, with an indent. Errors of targets and hints follow on lines of their own.

#[cfg(test)]
pub(super) mod tests;

use std::time::Duration;

use formsvc_protocol::EventKind;
use formsvc_protocol::limits::DELIVERY_RETRIES;
use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::{AnsweredBy, Delivery, Forward, Source, is_success};
use formsvc_workbench::expectation::StatusSet;
use formsvc_workbench::listen::{RefusalRow, RefusedRequest};
use formsvc_workbench::mask;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verdict::VerdictCode;
use indicatif::DecimalBytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use crate::base::sanitize::one_line;
use crate::base::text::{duration, truncate, wrap_whole_words};
use crate::error::CliError;
use crate::output::{Live, TextStyle};

/// A line as texts with their styles.
pub(super) type Line = Vec<(TextStyle, String)>;

/// Longest excerpt of a response or a target's URL in a note, in cells.
const MAX_EXCERPT: usize = 200;
/// Longest text of a sender in a line, in cells. An id of the service fits.
const MAX_TEXT: usize = 40;
/// Indent of all lines but the first: they begin below its second word.
const INDENT: &str = "         ";
/// Number of attempts that the service makes.
const MAX_ATTEMPTS: u32 = 1 + DELIVERY_RETRIES;

/// The settings of all lines.
pub(super) struct LineStyle {
    pub(super) zone: TimeZone,
    /// Cells of a line; `None` is without limit.
    pub(super) width: Option<usize>,
    pub(super) secrets: SigningSecrets,
    /// Signatures and credentials are not masked.
    pub(super) reveal: bool,
    /// A delivery may go to one of several targets, so its line names the target.
    pub(super) several_targets: bool,
}

/// Returns the verdict with a sign.
fn verdict_label(code: VerdictCode) -> String {
    let sign = match code {
        VerdictCode::Valid => '✓',
        VerdictCode::Unchecked => '?',
        _ => '✗',
    };
    format!("{sign} {}", code.row().label())
}

/// Returns a short duration: `0.2ms`, `41ms`, `12.3s`, `66min40s`.
pub(super) fn took(time: Duration) -> String {
    duration(time).replace(' ', "")
}

/// Returns the attempt of a delivery: `2/4`, and `5th` after the last one of the service.
pub(super) fn attempt(number: u32) -> String {
    if number > MAX_ATTEMPTS { format!("{number}th") } else { format!("{number}/{MAX_ATTEMPTS}") }
}

impl LineStyle {
    /// Returns the lines of a delivery, its failed forwards and its hint.
    pub(super) fn delivery(&self, delivery: &Delivery) -> Vec<Line> {
        let parts = [self.request(delivery), self.result(delivery)].concat();
        let mut lines = wrapped(parts, self.width);
        for note in self.notes(delivery) {
            lines.extend(note_lines(&note, self.width));
        }
        lines
    }

    /// Returns the line of a request that did not become a delivery.
    pub(super) fn refused(&self, refused: &RefusedRequest) -> Vec<Line> {
        let RefusalRow { status, message, .. } = *refused.refusal.row();
        let target = mask::target(&refused.request_target, self.reveal);
        let parts = vec![
            (TextStyle::Dim, self.time(refused.at)),
            (TextStyle::Plain, self.cut(refused.method.as_str())),
            (TextStyle::Plain, self.cut(&target)),
            (TextStyle::for_status(Some(status)), format!("→ {status}")),
            (TextStyle::Dim, message.to_owned()),
        ];
        wrapped(parts, self.width)
    }

    /// Returns the parts that describe the request.
    fn request(&self, delivery: &Delivery) -> Line {
        let summary = &delivery.summary;
        let method = match summary.source {
            Source::Request(_) => self.cut(summary.method.as_str()),
            Source::Poll => "poll".to_owned(),
        };
        let target = self.cut(&mask::target(&summary.request_target, self.reveal));
        let mut parts = vec![(TextStyle::Dim, self.time(summary.received_at))];
        parts.extend(summary.number.map(|number| (TextStyle::Heading, format!("#{number}"))));
        parts.extend([(TextStyle::Plain, method), (TextStyle::Plain, target)]);
        // The usual event is left out, so that most lines fit.
        let event = summary.names.event.as_ref();
        let event = event.filter(|event| **event != EventKind::SubmissionCreated.as_str());
        parts.extend(event.map(|event| (TextStyle::Plain, self.cut(event))));
        let id = summary.names.submission_id.as_ref();
        parts.extend(id.map(|id| (TextStyle::Heading, self.cut(id))));
        parts.push((TextStyle::Dim, DecimalBytes(summary.body_size).to_string()));
        parts
    }

    /// Returns the parts that describe the verdict, the attempt and the response.
    pub(super) fn result(&self, delivery: &Delivery) -> Line {
        let summary = &delivery.summary;
        let mut parts = vec![self.verdict(delivery)];
        if summary.attempt.is_duplicate {
            parts.push((TextStyle::Warning, "duplicate".to_owned()));
        } else if summary.attempt.number > 1 {
            parts.push((TextStyle::Warning, attempt(summary.attempt.number)));
        }
        parts.extend(summary.attempt.gap.map(|gap| (TextStyle::Dim, format!("+{}", took(gap)))));
        let Some(response) = &summary.response else {
            parts.push((TextStyle::Failure, "→ no response".to_owned()));
            return parts;
        };
        let status = response.status.map_or("dropped".to_owned(), |it| it.to_string());
        let is_fault = response.answered_by == AnsweredBy::Fault;
        let status = format!("→ {status}{}", if is_fault { " (injected)" } else { "" });
        parts.push((TextStyle::for_status(response.status), status));
        if response.answered_by == AnsweredBy::NoRoute {
            parts.push((TextStyle::Warning, "no route matches".to_owned()));
        } else if let Some(target) = self.target(&delivery.forwards) {
            parts.push((TextStyle::Warning, format!("by {target}")));
        }
        parts.push((TextStyle::Dim, took(response.took)));
        parts
    }

    fn verdict(&self, delivery: &Delivery) -> (TextStyle, String) {
        let verdict = &delivery.summary.verdict;
        let mut text = verdict_label(verdict.code);
        if verdict.secret.as_deref().is_some_and(|name| self.secrets.is_previous(name)) {
            text += " by a previous secret";
        }
        // Anyone can write any time into a signature that is not valid.
        if let Some(age) = verdict.age_secs.filter(|_| verdict.code.row().has_valid_signature) {
            let sign = if age < 0 { "-" } else { "" };
            let age = match age.unsigned_abs() {
                age @ 0..100 => format!("{age}s"),
                age => took(Duration::from_secs(age)),
            };
            text = format!("{text} {sign}{age}");
        }
        (TextStyle::for_verdict(verdict.code), text)
    }

    /// With several targets, returns the delivery's target or their number, unless one failed.
    fn target(&self, forwards: &[Forward]) -> Option<String> {
        if !self.several_targets || !forwards.iter().all(Forward::is_success) {
            return None;
        }
        match forwards {
            [] => None,
            [one] => Some(self.cut(&mask::url(&one.url, self.reveal))),
            several => Some(format!("{} targets", several.len())),
        }
    }

    /// Shortens a text of the sender if the width is limited.
    fn cut(&self, text: &str) -> String {
        let text = one_line(text);
        if self.width.is_some() { truncate(&text, MAX_TEXT) } else { text.into_owned() }
    }

    fn time(&self, at: Timestamp) -> String {
        self.zone.to_datetime(at).strftime("%H:%M:%S").to_string()
    }

    /// Returns the responses of targets that failed, and a hint about a refused delivery.
    fn notes(&self, delivery: &Delivery) -> Vec<String> {
        let forwards = delivery.forwards.iter().filter_map(|forward| self.forward_note(forward));
        let code = delivery.summary.verdict.code;
        let event = (code == VerdictCode::BadEvent)
            .then(|| WebhookEvent::from_json(delivery.body.clone()).err())
            .flatten()
            .map(|error| format!("not a valid event: {error}"));
        forwards.chain(event).chain(verdict_hint(delivery)).collect()
    }

    fn forward_note(&self, forward: &Forward) -> Option<String> {
        // It may end with the path of the request, which may have any length.
        let url = truncate(&mask::url(&forward.url, self.reveal), MAX_EXCERPT);
        match &forward.result {
            Err(error) => Some(format!("{url}: {}", error.message)),
            Ok(response) if is_success(response.status) => None,
            Ok(response) => {
                // Masked before it is cut, because half of a signature is not recognized as one.
                let body = mask::response_body(&response.body, self.reveal);
                let body = excerpt(&String::from_utf8_lossy(&body));
                let colon = if body.is_empty() { "" } else { ": " };
                let (status, took) = (response.status, took(forward.took));
                Some(format!("{url} responded {status} in {took}{colon}{body}"))
            }
        }
    }
}

/// Returns the beginning of a response, or of another text of unknown length.
pub(super) fn excerpt(text: &str) -> String {
    truncate(text.trim(), MAX_EXCERPT)
}

/// Returns the status of a response to a sent request.
pub(super) fn status(status: Option<u16>, expected: StatusSet) -> (TextStyle, String) {
    let is_expected = status.is_some() && expected.contains(status);
    let style = if is_expected { TextStyle::Success } else { TextStyle::Failure };
    (style, status.map_or("→ no response".to_owned(), |status| format!("→ {status}")))
}

/// Prints a line, and notes below it.
pub(super) fn print(live: &Live<'_>, parts: Line, notes: &[String]) -> Result<(), CliError> {
    let mut lines = wrapped(parts, live.width());
    lines.extend(notes.iter().flat_map(|note| note_lines(note, live.width())));
    live.lines(lines.iter().map(Vec::as_slice))
}

fn verdict_hint(delivery: &Delivery) -> Option<String> {
    let row = delivery.summary.verdict.code.row();
    match delivery.summary.number {
        _ if !row.is_refusal() => None,
        Some(number) if row.is_explainable => {
            let command = format!("formsvc webhook verify --capture {number} --explain");
            Some(format!("hint: `{command}` finds the cause"))
        }
        _ => row.advice.map(|advice| format!("hint: {advice}")),
    }
}

/// Returns a text below a line, with an indent. An empty text has no line.
fn note_lines(note: &str, width: Option<usize>) -> Vec<Line> {
    if note.is_empty() {
        return Vec::new();
    }
    let note = one_line(note);
    let lines = match width {
        Some(width) => wrap_whole_words(&note, width.saturating_sub(INDENT.len())),
        None => vec![note.into_owned()],
    };
    let indented = |line| vec![(TextStyle::Plain, INDENT.to_owned()), (TextStyle::Dim, line)];
    lines.into_iter().map(indented).collect()
}

/// Returns as many parts on each line as fit.
fn wrapped(parts: Line, width: Option<usize>) -> Vec<Line> {
    let width = width.unwrap_or(usize::MAX);
    let (mut lines, mut line, mut cells) = (Vec::new(), Line::new(), 0);
    for part in parts {
        let added = 1 + part.1.width();
        if cells > 0 && cells + added > width {
            lines.push(std::mem::take(&mut line));
            line.push((TextStyle::Plain, INDENT.to_owned()));
            cells = INDENT.len() + added - 1;
        } else if cells > 0 {
            line.push((TextStyle::Plain, " ".to_owned()));
            cells += added;
        } else {
            cells = added - 1;
        }
        line.push(part);
    }
    lines.push(line);
    lines
}
