//! What the list has of a capture, made harmless.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::output::Look;
use crate::sanitize::one_line;
use crate::webhook::capture::{CaptureNumber, Source};
use crate::webhook::listen::text::{age, attempt, seconds, took};
use crate::webhook::store::{Listed, ListedOutcome};
use crate::webhook::tone::Tone;
use crate::webhook::verdict::VerdictCode;

/// Most of a stranger's words, in characters.
const WORDS_MAX: usize = 100;

/// A row of the list.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// None where it could not be kept.
    pub(super) number: Option<CaptureNumber>,
    pub(super) at: Timestamp,
    pub(super) method: String,
    pub(super) event: String,
    pub(super) submission: String,
    pub(super) verdict: VerdictCode,
    pub(super) age: Option<i64>,
    pub(super) attempt: u32,
    pub(super) duplicate: bool,
    /// None while it is being answered.
    pub(super) answer: Option<ListedOutcome>,
}

/// What tells two rows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKey {
    Number(CaptureNumber),
    /// When it came, where it has no number.
    At(Timestamp),
}

impl From<&Listed> for Row {
    fn from(listed: &Listed) -> Self {
        let words = |text: Option<&str>| text.map_or_else(String::new, words);
        Self {
            number: listed.number,
            at: listed.at,
            method: match listed.source {
                Source::Request(_) => self::words(listed.method.as_str()),
                Source::Poll => "poll".to_owned(),
            },
            event: words(listed.event.as_deref()),
            submission: words(listed.submission_id.as_deref()),
            verdict: listed.verdict.code,
            age: listed.verdict.age,
            attempt: listed.arrival.number,
            duplicate: listed.arrival.duplicate,
            answer: listed.outcome.clone(),
        }
    }
}

impl Row {
    pub(super) fn key(&self) -> RowKey {
        self.number.map_or(RowKey::At(self.at), RowKey::Number)
    }

    /// Whether it stands below another.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        match (self.number, other.number) {
            (Some(own), Some(others)) => own < others,
            _ => self.at < other.at,
        }
    }

    pub(super) fn number_cell(&self) -> String {
        self.number.map_or_else(|| "–".to_owned(), |number| number.to_string())
    }

    /// The time of today; of other days the day.
    pub(super) fn time_cell(&self, now: Timestamp, zone: &TimeZone) -> String {
        let (at, now) = (self.at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
        let format = if at.date() == now.date() { "%H:%M:%S" } else { "%b %d" };
        at.strftime(format).to_string()
    }

    pub(super) fn verdict_cell(&self) -> (Look, String) {
        let row = self.verdict.row();
        (row.tone.look(), row.short.to_owned())
    }

    pub(super) fn age_cell(&self) -> String {
        // Of what is not signed the age is anybody's word.
        let age = self.age.filter(|_| self.verdict.row().is_signed);
        age.map_or_else(String::new, |age| self::age(age).into())
    }

    pub(super) fn attempt_cell(&self) -> (Look, String) {
        match self.attempt {
            // What anybody can send is no attempt.
            _ if self.verdict.is_refusal() && !self.verdict.is_proven() => {
                (Look::Past, String::new())
            }
            _ if self.duplicate => (Look::Open, "dup".to_owned()),
            1 => (Look::Past, attempt(1).into()),
            number => (Look::Open, attempt(number).into()),
        }
    }

    pub(super) fn status_cell(&self) -> (Look, String) {
        status(self.answer.as_ref())
    }

    pub(super) fn took_cell(&self) -> String {
        self.answer.as_ref().map_or_else(String::new, |answer| took(answer.took).into())
    }
}

/// What a sender was answered.
pub(super) fn status(answer: Option<&ListedOutcome>) -> (Look, String) {
    let Some(ListedOutcome { status, .. }) = answer else { return (Look::Past, "…".to_owned()) };
    let told = status.map_or_else(|| "dropped".to_owned(), |status| status.to_string());
    (Tone::of_status(*status).look(), told)
}

/// How long ago something was, in a word.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let since = std::time::Duration::try_from(now.duration_since(at)).unwrap_or_default();
    if since.as_secs() < 100 { format!("{}s", since.as_secs()) } else { seconds(since).into() }
}

/// The beginning of a stranger's words.
fn words(text: &str) -> String {
    let beginning: String = text.chars().take(WORDS_MAX).collect();
    one_line(&beginning).into_owned()
}
