//! One page: its whole text, and where the rows stand in it.

use bytes::Bytes;
use formsvc_protocol::{Cursor, PageRef, Pagination, Submission};

use super::row::{Row, Span};
use super::walk::Turn;
use crate::ResponseMeta;
use crate::decode::{Broken, path_of, rule_broken, text, unreadable};

/// A page as it came, before the walk has looked at it.
#[derive(Debug)]
pub(super) struct RawPage {
    text: String,
    rows: Vec<Span>,
    pagination: Pagination,
}

/// One page of submissions, newest first. Holds the body as it came and reads rows from it; rows
/// that an earlier page had are left out.
#[derive(Clone, Debug)]
pub struct SubmissionPage {
    text: String,
    rows: Vec<Span>,
    pagination: Pagination,
    meta: ResponseMeta,
    /// The row that broke the order; it and those after it are left out.
    cut_at: Option<usize>,
}

impl RawPage {
    /// Reads a body, once, without copying it.
    pub(super) fn read(body: Bytes) -> Result<Self, Broken> {
        let text = text(body)?;
        let page: PageRef<'_> = match serde_json::from_str(&text) {
            Ok(page) => page,
            Err(error) => {
                let mut again = serde_json::Deserializer::from_str(&text);
                let path = path_of(serde_path_to_error::deserialize::<_, PageRef<'_>>(&mut again));
                return Err(unreadable(text, &error, path));
            }
        };
        let mut rows = Vec::with_capacity(page.data.len());
        let PageRef { data, pagination } = page;
        for row in data {
            match Span::new(&text, row) {
                Ok(span) => rows.push(span),
                Err(rule) => {
                    let path = format!("data[{}].{}", rows.len(), rule.member);
                    return Err(rule_broken(text, path, rule.why));
                }
            }
        }
        Ok(Self { text, rows, pagination })
    }

    pub(super) fn pagination(&self) -> &Pagination {
        &self.pagination
    }

    /// Id and time of each row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, i64)> {
        self.rows.iter().map(|span| (Row::new(&self.text, span).id(), span.micros()))
    }

    /// The page with the rows that the walk lets through.
    pub(super) fn keep(mut self, turn: &Turn, meta: ResponseMeta) -> SubmissionPage {
        let cut_at = (turn.rows < self.rows.len()).then_some(turn.rows);
        self.rows.truncate(turn.rows);
        if !turn.duplicates.is_empty() {
            let mut duplicates = turn.duplicates.iter().copied().peekable();
            let mut at = 0;
            self.rows.retain(|_| {
                let drop = duplicates.next_if_eq(&at).is_some();
                at += 1;
                !drop
            });
        }
        let Self { text, rows, pagination } = self;
        SubmissionPage { text, rows, pagination, meta, cut_at }
    }
}

impl SubmissionPage {
    /// The rows, newest first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> + DoubleEndedIterator {
        self.rows.iter().map(|span| Row::new(&self.text, span))
    }

    /// One row by its place, from 0.
    pub fn row(&self, at: usize) -> Option<Row<'_>> {
        self.rows.get(at).map(|span| Row::new(&self.text, span))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row. That is not the end of the list:
    /// [`has_more`](Self::has_more) alone decides.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as owned values.
    pub fn submissions(&self) -> Vec<Submission> {
        self.rows().map(Row::to_submission).collect()
    }

    /// The whole body, exactly as it came, with any rows that were left out.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the list goes on (SPEC §4), as the service says.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.pagination.next_cursor.as_ref()
    }

    /// Whether the service says there is more.
    pub fn has_more(&self) -> bool {
        self.pagination.has_more
    }

    pub(super) fn cut_at(&self) -> Option<String> {
        self.cut_at.map(|at| format!("data[{at}].created_at"))
    }

    /// What came with the page.
    pub fn meta(&self) -> &ResponseMeta {
        &self.meta
    }
}
