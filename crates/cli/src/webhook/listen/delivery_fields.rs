//! The fields of the line of a delivery: what each is, what values it has, and what `--expect` compares.
//! The schema and the language of `--expect` follow from this table.

use serde_json::{Value, json};

use super::happened::Delivered;
use super::schema::{count, flag, instant, maybe, millis, named, properties, text};
use crate::webhook::capture::{AnsweredBy, Outcome, Received, Source};
use crate::webhook::fields;
use crate::webhook::history::Pause;
use crate::webhook::verdict::{VERDICTS, VerdictCode};

/// A row of the table.
pub(super) struct FieldRow {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What values it has, given what it is.
    pub(super) schema: fn(&str) -> Value,
    pub(super) compared: Compared,
}

/// How `--expect` compares a field.
#[derive(Clone, Copy)]
pub(super) enum Compared {
    /// As a number.
    Number(fn(&Delivered) -> Option<f64>),
    /// As a text.
    Text(fn(&Delivered) -> Option<String>),
    /// By its own fields.
    Parts(&'static [FieldRow]),
    /// Not at all.
    No,
}

impl std::fmt::Debug for FieldRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn row(
    name: &'static str,
    about: &'static str,
    schema: fn(&str) -> Value,
    compared: Compared,
) -> FieldRow {
    FieldRow { name, about, schema, compared }
}

use Compared::{No, Number, Parts, Text};

/// Every field, in the order in which the schema tells them.
pub(super) const FIELDS: &[FieldRow] = &[
    row("capture", CAPTURE, |about| maybe(count(about)), No),
    row("at", "when it had come", instant, No),
    row(
        "source",
        "where it comes from",
        |about| named(about, Source::NAMES),
        Text(|told| some(received(told).source.name())),
    ),
    row(
        "synthetic",
        "whether it was made here of what the API has, and not sent by the service",
        flag,
        Text(|told| some(received(told).source == Source::Poll)),
    ),
    row(
        "peer",
        "the address it came from",
        |about| maybe(text(about)),
        Text(|told| received(told).source.peer().map(|peer| peer.to_string())),
    ),
    row("method", "the method", text, Text(|told| some(received(told).method.as_str()))),
    row(
        "request_target",
        "path and query, as they came",
        text,
        Text(|told| some(&received(told).request_target)),
    ),
    row(
        "headers",
        "values by names in lower case; the signature is masked without --reveal",
        |about| {
            let values = json!({"type": "array", "items": {"type": "string"}});
            json!({"type": "object", "description": about, "additionalProperties": values})
        },
        No,
    ),
    row(
        "event",
        "the event that the body tells of",
        |about| maybe(text(about)),
        Text(|told| received(told).event.clone()),
    ),
    row(
        "submission_id",
        "the submission, as the body has it",
        |about| maybe(text(about)),
        Text(|told| received(told).submission_id.clone()),
    ),
    row(
        "form_id",
        "the form, as the body has it",
        |about| maybe(text(about)),
        Text(|told| received(told).form_id.clone()),
    ),
    row(
        "verdict",
        "what verification found",
        |about| named(about, VERDICTS.iter().map(|row| row.name)),
        Text(|told| some(received(told).verdict.code.row().name)),
    ),
    row(
        "valid",
        "whether the verdict is `valid`",
        flag,
        Text(|told| some(received(told).verdict.code == VerdictCode::Valid)),
    ),
    row(
        "secret",
        "the name of the secret that signed it",
        |about| maybe(text(about)),
        Text(|told| received(told).verdict.secret.as_deref().map(str::to_owned)),
    ),
    row(
        "age_s",
        "seconds since the signature's time; negative when that lies ahead",
        |about| json!({"type": ["integer", "null"], "description": about}),
        Number(|told| received(told).verdict.age.map(number)),
    ),
    row(
        "attempt",
        "how often its submission has come, this time included; where there are secrets, those that are \
         signed are counted",
        count,
        Number(|told| Some(received(told).arrival.number.into())),
    ),
    row(
        "gap_ms",
        "time since it came last",
        |about| maybe(millis(about)),
        Number(|told| received(told).arrival.gap.map(fields::millis)),
    ),
    row(
        "duplicate",
        "whether it had been accepted before",
        flag,
        Text(|told| some(received(told).arrival.duplicate)),
    ),
    row(
        "pause",
        "the pause before it, where it is a retry",
        |about| maybe(properties(about, PAUSE)),
        Parts(PAUSE),
    ),
    row(
        "status",
        "what it was answered with; none where its connection was dropped as told",
        super::schema::status,
        Number(|told| outcome(told)?.status.map(f64::from)),
    ),
    row(
        "answered_by",
        "whose word the answer is",
        |about| named(about, AnsweredBy::ALL.map(|(_, name)| name)),
        Text(|told| some(outcome(told)?.by.name())),
    ),
    row(
        "unrouted",
        "whether it was to be forwarded, and no route took it",
        flag,
        Text(|told| some(told.is_unrouted)),
    ),
    row(
        "took_ms",
        "from the whole request to the answer",
        millis,
        Number(|told| Some(fields::millis(outcome(told)?.took))),
    ),
    row(
        "body_size",
        "bytes of the body",
        count,
        Number(|told| i64::try_from(received(told).body.len()).ok().map(number)),
    ),
    row(
        "body_sha256",
        "a digest of the body",
        |about| json!({"type": "string", "description": about, "pattern": "^[0-9a-f]{64}$"}),
        No,
    ),
    row(
        "body_b64",
        "the body, to the byte",
        |about| json!({"type": "string", "description": about, "contentEncoding": "base64"}),
        No,
    ),
    row(
        "body",
        "the body where it is JSON that common readers take, its numbers and the order of its keys as \
         they came; else null",
        |about| json!({"description": about}),
        No,
    ),
];

/// What a number of a capture is.
pub(super) const CAPTURE: &str = "the number of the capture, by which other commands take it; none where \
    it was not kept on the disk";

/// The fields of a pause.
const PAUSE: &[FieldRow] = &[
    row(
        "retry",
        "which retry, the first being 1",
        count,
        Number(|told| Some(pause(told)?.retry.into())),
    ),
    row(
        "waited_ms",
        "since the attempt before had ended",
        millis,
        Number(|told| Some(fields::millis(pause(told)?.waited))),
    ),
    row(
        "expected_ms",
        "the shortest and longest of the schedule; none beyond its last",
        |about| json!({"type": ["array", "null"], "description": about, "items": {"type": "number"}}),
        No,
    ),
    row("fits", "whether it is one of the schedule", flag, Text(|told| some(pause(told)?.fits()))),
];

/// What is compared, by its name: that of a part after its whole's and a dot.
pub(super) fn compared() -> impl Iterator<Item = (String, &'static FieldRow)> {
    FIELDS.iter().flat_map(|row| match row.compared {
        No => Vec::new(),
        Number(_) | Text(_) => vec![(row.name.to_owned(), row)],
        Parts(parts) => {
            let parts = parts.iter().filter(|part| !matches!(part.compared, No));
            parts.map(|part| (format!("{}.{}", row.name, part.name), part)).collect()
        }
    })
}

fn received(told: &Delivered) -> &Received {
    &told.capture.received
}

fn outcome(told: &Delivered) -> Option<&Outcome> {
    told.capture.outcome.as_deref()
}

fn pause(told: &Delivered) -> Option<Pause> {
    told.pause
}

/// What is always there.
#[expect(clippy::needless_pass_by_value, reason = "it is a name, a flag or a reference")]
#[expect(clippy::unnecessary_wraps, reason = "what some fields have always, others may not have")]
fn some(text: impl ToString) -> Option<String> {
    Some(text.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "counts and ages of a listener are far smaller")]
fn number(count: i64) -> f64 {
    count as f64
}
