//! One page: its whole text, and where the rows stand in it.

use std::fmt;

use bytes::Bytes;
use faststr::FastStr;
use formsvc_protocol::{AnswerPlace, Cursor, PagePlaces, PageRef, Pagination, Submission};

use super::bounds::Bounds;
use super::row::{BrokenRule, Row, Span};
use super::walk::PageOutcome;
use crate::ResponseMeta;
use crate::decode::{Broken, read, rule_broken, text};

/// Longest cursor that is taken, in bytes; the service's have some 30.
const CURSOR_MAX: usize = 1024;

/// A page as it came, before the walk has looked at it.
pub(crate) struct RawPage {
    text: FastStr,
    rows: Vec<Span>,
    answers: Vec<AnswerPlace>,
    pagination: Pagination,
}

/// One page of submissions, newest first. Holds the body as it came and reads rows from it; rows
/// that an earlier page had, or that the list's bounds exclude, are left out.
///
/// Its Debug names the submissions and shows none of their answers.
#[derive(Clone)]
pub struct SubmissionPage {
    text: FastStr,
    rows: Vec<Span>,
    /// How many of them, from the first, are left out as too new.
    skipped: usize,
    answers: Vec<AnswerPlace>,
    pagination: Pagination,
    meta: ResponseMeta,
    /// The row that broke the order; it and those after it are left out.
    cut_at: Option<usize>,
}

impl RawPage {
    /// Reads a body without copying it.
    ///
    /// Refuses more rows than were asked for, and a cursor that a resume token would have to carry
    /// about and no address could hold.
    pub(super) fn read(body: &Bytes, asked: u32) -> Result<Self, Broken> {
        let text = text(body)?;
        let Some(places) = PagePlaces::of(&text) else { return Self::parse(text, asked) };
        let PagePlaces { rows: found, answers, pagination } = places;
        check(&text, found.len(), asked, &pagination)?;
        let mut rows = Vec::with_capacity(found.len());
        for row in found {
            let span = Span::found(&text, row, rows.len());
            rows.push(span.map_err(|rule| broken(&text, rows.len(), rule))?);
        }
        Ok(Self { text, rows, answers, pagination })
    }

    /// Reads the text of a page that is spelled in an unusual way, or says why it is none.
    fn parse(text: FastStr, asked: u32) -> Result<Self, Broken> {
        let page: PageRef<'_> = read(&text)?;
        check(&text, page.data.len(), asked, &page.pagination)?;
        let (mut rows, mut answers) = (Vec::with_capacity(page.data.len()), Vec::new());
        let PageRef { data, pagination } = page;
        for row in data {
            let span = Span::parsed(&text, row, &mut answers, rows.len());
            rows.push(span.map_err(|rule| broken(&text, rows.len(), rule))?);
        }
        Ok(Self { text, rows, answers, pagination })
    }

    pub(crate) fn pagination(&self) -> &Pagination {
        &self.pagination
    }

    /// Id and time of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, i64)> + Clone {
        let text = &*self.text;
        self.rows.iter().map(move |span| (span.id(text), span.micros()))
    }

    /// The page with the rows that the walk lets through.
    pub(super) fn keep(mut self, outcome: &PageOutcome, meta: ResponseMeta) -> SubmissionPage {
        let cut_at = (outcome.rows_in_order < self.rows.len()).then_some(outcome.rows_in_order);
        self.rows.truncate(outcome.rows_in_order);
        if !outcome.duplicates.is_empty() {
            let mut duplicates = outcome.duplicates.iter().copied().peekable();
            let mut at = 0;
            self.rows.retain(|_| {
                let drop = duplicates.next_if_eq(&at).is_some();
                at += 1;
                !drop
            });
        }
        let Self { text, rows, answers, pagination } = self;
        SubmissionPage { text, rows, skipped: 0, answers, pagination, meta, cut_at }
    }
}

/// Checks what a page claims against what was asked for.
fn check(text: &str, rows: usize, asked: u32, pagination: &Pagination) -> Result<(), Broken> {
    if usize::try_from(asked).is_ok_and(|asked| rows > asked) {
        let why = format!("`{rows}` submissions, though at most `{asked}` were asked for");
        return Err(rule_broken(text, "data".to_owned(), why));
    }
    let cursor = pagination.next_cursor.as_ref().map_or(0, |cursor| cursor.as_str().len());
    if cursor > CURSOR_MAX {
        let why = format!("a cursor of `{cursor}` bytes is longer than `{CURSOR_MAX}`");
        return Err(rule_broken(text, "pagination.next_cursor".to_owned(), why));
    }
    Ok(())
}

fn broken(text: &str, row: usize, rule: BrokenRule) -> Broken {
    rule_broken(text, format!("data[{row}].{}", rule.member), rule.why)
}

impl SubmissionPage {
    /// The rows, newest first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> + DoubleEndedIterator {
        let (text, answers) = (&*self.text, &*self.answers);
        self.rows[self.skipped..].iter().map(move |span| Row::new(text, answers, span))
    }

    /// One row by its place, from 0.
    pub fn row(&self, at: usize) -> Option<Row<'_>> {
        self.rows[self.skipped..].get(at).map(|span| Row::new(&self.text, &self.answers, span))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len() - self.skipped
    }

    /// Whether there is no row. That is not the end of the list:
    /// [`has_more`](Self::has_more) alone decides.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows as owned values.
    pub fn submissions(&self) -> Vec<Submission> {
        self.rows().map(Row::to_submission).collect()
    }

    /// The whole body, exactly as it came, with any rows that were left out.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same as bytes, which share the page's memory instead of copying it.
    pub fn bytes(&self) -> Bytes {
        self.text.clone().into_bytes()
    }

    /// Where the list goes on (SPEC §4), as the service says.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.pagination.next_cursor.as_ref()
    }

    /// Whether the service says there is more.
    pub fn has_more(&self) -> bool {
        self.pagination.has_more
    }

    /// Leaves out what the bounds exclude; true when the list ends with this page.
    pub(super) fn cut(&mut self, bounds: &Bounds) -> bool {
        let cut = bounds.cut(self.rows());
        self.rows.truncate(cut.kept);
        self.skipped = cut.skipped;
        cut.ended
    }

    /// The rows that are done once `handed_on` of those shown are: these, and before them those
    /// left out as too new.
    pub(super) fn passed(
        &self,
        handed_on: usize,
    ) -> impl DoubleEndedIterator<Item = Row<'_>> + Clone {
        let passed = &self.rows[..self.skipped + handed_on];
        passed.iter().map(|span| Row::new(&self.text, &self.answers, span))
    }

    pub(super) fn cut_at(&self) -> Option<String> {
        self.cut_at.map(|at| format!("data[{at}].created_at"))
    }

    /// What came with the page.
    pub fn meta(&self) -> &ResponseMeta {
        &self.meta
    }
}

impl fmt::Debug for SubmissionPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmissionPage")
            .field("ids", &self.rows().map(Row::id).collect::<Vec<_>>())
            .field("bytes", &self.text.len())
            .field("has_more", &self.has_more())
            .field("next_cursor", &self.next_cursor().map(Cursor::as_str))
            .field("request_id", &self.meta.request_id())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RawPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawPage").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}
