//! Submissions: accepting them, and reading them in pages.

use formsvc_protocol::limits::{PAGE_BYTES_MAX, PAGE_SIZE_MAX};
use formsvc_protocol::{Answers, FormId, FormInstant, FormStatus, SubmissionId};
use rusqlite::{Connection, OptionalExtension, Rows, params};

use super::columns::{StoredId, instant};
use super::forms::no_form;
use super::{queue, repeats};
use crate::store::{
    Accepted, EndpointNo, NewSubmission, PageRequest, StoreError, StoredPage, item,
};

/// The keys of a form's submissions.
pub(super) fn keys_of(form_no: i64) -> std::ops::RangeInclusive<i64> {
    form_no << SEQ_BITS..=((form_no + 1) << SEQ_BITS) - 1
}

/// Bits of a key that number the submissions of one form; the form's number is above them.
const SEQ_BITS: u32 = 40;
/// Bytes of a usual item; a guess that saves growing the page step by step.
const ITEM_USUAL: usize = 400;

/// A page of a user's form: a seek in each of three small indexes, then neighbours in the table. The
/// first page takes the same way with a cursor after everything, so a deep page costs what it costs.
/// An item longer than `?4` is null, and not read to find out.
pub(super) const PAGE: &str =
    "SELECT s.instant_us, CASE WHEN octet_length(s.item) <= ?4 THEN s.item END
    FROM forms f CROSS JOIN submissions s
    WHERE f.id = ?1 AND f.ready AND f.user_no = (SELECT user_no FROM users WHERE id = ?2)
        AND s.key BETWEEN f.form_no << 40 AND
            (SELECT key FROM submissions p WHERE p.form_no = f.form_no AND p.instant_us < ?3
             ORDER BY p.instant_us DESC LIMIT 1)
    ORDER BY s.key DESC";
/// Whether a user has a form.
pub(super) const OWNED: &str = "SELECT 1 FROM forms WHERE id = ?1 AND ready
    AND user_no = (SELECT user_no FROM users WHERE id = ?2)";

/// The end of a form, where the next submission goes.
pub(super) struct Tail {
    pub(super) form_no: i64,
    pub(super) seq: i64,
    pub(super) instant: Option<FormInstant>,
}

impl Tail {
    /// Appends a submission at an instant later than the last.
    pub(super) fn append(
        &mut self,
        db: &Connection,
        id: &SubmissionId,
        answers: &Answers,
        at: FormInstant,
    ) -> Result<(), StoreError> {
        item::check_size(answers)?;
        let item = item::compose(id, answers, at);
        let seq = self.seq + 1;
        let added = db
            .prepare_cached(
                "INSERT INTO submissions (key, form_no, instant_us, id, item)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                self.form_no << SEQ_BITS | seq,
                self.form_no,
                at.micros(),
                StoredId::new(id),
                item
            ])?;
        if added == 0 {
            return Err(StoreError::Exists { what: "submission id", value: id.as_str().into() });
        }
        (self.seq, self.instant) = (seq, Some(at));
        Ok(())
    }

    /// The key of the last submission.
    fn key(&self) -> i64 {
        self.form_no << SEQ_BITS | self.seq
    }

    /// Keeps the end in the form's row.
    pub(super) fn save(&self, db: &Connection) -> Result<(), StoreError> {
        db.prepare_cached(
            "UPDATE forms SET last_seq = ?2, last_instant_us = ?3 WHERE form_no = ?1",
        )?
        .execute(params![
            self.form_no,
            self.seq,
            self.instant.map(FormInstant::micros)
        ])?;
        Ok(())
    }
}

/// Accepts a submission; also says which endpoints get it.
pub(super) fn submit(
    db: &Connection,
    new: &NewSubmission,
    now: FormInstant,
) -> Result<(Accepted, Vec<EndpointNo>), StoreError> {
    let (mut tail, Head { status, title }) = published_tail(db, &new.form)?;
    if let Some(idempotency) = &new.idempotency {
        // Also when the form was closed meanwhile: a repeat is told what the first was told.
        if let Some(accepted) = repeats::find(db, tail.form_no, idempotency, now)? {
            return Ok((accepted, Vec::new()));
        }
    }
    if status != FormStatus::Published {
        return Err(StoreError::Closed { form: new.form.clone(), status });
    }
    let at = FormInstant::next(now, tail.instant);
    tail.append(db, &new.id, &new.answers, at)?;
    tail.save(db)?;
    if let Some(idempotency) = &new.idempotency {
        repeats::keep(db, tail.form_no, idempotency, tail.key(), now)?;
    }
    let endpoints = queue::deliver(db, tail.form_no, tail.key(), &title, at)?;
    Ok((Accepted { id: new.id.clone(), instant: at, repeated: false }, endpoints))
}

/// What a form says of itself to a submission.
struct Head {
    status: FormStatus,
    title: String,
}

fn published_tail(db: &Connection, form: &FormId) -> Result<(Tail, Head), StoreError> {
    db.prepare_cached(
        "SELECT form_no, last_seq, last_instant_us, status, title FROM forms
         WHERE id = ?1 AND ready",
    )?
    .query_row([form.as_str()], |row| {
        let last: Option<i64> = row.get(2)?;
        let tail = Tail { form_no: row.get(0)?, seq: row.get(1)?, instant: last.map(instant) };
        let status = FormStatus::from(row.get_ref(3)?.as_str()?);
        Ok((tail, Head { status, title: row.get(4)? }))
    })
    .optional()?
    .ok_or_else(|| no_form(form))
}

/// How long an item may be, in bytes, for its page to be read.
#[derive(Clone, Copy)]
pub(super) enum Items {
    /// As nearly all are: a page of them is read in well under a millisecond.
    Small,
    Any,
}

impl Items {
    fn max(self) -> i64 {
        match self {
            Self::Small => 4 * 1024,
            Self::Any => i64::MAX,
        }
    }
}

/// What was found where a page was asked for.
pub(super) enum Found {
    /// `None` when there is no such form.
    Page(Option<StoredPage>),
    /// An item is longer than was allowed.
    TooLong,
}

/// A page. Nothing found may mean that there is no such form, which a second statement tells. A form
/// never goes out of sight, but one that was imported comes into sight with all it has: so an empty
/// page counts only when it was read after its form was seen.
pub(super) fn page(
    db: &Connection,
    request: &PageRequest,
    items: Items,
) -> Result<Found, StoreError> {
    let before = request.before.map_or(i64::MAX, FormInstant::micros);
    let (form, user) = (request.form.as_str(), request.user.as_str());
    let read = || {
        let mut statement = db.prepare_cached(PAGE)?;
        collect(statement.query(params![form, user, before, items.max()])?, request.limit)
    };
    let mut page = read()?;
    if page.as_ref().is_some_and(|page| page.len == 0) {
        if !db.prepare_cached(OWNED)?.exists([form, user])? {
            return Ok(Found::Page(None));
        }
        page = read()?;
    }
    Ok(page.map_or(Found::TooLong, |page| Found::Page(Some(page))))
}

/// The rows of a page; `None` when an item is longer than was allowed.
fn collect(mut rows: Rows<'_>, limit: u32) -> Result<Option<StoredPage>, StoreError> {
    let limit = limit.clamp(1, PAGE_SIZE_MAX) as usize;
    let mut items = Vec::with_capacity(limit * ITEM_USUAL);
    let (mut len, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        if len == limit {
            // There is one more; its item is not read.
            return Ok(Some(StoredPage { items: items.into(), len, last, has_more: true }));
        }
        let item = row.get_ref(1)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
        let Some(item) = item else { return Ok(None) };
        if len > 0 {
            if items.len() + 1 + item.len() > PAGE_BYTES_MAX {
                return Ok(Some(StoredPage { items: items.into(), len, last, has_more: true }));
            }
            items.push(b',');
        }
        items.extend_from_slice(item);
        len += 1;
        last = Some(instant(row.get(0)?));
    }
    Ok(Some(StoredPage { items: items.into(), len, last, has_more: false }))
}
