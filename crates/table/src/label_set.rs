//! Labels with fixed positions, for databases that keep the answers of a submission as a list of texts.
//!
//! Each label of a form gets the next free position when it first occurs, so that a position never
//! changes. At position 0 are the answers without a position of their own, as a JSON object.

use std::borrow::Cow;
use std::collections::HashMap;

use formsvc_protocol::decode_string;

use crate::labels::LABEL_BYTES_MAX;
use crate::{Headings, OTHER_ANSWERS, TypeSet, for_each_field};

/// Headings of a view that are not answers.
pub const FIXED_HEADINGS: [&str; 3] = ["id", "created_at", OTHER_ANSWERS];

/// Limits of a database.
#[derive(Clone, Copy, Debug)]
pub struct LabelLimits {
    /// Labels with a position.
    pub labels: usize,
    /// Bytes of a heading.
    pub heading_bytes: usize,
}

/// A label with a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLabel {
    /// The label. One that occurs twice in a submission has two positions.
    pub label: String,
    /// The unique heading of its column.
    pub heading: String,
    /// The types of its answers.
    pub types: TypeSet,
    /// True if the database has other types, or not the label.
    pub is_changed: bool,
}

/// The labels of a form, in order of their positions.
///
/// ```
/// use formsvc_table::{LabelLimits, LabelSet};
/// let mut labels = LabelSet::new(LabelLimits { labels: 1_000, heading_bytes: 63 });
/// let rows = labels.encode(&[r#"{"Name":"Ada"}"#, r#"{"Town":"Ulm","Name":"Bo"}"#]);
/// assert_eq!(rows[1].cells, r#"[null,"Bo","Ulm"]"#);
/// assert_eq!(labels.positions().map(|(at, label)| (at, &*label.heading)).last(), Some((2, "Town")));
/// ```
#[derive(Debug)]
pub struct LabelSet {
    limits: LabelLimits,
    labels: Vec<StoredLabel>,
    /// Number of labels that the database has.
    stored: usize,
    /// Indices in `labels` by label. An occurrence gets a position after all occurrences before it.
    by_label: HashMap<String, Vec<usize>>,
    headings: Headings,
}

/// The cells of a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedRow {
    /// A JSON array of texts and nulls.
    pub cells: String,
    /// True if a character was replaced that databases refuse.
    pub is_cleaned: bool,
}

/// An answer of a submission.
struct Field<'a> {
    label: Cow<'a, str>,
    /// How often the label occurs before in the same submission.
    occurrence: usize,
    /// The label as JSON.
    literal: &'a str,
    /// The answer as JSON.
    value: &'a str,
}

impl LabelSet {
    /// Creates a set without labels.
    pub fn new(limits: LabelLimits) -> Self {
        let headings = Headings::new(&FIXED_HEADINGS, true, limits.heading_bytes);
        Self { limits, labels: Vec::new(), stored: 0, by_label: HashMap::new(), headings }
    }

    /// Adds the label of the next position that the database has.
    pub fn add_stored(&mut self, label: String, heading: String, types: TypeSet) {
        self.headings.reserve(&heading);
        self.push(StoredLabel { label, heading, types, is_changed: false });
        self.stored = self.labels.len();
    }

    /// Returns the labels with their positions.
    pub fn positions(&self) -> impl Iterator<Item = (i64, &StoredLabel)> {
        (1..).zip(&self.labels)
    }

    /// Returns the labels that the database does not have.
    pub fn added(&self) -> &[StoredLabel] {
        &self.labels[self.stored..]
    }

    /// Returns the labels that were added, and those to which types were added.
    pub fn changed(&self) -> impl Iterator<Item = (i64, &StoredLabel)> {
        self.positions().filter(|(_, label)| label.is_changed)
    }

    /// Encodes the answers of a page, one JSON object per row. New labels get positions in order of their
    /// appearance.
    pub fn encode(&mut self, rows: &[&str]) -> Vec<EncodedRow> {
        let rows: Vec<_> = rows.iter().map(|data| fields(data)).collect();
        self.add_new_labels(&rows);
        rows.iter().map(|fields| self.encode_row(fields)).collect()
    }

    /// Gives positions to new labels. Once half of the positions are taken, a label needs a second
    /// submission on the same page, so that a flood of generated labels leaves room for questions.
    fn add_new_labels(&mut self, rows: &[Vec<Field<'_>>]) {
        let mut counts: HashMap<(&str, usize), usize> = HashMap::new();
        for field in rows.iter().flatten() {
            *counts.entry((&field.label, field.occurrence)).or_default() += 1;
        }
        for field in rows.iter().flatten() {
            let has_others = counts[&(&*field.label, field.occurrence)] > 1;
            let limit = if has_others { self.limits.labels } else { self.limits.labels / 2 };
            let has_room = self.labels.len() < limit && field.label.len() <= LABEL_BYTES_MAX;
            if has_room && self.locate(field).is_none() {
                let (label, heading) = (field.label.to_string(), self.headings.add(&field.label));
                let types = TypeSet::default();
                self.push(StoredLabel { label, heading, types, is_changed: true });
            }
        }
    }

    fn push(&mut self, label: StoredLabel) {
        self.by_label.entry(label.label.clone()).or_default().push(self.labels.len());
        self.labels.push(label);
    }

    /// Returns the index of a field's label.
    fn locate(&self, field: &Field<'_>) -> Option<usize> {
        self.by_label.get(&*field.label)?.get(field.occurrence).copied()
    }

    fn encode_row(&mut self, fields: &[Field<'_>]) -> EncodedRow {
        let mut texts: Vec<Option<Cow<'_, str>>> = vec![None];
        let (mut others, mut is_cleaned) = (String::new(), false);
        for field in fields {
            let Some(index) = self.locate(field) else {
                others.push(if others.is_empty() { '{' } else { ',' });
                others.extend([field.literal, ":", field.value]);
                continue;
            };
            let StoredLabel { types, is_changed, .. } = &mut self.labels[index];
            let before = *types;
            types.add(field.value);
            *is_changed |= *types != before;
            if let Some((text, has_replaced)) = answer_text(field.value) {
                texts.resize_with(texts.len().max(index + 2), || None);
                texts[index + 1] = Some(text);
                is_cleaned |= has_replaced;
            }
        }
        if !others.is_empty() {
            others.push('}');
            texts[0] = Some(others.into());
        }
        let cells = serde_json::to_string(&texts).expect("texts are valid JSON");
        EncodedRow { cells, is_cleaned }
    }
}

/// Returns the answers of a submission. Text that is not an object, which no service sends, has none.
fn fields(data: &str) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let parsed = for_each_field(data, |literal, value| {
        let (label, _) = clean_text(literal);
        let count = counts.entry(label.clone()).or_default();
        fields.push(Field { label, occurrence: *count, literal, value });
        *count += 1;
    });
    if parsed.is_ok() { fields } else { Vec::new() }
}

/// Returns the text of an answer, and whether a character was replaced; `None` for null.
fn answer_text(value: &str) -> Option<(Cow<'_, str>, bool)> {
    match value.as_bytes().first() {
        Some(b'"') => Some(clean_text(value)),
        Some(b'n') | None => None,
        Some(_) => Some((value.into(), false)),
    }
}

/// Decodes a JSON string. Replaces NUL and lone surrogates, which databases refuse.
fn clean_text(literal: &str) -> (Cow<'_, str>, bool) {
    let decoded = decode_string(literal);
    // A string with a lone surrogate stays a literal, with quotation marks.
    let has_surrogates = decoded.len() == literal.len();
    let text = if has_surrogates {
        decode_string(&without_lone_surrogates(literal)).into_owned().into()
    } else {
        decoded
    };
    if text.contains('\0') {
        return (text.replace('\0', "\u{fffd}").into(), true);
    }
    (text, has_surrogates)
}

/// Replaces the escapes of lone surrogates in a JSON string.
fn without_lone_surrogates(literal: &str) -> String {
    let mut clean = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        clean.push_str(before);
        let len = match (unicode_escape(escape), escape.get(6..).and_then(unicode_escape)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                clean.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        clean.push_str(&escape[..len]);
        rest = &escape[len..];
    }
    clean.push_str(rest);
    clean
}

/// Returns the code unit of an escape such as `\u00e9` at the beginning of a text.
fn unicode_escape(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
