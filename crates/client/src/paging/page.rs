//! One page of submissions.

use bytes::Bytes;
use formsvc_protocol::{Cursor, Page, Pagination, Submission, SubmissionId};

use super::bounds::Bounds;
use super::walk::PageOutcome;
use crate::ResponseMeta;
use crate::decode::{Broken, json, rule_broken};

/// Longest cursor accepted, in bytes. A longer one would not fit into a URL.
const MAX_CURSOR_LEN: usize = 1024;

/// A page as it was received, before the walk has judged it.
pub(crate) struct RawPage {
    page: Page<Submission>,
    body_len: usize,
}

/// One page of submissions, newest first, without the rows that an earlier page had and without
/// those that the list's bounds exclude.
///
/// The Debug output shows no answers.
#[derive(Clone, Debug)]
pub struct SubmissionPage {
    rows: Vec<Submission>,
    /// Rows before them that the bounds exclude as too new.
    too_new: PassedRows,
    pagination: Pagination,
    meta: ResponseMeta,
    body_len: usize,
}

/// The rows of a page, from the first, that are yielded or excluded as too new.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedRows {
    ids: Vec<SubmissionId>,
    /// The time of the last one, in microseconds since 1970.
    pub(super) last_time: Option<i64>,
}

impl PassedRows {
    pub(super) fn push(&mut self, row: &Submission) {
        self.ids.push(row.id.clone());
        self.last_time = Some(row.created_at.unix_micros());
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(SubmissionId::as_str)
    }
}

impl RawPage {
    /// Parses a body. Refuses a page with more rows than requested and a cursor over 1 KiB.
    pub(super) fn parse(body: &Bytes, requested: u32) -> Result<Self, Broken> {
        let page: Page<Submission> = json(body)?;
        let rows = page.data.len();
        if usize::try_from(requested).is_ok_and(|requested| rows > requested) {
            let why = format!("`{rows}` submissions, though at most `{requested}` were requested");
            return Err(rule_broken("data", why));
        }
        let cursor = page.pagination.next_cursor.as_ref().map_or(0, |cursor| cursor.as_str().len());
        if cursor > MAX_CURSOR_LEN {
            let why = format!("a cursor of `{cursor}` bytes is longer than `{MAX_CURSOR_LEN}`");
            return Err(rule_broken("pagination.next_cursor", why));
        }
        Ok(Self { page, body_len: body.len() })
    }

    pub(crate) fn pagination(&self) -> &Pagination {
        &self.page.pagination
    }

    /// Returns id and time of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, i64)> + Clone {
        self.page.data.iter().map(|row| (row.id.as_str(), row.created_at.unix_micros()))
    }

    /// Keeps the new rows.
    pub(super) fn keep(self, outcome: &PageOutcome, meta: ResponseMeta) -> SubmissionPage {
        let Page { data: mut rows, pagination } = self.page;
        let mut at = 0..;
        rows.retain(|_| at.next().is_some_and(|at| outcome.new_rows.binary_search(&at).is_ok()));
        let (too_new, body_len) = (PassedRows::default(), self.body_len);
        SubmissionPage { rows, too_new, pagination, meta, body_len }
    }
}

impl SubmissionPage {
    /// Returns the submissions, newest first.
    pub fn submissions(&self) -> &[Submission] {
        &self.rows
    }

    /// Returns the submissions, newest first, without a copy.
    pub fn into_submissions(self) -> Vec<Submission> {
        self.rows
    }

    /// Returns an iterator over the submissions, newest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Submission> {
        self.rows.iter()
    }

    /// Returns the number of submissions.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no submissions. An empty page can have successors:
    /// [`has_more`](Self::has_more) alone decides.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the service's cursor of the next page (SPEC §4).
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.pagination.next_cursor.as_ref()
    }

    /// Returns true if the service has more submissions.
    pub fn has_more(&self) -> bool {
        self.pagination.has_more
    }

    /// Returns status, headers and attempts of the response.
    pub fn meta(&self) -> &ResponseMeta {
        &self.meta
    }

    pub(super) fn body_len(&self) -> usize {
        self.body_len
    }

    /// Drops the rows that the bounds exclude. Returns true if the list ends with this page.
    pub(super) fn apply(&mut self, bounds: &Bounds) -> bool {
        let range = bounds.range(&self.rows);
        self.rows.truncate(range.end);
        for row in self.rows.drain(..range.start) {
            self.too_new.push(&row);
        }
        range.ends_list
    }

    /// Returns all rows of the page as passed.
    pub(super) fn all_passed(&self) -> PassedRows {
        let mut passed = self.too_new.clone();
        self.rows.iter().for_each(|row| passed.push(row));
        passed
    }

    /// Returns the rows to yield, and those already passed.
    pub(super) fn into_rows(self) -> (Vec<Submission>, PassedRows) {
        (self.rows, self.too_new)
    }
}

impl IntoIterator for SubmissionPage {
    type Item = Submission;
    type IntoIter = std::vec::IntoIter<Submission>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a> IntoIterator for &'a SubmissionPage {
    type Item = &'a Submission;
    type IntoIter = std::slice::Iter<'a, Submission>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
