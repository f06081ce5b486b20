//! What the list on the page has of a capture.

use jiff::Timestamp;
use serde::Serialize;

use crate::webhook::capture::{CaptureNumber, Source};
use crate::webhook::fields::millis;
use crate::webhook::mask;
use crate::webhook::store::Listed;
use crate::webhook::tone::Tone;
use crate::webhook::verdict::Verdict;

/// Most of a stranger's words in a row, in characters.
const WORDS_MAX: usize = 160;

/// A row, as the page has it.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// What tells two rows apart: the number, or when it came where it has none.
    pub(super) key: String,
    number: Option<CaptureNumber>,
    at: String,
    synthetic: bool,
    method: String,
    request_target: String,
    length: u64,
    verdict: RowVerdict,
    event: Option<String>,
    submission_id: Option<String>,
    form_id: Option<String>,
    attempt: u32,
    gap_ms: Option<u64>,
    duplicate: bool,
    /// None while it is being answered.
    answer: Option<RowAnswer>,
}

/// What verification found.
#[derive(Debug, Serialize)]
pub(super) struct RowVerdict {
    pub(super) name: &'static str,
    pub(super) short: &'static str,
    pub(super) tone: Tone,
}

/// What the sender was answered.
#[derive(Debug, Serialize)]
struct RowAnswer {
    /// None where the connection was dropped on purpose.
    status: Option<u16>,
    tone: Tone,
    by: &'static str,
    took_ms: f64,
}

impl From<&Verdict> for RowVerdict {
    fn from(verdict: &Verdict) -> Self {
        let row = verdict.code.row();
        Self { name: row.name, short: row.short, tone: row.tone }
    }
}

impl Row {
    /// Of a capture; without what lets somebody in where its request went, unless everything is revealed.
    pub(super) fn of(listed: Listed, reveal: bool) -> Self {
        let key = listed.number.map_or_else(
            || format!("at {}", listed.at.as_nanosecond()),
            |number| number.to_string(),
        );
        let cut = |text: Option<String>| text.map(|text| cut(&text));
        Self {
            key,
            number: listed.number,
            at: instant(listed.at),
            synthetic: listed.source == Source::Poll,
            method: self::cut(listed.method.as_str()),
            request_target: self::cut(&mask::target(&listed.request_target, reveal)),
            length: listed.length,
            verdict: (&listed.verdict).into(),
            event: cut(listed.event),
            submission_id: cut(listed.submission_id),
            form_id: cut(listed.form_id),
            attempt: listed.arrival.number,
            gap_ms: listed
                .arrival
                .gap
                .map(|gap| u64::try_from(gap.as_millis()).unwrap_or(u64::MAX)),
            duplicate: listed.arrival.duplicate,
            answer: listed.outcome.map(|outcome| RowAnswer {
                status: outcome.status,
                tone: Tone::of_status(outcome.status),
                by: outcome.by.told(),
                took_ms: millis(outcome.took),
            }),
        }
    }
}

/// An instant with milliseconds, which a browser shows in its own time.
pub(super) fn instant(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// The beginning of a stranger's words.
fn cut(text: &str) -> String {
    match text.char_indices().nth(WORDS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_long_words_is_shown() {
        assert_eq!(cut("é".repeat(WORDS_MAX).as_str()), "é".repeat(WORDS_MAX));
        assert_eq!(cut(&"é".repeat(1_000_000)), format!("{}…", "é".repeat(WORDS_MAX)));
    }

    #[test]
    fn instants_have_milliseconds() {
        let at = Timestamp::from_nanosecond(1_700_000_000_120_456_789).unwrap();
        assert_eq!(instant(at), "2023-11-14T22:13:20.120Z");
    }
}
