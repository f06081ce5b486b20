//! The forms of the mock and their pages. Pure.

use std::collections::BTreeMap;

use formsvc_protocol::{Cursor, Form, FormInstant, Page, Pagination, Submission};

use super::Fault;

/// A form and its submissions by time, which is unique.
#[derive(Debug)]
pub(super) struct StoredForm {
    pub(super) form: Form,
    rows: BTreeMap<i64, Submission>,
}

impl StoredForm {
    pub(super) fn new(form: Form) -> Self {
        Self { form, rows: BTreeMap::new() }
    }

    /// Adds a row. Of rows with the same time, the last one added is the newest.
    pub(super) fn add(&mut self, row: Submission) {
        let mut instant = row.created_at.unix_micros();
        while self.rows.contains_key(&instant) {
            instant += 1;
        }
        self.rows.insert(instant, row);
    }

    /// Returns a page of at most `limit` rows that are older than the cursor.
    pub(super) fn page(
        &self,
        limit: usize,
        cursor: Option<(&Cursor, FormInstant)>,
        fault: Option<&Fault>,
    ) -> Page<Submission> {
        let before = cursor.map_or(i64::MAX, |(_, instant)| instant.micros());
        let older = self.rows.range(..before).rev();
        let repeated = match fault {
            Some(Fault::RepeatedRow) if limit > 1 => self.rows.range(before..).next(),
            _ => None,
        };
        let limit = limit - usize::from(repeated.is_some());
        let mut page: Vec<_> = older.clone().take(limit).collect();
        let mut has_more = older.count() > page.len();
        let mut next = page.last().map(|(instant, _)| cursor_of(**instant));
        match fault {
            Some(Fault::EmptyPage) => {
                next = Some(match cursor {
                    Some((requested, _)) => with_other_spelling(requested),
                    None => cursor_of(self.rows.last_key_value().map_or(0, |(at, _)| at + 1)),
                });
                (page, has_more) = (Vec::new(), true);
            }
            Some(Fault::StuckCursor) => {
                next = cursor.map(|(requested, _)| requested.clone()).or(next);
                has_more = true;
            }
            _ => {}
        }
        page.splice(0..0, repeated);
        let data = page.into_iter().map(|(_, row)| row.clone()).collect();
        Page { data, pagination: Pagination { next_cursor: next, has_more } }
    }
}

fn cursor_of(instant: i64) -> Cursor {
    FormInstant::from_micros(instant).to_cursor()
}

/// Returns another text of the same time.
fn with_other_spelling(cursor: &Cursor) -> Cursor {
    let text = cursor.as_str();
    Cursor::new(match text.strip_suffix('Z') {
        Some(utc) => format!("{utc}+00:00"),
        None => text.replace("+00:00", "Z"),
    })
}
