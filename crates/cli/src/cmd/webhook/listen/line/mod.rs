//! The lines of a delivery on a terminal. A delivery has one line if it fits the width. Otherwise the request and
//! the result have lines of their own. Errors of targets and advice follow below.

#[cfg(test)]
pub(super) mod tests;

use formsvc_protocol::EventKind;
use formsvc_protocol::limits::DELIVERY_RETRIES;
use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::{AnsweredBy, Delivery, Forward, Response, Source, is_success};
use formsvc_workbench::listen::{RefusalRow, RefusedRequest};
use formsvc_workbench::mask;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verdict::VerdictCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use crate::base::sanitize::one_line;
use crate::base::text::{truncate, truncate_id, wrap_whole_words};
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
/// Most cells of a method, of an event, and of a request target or target.
const MAX_METHOD: usize = 10;
const MAX_EVENT: usize = 20;
const MAX_TARGET: usize = 40;
/// Least width to which an id is shortened. Ids of the service have fewer cells, because users copy them.
const MIN_ID: usize = 40;

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

/// A part of a line.
struct Part {
    look: TextStyle,
    text: String,
    importance: Importance,
}

/// Parts of the least importance are omitted first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    /// The event that nearly all deliveries have.
    UsualEvent,
    Size,
    Gap,
    Took,
    Required,
}

impl Importance {
    const ALL: [Self; 5] = [Self::UsualEvent, Self::Size, Self::Gap, Self::Took, Self::Required];
}

impl LineStyle {
    /// Returns the lines of a delivery that was answered.
    pub(super) fn delivery(&self, delivery: &Delivery) -> Vec<Line> {
        let Some(response) = &delivery.summary.response else { return Vec::new() };
        let mut lines = self.fit(self.request(delivery), self.result(delivery, response));
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
        let method = truncate(refused.method.as_str(), MAX_METHOD);
        let others = "00:00:00   → 000 ".width() + method.len() + message.len();
        let room = self.width.unwrap_or_default().saturating_sub(others).max(MAX_METHOD);
        joined([
            (TextStyle::Dim, time(refused.at, &self.zone)),
            (TextStyle::Plain, method),
            (TextStyle::Plain, self.cut(&mask::target(&refused.request_target, self.reveal), room)),
            (TextStyle::Dim, "→".to_owned()),
            (TextStyle::for_status(Some(status)), status.to_string()),
            (TextStyle::Dim, message.to_owned()),
        ])
    }

    /// Returns the parts that describe the request.
    fn request(&self, delivery: &Delivery) -> Vec<Part> {
        let summary = &delivery.summary;
        let method = match summary.source {
            Source::Request(_) => truncate(summary.method.as_str(), MAX_METHOD),
            Source::Poll => "poll".to_owned(),
        };
        let target = self.cut(&mask::target(&summary.request_target, self.reveal), MAX_TARGET);
        let mut parts = vec![Part::new(TextStyle::Dim, time(summary.received_at, &self.zone))];
        let number = summary.number.map(|number| format!("#{number}"));
        parts.extend(number.map(|number| Part::new(TextStyle::Heading, number)));
        parts.extend([Part::new(TextStyle::Plain, method), Part::new(TextStyle::Plain, target)]);
        if let Some(event) = &summary.names.event {
            let is_usual = event == EventKind::SubmissionCreated.as_str();
            let importance = if is_usual { Importance::UsualEvent } else { Importance::Required };
            parts.push(Part {
                importance,
                ..Part::new(TextStyle::Plain, self.cut(event, MAX_EVENT))
            });
        }
        if let Some(id) = &summary.names.submission_id {
            let id = one_line(id);
            let id = match self.width {
                Some(width) => truncate_id(&id, width.saturating_sub(INDENT.len()).max(MIN_ID)),
                None => id.into_owned(),
            };
            parts.push(Part::new(TextStyle::Heading, id));
        }
        let size = Part::new(TextStyle::Dim, size(summary.body_size));
        parts.push(Part { importance: Importance::Size, ..size });
        parts
    }

    /// Returns the parts that describe the verdict, the attempt and the response.
    fn result(&self, delivery: &Delivery, response: &Response) -> Vec<Part> {
        let summary = &delivery.summary;
        let mut parts = vec![self.verdict(delivery)];
        let attempt = summary.attempt;
        if attempt.is_duplicate {
            parts.push(Part::new(TextStyle::Warning, "duplicate".to_owned()));
        } else if attempt.number > 1 {
            let is_counted = attempt.number <= MAX_ATTEMPTS;
            let total = if is_counted { format!("/{MAX_ATTEMPTS}") } else { "th".to_owned() };
            parts.push(Part::new(TextStyle::Warning, format!("{}{total}", attempt.number)));
        }
        if let Some(gap) = attempt.gap {
            let gap = Part::new(TextStyle::Dim, format!("+{}", seconds(gap)));
            parts.push(Part { importance: Importance::Gap, ..gap });
        }
        let mut status = response.status.map_or("dropped".to_owned(), |it| it.to_string());
        if response.answered_by == AnsweredBy::Fault {
            status += " (injected)";
        }
        parts.push(Part::new(TextStyle::Dim, "→".to_owned()));
        parts.push(Part::new(TextStyle::for_status(response.status), status));
        let target = self.target(delivery, response);
        parts.extend(target.map(|target| Part::new(TextStyle::Warning, target)));
        let took = Part::new(TextStyle::Dim, took(response.took));
        parts.push(Part { importance: Importance::Took, ..took });
        parts
    }

    fn verdict(&self, delivery: &Delivery) -> Part {
        let verdict = &delivery.summary.verdict;
        let mut text = verdict_label(verdict.code).to_owned();
        if verdict.secret.as_deref().is_some_and(|name| self.secrets.is_previous(name)) {
            text += " by a previous secret";
        }
        // Anyone can write any time into a signature that is not valid.
        let age = verdict.age_secs.filter(|_| verdict.code.row().has_valid_signature);
        if let Some(age) = age {
            let sign = if age < 0 { "-" } else { "" };
            let age = match age.unsigned_abs() {
                age @ 0..6_000 => format!("{age}s"),
                age @ 6_000..172_800 => format!("{}h", age / 3_600),
                age => format!("{}d", age / 86_400),
            };
            text = format!("{text} {sign}{age}");
        }
        Part::new(TextStyle::for_verdict(verdict.code), text)
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
                Some(format!("by {}", self.cut(address, MAX_TARGET)))
            }
            several => Some(format!("by {} targets", several.len())),
        }
    }

    /// Shortens a text of the request if the width is limited.
    fn cut(&self, text: &str, max: usize) -> String {
        let text = one_line(text);
        if self.width.is_some() { truncate(&text, max) } else { text.into_owned() }
    }

    /// Returns one line without the parts that have no room, or else several with all parts.
    fn fit(&self, request: Vec<Part>, result: Vec<Part>) -> Vec<Line> {
        let width = self.width.unwrap_or(usize::MAX);
        let cells = |parts: &[&Part]| parts.iter().map(|part| 1 + part.text.width()).sum::<usize>();
        for least in Importance::ALL {
            let parts = request.iter().chain(&result).filter(|part| part.importance >= least);
            let parts: Vec<&Part> = parts.collect();
            if cells(&parts) <= width.saturating_add(1) {
                return vec![joined(parts.into_iter().map(|part| (part.look, part.text.clone())))];
            }
        }
        let request = request.into_iter().filter(|part| part.importance != Importance::UsualEvent);
        let mut lines = wrapped(Vec::new(), request, width);
        let indent = vec![(TextStyle::Plain, INDENT[1..].to_owned())];
        lines.extend(wrapped(indent, result, width));
        lines
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
            url = truncate(&url, width.saturating_sub(INDENT.len() + 1).max(MAX_METHOD));
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

impl Part {
    fn new(look: TextStyle, text: String) -> Self {
        Self { look, text, importance: Importance::Required }
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

/// Puts as many parts on each line as fit. The first line begins with `begin`, the others with an indent.
fn wrapped(begin: Line, parts: impl IntoIterator<Item = Part>, width: usize) -> Vec<Line> {
    let mut lines = vec![begin];
    for part in parts {
        let line = lines.last_mut().expect("there is a line");
        let cells: usize = line.iter().map(|(_, text)| 1 + text.width()).sum();
        if cells + part.text.width() > width && line.len() > 1 {
            lines.push(vec![(TextStyle::Plain, INDENT[1..].to_owned())]);
        }
        lines.last_mut().expect("there is a line").push((part.look, part.text));
    }
    lines.into_iter().map(joined).collect()
}

/// Joins texts by spaces.
fn joined(parts: impl IntoIterator<Item = (TextStyle, String)>) -> Line {
    let mut line = Line::new();
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
