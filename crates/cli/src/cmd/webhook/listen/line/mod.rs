//! The lines of a delivery on a terminal: one if it fits the width, else up to three, and below them advice if
//! the delivery failed.

mod parts;
#[cfg(test)]
pub(super) mod tests;

use formsvc_protocol::limits::DELIVERY_RETRIES;
use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::{AnsweredBy, Delivery, Forward, Response, Source, is_success};
use formsvc_workbench::listen::{RefusalRow, RefusedRequest};
use formsvc_workbench::mask;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verdict::VerdictCode;
use http::Method;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use self::parts::Parts;
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, wrap_whole_words};
use crate::cmd::webhook::text::{seconds, took, verdict_label};
use crate::output::TextStyle;

/// A line as texts with their styles.
pub(super) type Line = Vec<(TextStyle, String)>;

/// Longest part of a target's response that is shown, in characters.
const MAX_PREVIEW: usize = 200;
/// Indent of all lines but the first: they begin below its second word.
const INDENT: &str = "         ";
/// Number of attempts that the service makes.
const MAX_ATTEMPTS: u32 = 1 + DELIVERY_RETRIES;
/// Least width to which a part of a line is shortened, in cells.
const MIN_PART: usize = 8;
/// Largest width of a method, in cells.
const MAX_METHOD: usize = 10;

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

impl LineStyle {
    /// Returns the lines of a delivery that was answered.
    pub(super) fn delivery(&self, delivery: &Delivery) -> Vec<Line> {
        let Some(response) = &delivery.summary.response else { return Vec::new() };
        let mut lines = self.parts(delivery, response).lines(self.width);
        for note in self.notes(delivery) {
            let note = one_line(&note);
            let folded = match self.width {
                Some(width) => wrap_whole_words(&note, width.saturating_sub(INDENT.len())),
                None => vec![note.into_owned()],
            };
            let indented =
                |line| vec![(TextStyle::Plain, INDENT.to_owned()), (TextStyle::Dim, line)];
            lines.extend(folded.into_iter().map(indented));
        }
        lines
    }

    /// Returns the line of a request that did not become a delivery.
    pub(super) fn refused(&self, refused: &RefusedRequest) -> Line {
        let RefusalRow { status, message, .. } = *refused.refusal.row();
        let method = method(&refused.method);
        let mut target = self.request_target(&refused.request_target);
        if let Some(width) = self.width {
            let others = "00:00:00 ".len() + method.len() + " → 000 ".width() + message.len() + 1;
            let over = (others + target.width()).saturating_sub(width);
            shorten(&mut target, over, MIN_PART);
        }
        joined(vec![
            (TextStyle::Dim, time(refused.at, &self.zone)),
            (TextStyle::Plain, method),
            (TextStyle::Plain, target),
            (TextStyle::Dim, "→".to_owned()),
            (TextStyle::for_status(Some(status)), status.to_string()),
            (TextStyle::Dim, message.to_owned()),
        ])
    }

    fn parts(&self, delivery: &Delivery, response: &Response) -> Parts {
        let summary = &delivery.summary;
        let clean = |text: &String| one_line(text).into_owned();
        let mut begin = vec![(TextStyle::Dim, time(summary.received_at, &self.zone))];
        begin.extend(summary.number.map(|number| (TextStyle::Heading, format!("#{number}"))));
        begin.push((
            TextStyle::Plain,
            match summary.source {
                Source::Request(_) => method(&summary.method),
                Source::Poll => "poll".to_owned(),
            },
        ));
        let mut verdict = vec![self.verdict(delivery)];
        let attempt = summary.attempt;
        if attempt.is_duplicate {
            verdict.push((TextStyle::Warning, "duplicate".to_owned()));
        } else if attempt.number > 1 {
            verdict.push((TextStyle::Warning, attempt_of(attempt.number)));
        }
        Parts {
            begin,
            request_target: Some(self.request_target(&summary.request_target)),
            event: summary.names.event.as_ref().map(clean),
            id: summary.names.submission_id.as_ref().map(clean),
            size: Some(size(summary.body_size)),
            verdict,
            gap: attempt.gap.map(|gap| format!("+{}", seconds(gap))),
            status: vec![(TextStyle::Dim, "→".to_owned()), status(response)],
            target: self.target(delivery, response),
            took: Some(took(response.took)),
        }
    }

    fn request_target(&self, target: &str) -> String {
        one_line(&mask::target(target, self.reveal)).into_owned()
    }

    fn verdict(&self, delivery: &Delivery) -> (TextStyle, String) {
        let verdict = &delivery.summary.verdict;
        let row = verdict.code.row();
        let mut text = verdict_label(verdict.code).to_owned();
        if verdict.secret.as_deref().is_some_and(|name| self.secrets.is_previous(name)) {
            text += " by a previous secret";
        }
        // Anyone can write any time into a signature that is not valid.
        if let Some(age) = verdict.age_secs.filter(|_| row.has_valid_signature) {
            text.push(' ');
            text += &age_of(age);
        }
        (TextStyle::for_verdict(verdict.code), text)
    }

    /// Returns the target of a delivery if there are several. The notes name targets that failed.
    fn target(&self, delivery: &Delivery, response: &Response) -> Option<String> {
        if response.answered_by == AnsweredBy::NoRoute {
            return Some("no route matches".to_owned());
        }
        let forwards = &delivery.forwards;
        if !self.several_targets || !forwards.iter().all(Forward::is_success) {
            return None;
        }
        match &forwards[..] {
            [] => None,
            [one] => {
                let url = mask::url(&one.url, self.reveal);
                let address = url.split_once("://").map_or(&*url, |(_, address)| address);
                // A target of this machine is shown as users type it.
                let address = address.strip_prefix("localhost:").unwrap_or(address);
                Some(format!("by {}", one_line(address)))
            }
            several => Some(format!("by {} targets", several.len())),
        }
    }

    /// Returns the responses of targets that failed, and advice about a refused delivery.
    fn notes(&self, delivery: &Delivery) -> Vec<String> {
        let forwards = delivery.forwards.iter().filter_map(|forward| self.forward_note(forward));
        let code = delivery.summary.verdict.code;
        let event = (code == VerdictCode::BadEvent)
            .then(|| WebhookEvent::from_json(delivery.body.clone()).err())
            .flatten()
            .map(|error| format!("not a valid event: {error}"));
        forwards.chain(event).chain(verdict_note(delivery)).collect()
    }

    fn forward_note(&self, forward: &Forward) -> Option<String> {
        let mut url = one_line(&mask::url(&forward.url, self.reveal)).into_owned();
        if let Some(width) = self.width {
            // It may end with the path of the request, which may have any length.
            url = truncate(&url, width.saturating_sub(INDENT.len() + 1).max(MIN_PART));
        }
        match &forward.result {
            Err(error) => Some(format!("{url}: {}", error.message)),
            Ok(response) if is_success(response.status) => None,
            Ok(response) => {
                // Masked before it is cut, because half of a signature is not recognized as one.
                let body = mask::response_body(&response.body, self.reveal);
                let body = String::from_utf8_lossy(&body);
                let preview: String = body.trim().chars().take(MAX_PREVIEW).collect();
                let colon = if preview.is_empty() { "" } else { ": " };
                let (status, took) = (response.status, took(forward.took));
                Some(format!("{url} responded {status} in {took}{colon}{preview}"))
            }
        }
    }
}

fn verdict_note(delivery: &Delivery) -> Option<String> {
    let summary = &delivery.summary;
    let row = summary.verdict.code.row();
    if !row.is_refusal() {
        return None;
    }
    Some(match (summary.number, row.advice) {
        (Some(number), _) if row.is_explainable => {
            format!("hint: `formsvc webhook verify --capture {number} --explain` finds the cause")
        }
        (_, advice) => format!("hint: {}", advice?),
    })
}

/// Returns a method, which may be any word.
fn method(method: &Method) -> String {
    truncate(method.as_str(), MAX_METHOD)
}

fn attempt_of(number: u32) -> String {
    if number <= MAX_ATTEMPTS { format!("{number}/{MAX_ATTEMPTS}") } else { format!("{number}th") }
}

fn status(response: &Response) -> (TextStyle, String) {
    let mut text = response.status.map_or("dropped".to_owned(), |status| status.to_string());
    if response.answered_by == AnsweredBy::Fault {
        text += " (injected)";
    }
    (TextStyle::for_status(response.status), text)
}

/// Makes a text narrower by `by` cells, but not narrower than `min`.
fn shorten(text: &mut String, by: usize, min: usize) {
    *text = truncate(text, text.width().saturating_sub(by).max(min));
}

/// Joins texts by spaces.
fn joined(parts: Line) -> Line {
    let mut line = Line::with_capacity(parts.len() * 2);
    for part in parts {
        if !line.is_empty() {
            line.push((TextStyle::Plain, " ".to_owned()));
        }
        line.push(part);
    }
    line
}

fn time(at: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(at).strftime("%H:%M:%S").to_string()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Formats the age of a signature. It is negative if the signature's time is in the future.
fn age_of(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    match seconds.unsigned_abs() {
        seconds @ 0..6_000 => format!("{sign}{seconds}s"),
        seconds @ 6_000..172_800 => format!("{sign}{}h", seconds / 3_600),
        seconds => format!("{sign}{}d", seconds / 86_400),
    }
}
