//! Positions of answers in `cells`, and the columns of a view. Pure.
//!
//! Each label of a form gets the next free position when it first occurs, so that a position never
//! changes. At position 0 are the answers without a position of their own, as a JSON object.

use std::borrow::Cow;
use std::collections::HashMap;

use formsvc_client::Submission;
use formsvc_protocol::decode_string;
use formsvc_table::{Headings, OTHER_ANSWERS, TypeSet, for_each_field};

/// Columns of a view that are not answers.
pub(crate) const FIXED_COLUMNS: [&str; 3] = ["id", "created_at", OTHER_ANSWERS];

/// Bytes of a label with a position at most, because all labels are kept in memory.
const LABEL_BYTES_MAX: usize = 4_096;

/// Limits of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelLimits {
    /// Labels with a position.
    pub(crate) labels: usize,
    /// Bytes of a column's name.
    pub(crate) heading_bytes: usize,
}

/// A label with a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredLabel {
    pub(crate) label: String,
    /// How often the label occurs before in the same submission.
    pub(crate) occurrence: i64,
    /// The name of its column.
    pub(crate) heading: String,
    pub(crate) types: TypeSet,
    /// The time of the submission in which it was first seen.
    pub(crate) first_instant: i64,
    /// The database has another value, or none.
    pub(crate) is_changed: bool,
}

/// The labels of a form, in order of their positions.
#[derive(Debug)]
pub(crate) struct LabelSet {
    limits: LabelLimits,
    labels: Vec<StoredLabel>,
    /// Indices in `labels` by label. An occurrence gets a position after all occurrences before it.
    by_label: HashMap<String, Vec<usize>>,
    headings: Headings,
}

/// The cells of a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EncodedRow {
    /// A JSON array.
    pub(crate) cells: String,
    /// Whether a character was replaced that the database refuses.
    pub(crate) is_cleaned: bool,
}

/// The cells of a page.
#[derive(Debug, Default)]
pub(crate) struct EncodedPage {
    pub(crate) rows: Vec<EncodedRow>,
    /// Labels from this index on are new.
    pub(crate) first_new: usize,
}

/// An answer of a submission.
struct Field<'a> {
    label: Cow<'a, str>,
    /// How often the label occurs before in the same submission.
    occurrence: i64,
    /// The label as JSON.
    literal: &'a str,
    /// The answer as JSON.
    value: &'a str,
}

impl LabelSet {
    pub(crate) fn new(limits: LabelLimits, labels: Vec<StoredLabel>) -> Self {
        let headings = Headings::new(&FIXED_COLUMNS, true, limits.heading_bytes);
        let mut set = Self { limits, labels: Vec::new(), by_label: HashMap::new(), headings };
        for label in labels {
            set.headings.reserve(&label.heading);
            set.push(label);
        }
        set
    }

    /// Returns the labels with their positions.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (i64, &StoredLabel)> {
        (1..).zip(&self.labels)
    }

    /// Returns the labels that a page added.
    pub(crate) fn added(&self, page: &EncodedPage) -> impl Iterator<Item = (i64, &StoredLabel)> {
        self.positions().skip(page.first_new)
    }

    /// Returns the labels that were added, and those to which types were added.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (i64, &StoredLabel)> {
        self.positions().filter(|(_, label)| label.is_changed)
    }

    /// Encodes the answers of a page. New labels get positions in order of their appearance.
    pub(crate) fn encode(&mut self, rows: &[Submission]) -> EncodedPage {
        let parsed: Vec<_> = rows.iter().map(|row| fields(row.data.as_json())).collect();
        let first_new = self.labels.len();
        self.add_new_labels(rows, &parsed);
        let rows = parsed.iter().map(|fields| self.encode_row(fields)).collect();
        EncodedPage { rows, first_new }
    }

    /// Gives positions to new labels. Once half of the positions are taken, a label needs a second
    /// submission on the same page, so that a flood of generated labels leaves room for questions.
    fn add_new_labels(&mut self, rows: &[Submission], parsed: &[Vec<Field<'_>>]) {
        let mut counts: HashMap<(&str, i64), usize> = HashMap::new();
        for field in parsed.iter().flatten() {
            *counts.entry((&field.label, field.occurrence)).or_default() += 1;
        }
        for (row, fields) in rows.iter().zip(parsed) {
            for field in fields {
                let has_others = counts[&(&*field.label, field.occurrence)] > 1;
                let limit = if has_others { self.limits.labels } else { self.limits.labels / 2 };
                let has_room = self.labels.len() < limit && field.label.len() <= LABEL_BYTES_MAX;
                if has_room && self.locate(field).is_none() {
                    let heading = self.headings.add(&field.label);
                    self.push(StoredLabel {
                        label: field.label.clone().into_owned(),
                        occurrence: field.occurrence,
                        heading,
                        types: TypeSet::default(),
                        first_instant: row.created_at.unix_micros(),
                        is_changed: true,
                    });
                }
            }
        }
    }

    fn push(&mut self, label: StoredLabel) {
        self.by_label.entry(label.label.clone()).or_default().push(self.labels.len());
        self.labels.push(label);
    }

    /// Returns the index of a field's label.
    fn locate(&self, field: &Field<'_>) -> Option<usize> {
        let occurrence = usize::try_from(field.occurrence).ok()?;
        self.by_label.get(&*field.label)?.get(occurrence).copied()
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
    let mut counts: HashMap<Cow<'_, str>, i64> = HashMap::new();
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
