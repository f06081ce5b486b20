//! One page of submissions.

use bytes::Bytes;
use formsvc_protocol::{Cursor, Page, Pagination, Submission, SubmissionId, Timestamp};
use serde_json::value::RawValue;

use super::ResumeToken;
use super::bounds::{Bounds, RowPlace};
use super::walk::{PageOutcome, WalkRow};
use crate::ResponseMeta;
use crate::api_key::ApiKey;
use crate::decode::{Broken, item, json, rule_broken};
use crate::row_key::RowKey;
use crate::skipped_item::SkippedItem;

/// Longest cursor accepted, in bytes. A longer one would not fit into a URL.
const MAX_CURSOR_LEN: usize = 1024;

/// A page as it was received, before the walk has judged it.
pub(crate) struct RawPage {
    rows: Vec<RawRow>,
    pagination: Pagination,
    body_len: usize,
}

/// An item of a page.
struct RawRow {
    key: RowKey,
    /// Microseconds since 1970; `None` if `created_at` is not a time.
    time: Option<i64>,
    item: Result<Submission, SkippedItem>,
}

/// One page of submissions, newest first, without the rows that an earlier page had and without
/// those that the list's bounds exclude.
///
/// The Debug output shows no answers.
#[derive(Clone, Debug)]
pub struct SubmissionPage {
    rows: Vec<Submission>,
    skipped: Vec<SkippedItem>,
    /// Rows that are not yielded: those that the bounds exclude as too new, and the skipped ones.
    passed: Vec<WalkRow>,
    pagination: Pagination,
    body_len: usize,
    meta: ResponseMeta,
    /// `None` until the list has accepted the page.
    token: Option<ResumeToken>,
}

/// How a page ends, if the list ends with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageEnd {
    /// The bounds exclude the next row and all after it.
    Bounds,
    /// The next row violates the API.
    InvalidItem(SkippedItem),
}

impl RawRow {
    fn parse(index: usize, json: &str, key: &ApiKey) -> Self {
        match item::<Submission>(json, index, key) {
            Ok(row) => {
                let WalkRow { key, time } = WalkRow::of(&row);
                Self { key, time: Some(time), item: Ok(row) }
            }
            Err(skipped) => {
                let id = skipped.id().filter(|id| SubmissionId::new(id).is_ok());
                Self {
                    key: id.map_or_else(|| RowKey::of_item(json), RowKey::of_id),
                    time: skipped.created_at().map(Timestamp::unix_micros),
                    item: Err(skipped),
                }
            }
        }
    }
}

impl RawPage {
    /// Parses a body. Refuses a page with more rows than requested and a cursor over 1 KiB. An item that
    /// violates the API is no error here.
    pub(super) fn parse(body: &Bytes, requested: u32, key: &ApiKey) -> Result<Self, Broken> {
        let page: Page<&RawValue> = json(body)?;
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
        let items = page.data.iter().enumerate();
        let rows = items.map(|(index, json)| RawRow::parse(index, json.get(), key)).collect();
        Ok(Self { rows, pagination: page.pagination, body_len: body.len() })
    }

    pub(crate) fn pagination(&self) -> &Pagination {
        &self.pagination
    }

    pub(super) fn body_len(&self) -> usize {
        self.body_len
    }

    /// Returns key and time of each row: see [`walk_rows`].
    pub(crate) fn walk_rows(&self, oldest: Option<i64>) -> Vec<WalkRow> {
        walk_rows(self.rows.iter().map(|row| (row.key, row.time)), oldest)
    }

    /// Keeps the new rows within the bounds, up to a row that ends the list. `walk_rows` are the rows that
    /// the walk has judged. Rows that violate the API are skipped or end the list.
    pub(super) fn into_page(
        self,
        walk_rows: &[WalkRow],
        outcome: &PageOutcome,
        meta: ResponseMeta,
        bounds: &Bounds,
        skips_items: bool,
    ) -> (SubmissionPage, Option<PageEnd>) {
        let mut page = SubmissionPage {
            rows: Vec::new(),
            skipped: Vec::new(),
            passed: Vec::new(),
            pagination: self.pagination,
            body_len: self.body_len,
            meta,
            token: None,
        };
        let rows = self.rows.into_iter().zip(walk_rows).enumerate();
        let new_rows = rows.filter(|(at, _)| outcome.new_rows.binary_search(at).is_ok());
        for (_, (row, walk_row)) in new_rows {
            match (bounds.place(walk_row.time, row.item.as_ref().ok()), row.item) {
                (RowPlace::End, _) => return (page, Some(PageEnd::Bounds)),
                (RowPlace::TooNew, _) => page.passed.push(*walk_row),
                (RowPlace::Within, Ok(submission)) => page.rows.push(submission),
                (RowPlace::Within, Err(skipped)) if skips_items => {
                    page.passed.push(*walk_row);
                    page.skipped.push(skipped);
                }
                (RowPlace::Within, Err(skipped)) => {
                    return (page, Some(PageEnd::InvalidItem(skipped)));
                }
            }
        }
        (page, None)
    }
}

/// Returns key and time of each row. A row whose `created_at` is not a time takes the time of the row
/// before it, because the list is newest first; the first row of a page takes `oldest`, the oldest time
/// so far. If it is the last row of its page, the cursor is not its time, and the walk then uses the
/// service's cursor.
pub(super) fn walk_rows(
    rows: impl Iterator<Item = (RowKey, Option<i64>)> + Clone,
    oldest: Option<i64>,
) -> Vec<WalkRow> {
    let first = || rows.clone().find_map(|(_, time)| time);
    let mut before = oldest.or_else(first).unwrap_or(i64::MAX);
    let rows = rows.map(|(key, time)| {
        before = time.unwrap_or(before);
        WalkRow { key, time: before }
    });
    rows.collect()
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

    /// Returns the items of the page that violate the API. Empty unless
    /// [`allow_incomplete`](super::SubmissionQuery::allow_incomplete) is set.
    pub fn skipped(&self) -> &[SkippedItem] {
        &self.skipped
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

    /// Returns the position after this page: save it when the page is stored.
    pub fn resume_token(&self) -> &ResumeToken {
        self.token.as_ref().expect("a list yields only pages that it has accepted")
    }

    /// Returns the size of the body in bytes.
    pub(super) fn body_len(&self) -> usize {
        self.body_len
    }

    pub(super) fn set_token(&mut self, token: ResumeToken) {
        self.token = Some(token);
    }

    /// Keeps the submissions for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Submission) -> bool) {
        self.rows.retain(keep);
    }

    /// Returns all rows of the page as passed.
    pub(super) fn all_passed(&self) -> Vec<WalkRow> {
        self.passed.iter().copied().chain(self.rows.iter().map(WalkRow::of)).collect()
    }

    /// Returns the rows to yield, and those already passed.
    pub(super) fn into_rows(self) -> (Vec<Submission>, Vec<WalkRow>) {
        (self.rows, self.passed)
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
