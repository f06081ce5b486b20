//! Conditions on deliveries, in one language for `--expect`, `--route`, the flags of lists and the inspector.
//!
//! An expression is `FIELD OP VALUE`, joined by `&&`. A field is a member of the [`DeliveryRecord`], or a JSON pointer
//! into the body such as `/data/Name`. If a delivery lacks a field, only `!=` matches, except that `status=failed`
//! includes no response. A condition on a path with dot segments never matches.

use bytes::Bytes;
use jiff::Timestamp;
use rusqlite::types::Value as SqlValue;
use serde_json::Value;

use crate::delivery::{Delivery, DeliverySummary};
use crate::expectation::StatusSet;
use crate::mask;
use crate::record::{self, DeliveryRecord};
use crate::verdict::{VERDICTS, VerdictCode};

mod parse;
mod pointer;
mod sql;

/// A condition on deliveries. The default matches all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryFilter {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    field: Field,
    op: Op,
    value: Operand,
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    /// A member of the [`DeliveryRecord`].
    Member(&'static FieldRow),
    /// A JSON pointer into the body.
    Pointer(String),
}

/// A row of [`FIELDS`].
#[derive(Debug, PartialEq)]
struct FieldRow {
    name: &'static str,
    kind: FieldKind,
    /// SQL expression over the tables `c` (captures) and `o` (outcomes); `None` if only
    /// [`DeliveryFilter::matches`] decides.
    sql: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Text,
    Bool,
    Number,
    /// A number, or `ok`, `failed` or a class such as `5xx`.
    Status,
    /// The name of a verdict, or `invalid` for every verdict with which a receiver rejects a delivery.
    Verdict,
    Time,
    /// A field that supports only the operator `~`.
    Search,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// The right side of a term.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Text(String),
    /// The part of a value such as `submission.*` before the `*`.
    Prefix(String),
    Number(f64),
    Statuses(StatusSet),
    /// Every verdict with which a receiver rejects the delivery.
    AnyInvalid,
    Time(Timestamp),
}

const fn row(name: &'static str, kind: FieldKind, sql: Option<&'static str>) -> FieldRow {
    FieldRow { name, kind, sql }
}

/// SQL expression of the text that [`searchable`] returns.
const ANY_SQL: &str = "lower(coalesce(c.event || ' ', '') || coalesce(c.submission_id || ' ', '') || \
    coalesce(c.form_id || ' ', '') || c.request_target || ' ' || CAST(c.body AS TEXT))";

static FIELDS: [FieldRow; 24] = {
    use FieldKind::{Bool, Number, Search, Status, Text, Time, Verdict};
    [
        row("capture", Number, Some("c.number")),
        row("at", Time, Some("c.received_at")),
        row("event", Text, Some("c.event")),
        row("submission_id", Text, Some("c.submission_id")),
        row("form_id", Text, Some("c.form_id")),
        row("verdict", Verdict, Some("c.verdict")),
        row("valid", Bool, Some("iif(c.verdict = 'valid', 'true', 'false')")),
        row("secret", Text, Some("c.secret")),
        row("age_s", Number, Some("c.age_secs")),
        row("attempt", Number, Some("c.attempt")),
        row("gap_ms", Number, Some("c.gap_us / 1000.0")),
        row("duplicate", Bool, Some("iif(c.is_duplicate, 'true', 'false')")),
        row("status", Status, Some("o.status")),
        row("answered_by", Text, Some("o.answered_by")),
        row("took_ms", Number, Some("o.took_us / 1000.0")),
        row("source", Text, Some("iif(c.peer IS NULL, 'poll', 'request')")),
        row("synthetic", Bool, Some("iif(c.peer IS NULL, 'true', 'false')")),
        row("peer", Text, Some("c.peer")),
        row("method", Text, Some("c.method")),
        row("request_target", Text, Some("c.request_target")),
        row("body_size", Number, Some("length(c.body)")),
        // The path without the query.
        row("path", Text, None),
        // The body, byte for byte.
        row("body", Search, Some("CAST(c.body AS TEXT)")),
        // Body, request target, event and ids, without regard to ASCII case.
        row("any", Search, Some(ANY_SQL)),
    ]
};

/// The value that a delivery has for a field.
#[derive(Debug, PartialEq)]
enum Found {
    Missing,
    /// A path that a target may resolve to another path. No operator matches such a path.
    NotPlain,
    Text(String),
    Number(f64),
    Time(Timestamp),
}

impl DeliveryFilter {
    /// Parses an expression such as `event=submission.created && status<300`.
    ///
    /// # Errors
    /// Returns the violated rule and the part of the text that violates it.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { terms: parse::terms(text)? })
    }

    /// Adds a condition, which deliveries must match in addition to the existing conditions.
    ///
    /// # Errors
    /// The same as for [`parse`](Self::parse) with `FIELD OP 'VALUE'`.
    pub fn and(&mut self, field: &str, op: &str, value: &str) -> Result<(), String> {
        self.terms.push(parse::term(field, op, value)?);
        Ok(())
    }

    /// Returns true if the filter has no conditions.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if a condition is about the verdict. Such a filter may select invalid deliveries on purpose.
    pub fn is_about_verdict(&self) -> bool {
        self.names("verdict") || self.names("valid")
    }

    /// Returns true if a condition selects one verdict, or all invalid ones: `verdict=X` or `valid=X`.
    pub fn selects_verdict(&self) -> bool {
        self.terms.iter().any(|term| {
            let is_verdict =
                matches!(&term.field, Field::Member(row) if matches!(row.name, "verdict" | "valid"));
            is_verdict && term.op == Op::Equal
        })
    }

    /// Returns true if a condition names this field.
    pub fn names(&self, field: &str) -> bool {
        self.terms.iter().any(|term| matches!(&term.field, Field::Member(row) if row.name == field))
    }

    /// Returns true if the delivery meets every condition.
    pub fn matches(&self, delivery: &Delivery) -> bool {
        self.mismatch(delivery).is_none()
    }

    /// Describes why the delivery does not match, by its first unmet condition: "its `status` is 503". Secrets
    /// are masked.
    pub fn mismatch(&self, delivery: &Delivery) -> Option<String> {
        let term = self.terms.iter().find(|term| !term.is_met_by(delivery))?;
        let name = match &term.field {
            Field::Member(row) => row.name,
            Field::Pointer(pointer) => pointer,
        };
        Some(match term.found(delivery) {
            Found::Missing => format!("it has no `{name}`"),
            Found::NotPlain => format!("its `{name}` has dot segments or backslashes"),
            Found::Number(number) => format!("its `{name}` is {number}"),
            Found::Time(time) => format!("its `{name}` is {time}"),
            Found::Text(text) => {
                let masked = mask::text(&text);
                let masked = mask::target(&masked, false);
                format!("its `{name}` is `{}`", shortened(&masked))
            }
        })
    }

    /// Returns an SQL condition with its parameters, which are numbered from `first`. The last value is true if
    /// the condition is incomplete: then [`matches`](Self::matches) must also check each selected row.
    pub fn to_sql(&self, first: usize) -> (String, Vec<SqlValue>, bool) {
        sql::condition(&self.terms, first)
    }

    /// Returns a description of the language for help texts.
    pub fn help() -> String {
        parse::help()
    }
}

impl Term {
    fn is_met_by(&self, delivery: &Delivery) -> bool {
        let found = self.found(delivery);
        if found == Found::NotPlain {
            return false;
        }
        match &self.value {
            Operand::Statuses(statuses) => {
                let status = delivery.summary.response.and_then(|response| response.status);
                statuses.contains(status) == (self.op == Op::Equal)
            }
            Operand::AnyInvalid => {
                delivery.summary.verdict.code.is_refusal() == (self.op == Op::Equal)
            }
            Operand::Time(time) => match found {
                Found::Time(found) => self.op.accepts(found.cmp(time)),
                _ => self.op == Op::NotEqual,
            },
            Operand::Number(number) => match found {
                Found::Number(found) => {
                    found.partial_cmp(number).is_some_and(|order| self.op.accepts(order))
                }
                _ => self.op == Op::NotEqual,
            },
            Operand::Prefix(prefix) => match found {
                Found::Text(text) => text.starts_with(prefix) == (self.op == Op::Equal),
                _ => self.op == Op::NotEqual,
            },
            Operand::Text(value) => match found {
                Found::Missing | Found::NotPlain => self.op == Op::NotEqual,
                Found::Text(text) => self.op.compares(&text, value),
                Found::Number(number) => self.op.compares(&number.to_string(), value),
                Found::Time(time) => self.op.compares(&time.to_string(), value),
            },
        }
    }

    fn found(&self, delivery: &Delivery) -> Found {
        let summary = &delivery.summary;
        match &self.field {
            Field::Pointer(pointer) => in_body(&delivery.body, pointer),
            Field::Member(row) => match row.name {
                "at" => Found::Time(summary.received_at),
                "path" => plain_path(&summary.request_target)
                    .map_or(Found::NotPlain, |path| Found::Text(path.to_owned())),
                "body" => Found::Text(String::from_utf8_lossy(&delivery.body).into_owned()),
                "any" => Found::Text(searchable(summary, &delivery.body)),
                name => {
                    // The record is not masked, because users compare with unmasked values.
                    let record = serde_json::to_value(DeliveryRecord::of_summary(summary, true));
                    found(record.ok().as_ref().and_then(|record| record.get(name)))
                }
            },
        }
    }
}

impl Op {
    fn accepts(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Contains => false,
        }
    }

    fn compares(self, found: &str, value: &str) -> bool {
        if self == Self::Contains { found.contains(value) } else { self.accepts(found.cmp(value)) }
    }
}

/// Longest text in a message, in characters.
const MAX_SHOWN: usize = 200;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn found(value: Option<&Value>) -> Found {
    match value {
        None | Some(Value::Null) => Found::Missing,
        Some(Value::Number(number)) => number.as_f64().map_or(Found::Missing, Found::Number),
        Some(Value::String(text)) => Found::Text(text.clone()),
        Some(other) => Found::Text(other.to_string()),
    }
}

fn in_body(body: &Bytes, pointer: &str) -> Found {
    let value = record::is_json(body).then(|| pointer::find(body, pointer)).flatten();
    match value.and_then(|value| serde_json::from_str(value.get()).ok()) {
        Some(Value::Null) => Found::Text("null".to_owned()),
        value => found(value.as_ref()),
    }
}

/// Returns the path without the query. Returns `None` for a path with dot segments or backslashes, even if they are
/// percent-encoded, because a target may resolve such a path to another path.
fn plain_path(request_target: &str) -> Option<&str> {
    let path = request_target.split('?').next()?;
    let decoded = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    let is_plain =
        !decoded.contains('\\') && !decoded.contains("%5c") && !decoded.split('/').any(is_dots);
    is_plain.then_some(path)
}

/// Returns the text that the field `any` searches, in lower case.
fn searchable(summary: &DeliverySummary, body: &Bytes) -> String {
    let names = &summary.names;
    let ids = [&names.event, &names.submission_id, &names.form_id];
    let mut parts: Vec<&str> = ids.into_iter().flatten().map(String::as_str).collect();
    let body = String::from_utf8_lossy(body);
    parts.extend([&*summary.request_target, &body]);
    parts.join(" ").to_ascii_lowercase()
}

/// Returns the names of all verdicts with which a receiver rejects a delivery.
fn invalid_verdicts() -> impl Iterator<Item = &'static str> {
    VERDICTS.iter().filter(|row| VerdictCode::is_refusal(row.code)).map(|row| row.name)
}

#[cfg(test)]
mod tests;
