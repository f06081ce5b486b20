//! Submissions, in pages.

use formsvc_protocol::FormInstant;
use formsvc_protocol::limits::{PAGE_BYTES_MAX, PAGE_SIZE_MAX};
use rusqlite::{Connection, Rows, params};

use super::columns::instant;
use crate::store::{PageRequest, StoreError, StoredPage};

/// The keys of a form's submissions.
pub(super) fn keys_of(form_no: i64) -> std::ops::RangeInclusive<i64> {
    form_no << SEQ_BITS..=((form_no + 1) << SEQ_BITS) - 1
}

/// Bits of a key that number the submissions of one form; the form's number is above them.
pub(super) const SEQ_BITS: u32 = 40;
/// Longest item that is small, in bytes; the statements and an index say it too.
const SMALL_MAX: usize = 4096;
/// Bytes of a usual item; a guess that saves growing the page step by step.
const ITEM_USUAL: usize = 400;

/// A page of a user's form: a seek in each of three small indexes, then neighbours in the table. The
/// first page takes the same way with a cursor after everything, so a deep page costs what it costs.
pub(super) const PAGE: &str = "SELECT s.instant_us, s.item FROM forms f CROSS JOIN submissions s
    WHERE f.id = ?1 AND f.ready AND f.user_no = (SELECT user_no FROM users WHERE id = ?2)
        AND s.key > f.form_no << 40
        AND s.key <= (SELECT key FROM submissions p
             WHERE p.form_no = f.form_no AND p.instant_us < ?3
             ORDER BY p.instant_us DESC LIMIT 1)
    ORDER BY s.key DESC";
/// The same down to the first item of more than 4 KiB: one seek more, in an index that is nearly
/// empty. To ask each row how long its item is took a tenth of a page.
pub(super) const PAGE_OF_SMALL: &str =
    "SELECT s.instant_us, s.item FROM forms f CROSS JOIN submissions s
    WHERE f.id = ?1 AND f.ready AND f.user_no = (SELECT user_no FROM users WHERE id = ?2)
        AND s.key > coalesce(
            (SELECT key FROM submissions l
             WHERE l.form_no = f.form_no AND l.instant_us < ?3 AND octet_length(l.item) > 4096
             ORDER BY l.instant_us DESC LIMIT 1), f.form_no << 40)
        AND s.key <= (SELECT key FROM submissions p
             WHERE p.form_no = f.form_no AND p.instant_us < ?3
             ORDER BY p.instant_us DESC LIMIT 1)
    ORDER BY s.key DESC";
/// Whether an item of more than 4 KiB ended such a page.
pub(super) const LARGE_BELOW: &str = "SELECT 1 FROM forms f CROSS JOIN submissions l
    WHERE f.id = ?1 AND l.form_no = f.form_no AND l.instant_us < ?2 AND octet_length(l.item) > 4096";
/// The place of a form's oldest submission.
pub(super) const OLDEST: &str = "SELECT s.instant_us FROM forms f CROSS JOIN submissions s
    WHERE f.id = ?1 AND s.form_no = f.form_no ORDER BY s.instant_us LIMIT 1";
/// Whether a user has a form.
pub(super) const OWNED: &str = "SELECT 1 FROM forms WHERE id = ?1 AND ready
    AND user_no = (SELECT user_no FROM users WHERE id = ?2)";

/// Which items a page may have.
#[derive(Clone, Copy)]
pub(super) enum Items {
    /// Up to 4 KiB, as nearly all are: a page of them is read in well under a millisecond.
    Small,
    Any,
}

/// What was found where a page was asked for.
pub(super) enum Found {
    /// `None` when there is no such form.
    Page(Option<StoredPage>),
    /// The small items ended before the page did: the next one is longer than was allowed.
    TooLong,
}

/// What is read until it ends is of one moment. Its statements are prepared once; those of
/// [`Transaction`](rusqlite::Transaction) are parsed each time, which is a fiftieth of a page.
pub(super) struct Moment<'a>(&'a Connection);

impl<'a> Moment<'a> {
    pub(super) fn begin(db: &'a Connection) -> rusqlite::Result<Self> {
        db.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self(db))
    }
}

impl Drop for Moment<'_> {
    fn drop(&mut self) {
        // Nothing was written, and this ends it whatever happened.
        let _ = self.0.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    }
}

/// A page, as of one moment: a form that is imported comes into sight with all it has, and what is
/// pruned goes.
pub(super) fn page(
    Moment(db): &Moment<'_>,
    request: &PageRequest,
    items: Items,
) -> Result<Found, StoreError> {
    let before = request.before.map_or(i64::MAX, FormInstant::micros);
    let (form, user) = (request.form.as_str(), request.user.as_str());
    let mut statement = db.prepare_cached(match items {
        Items::Small => PAGE_OF_SMALL,
        Items::Any => PAGE,
    })?;
    let mut page = collect(statement.query(params![form, user, before])?, request.limit, items)?;
    if page.len == 0 && !db.prepare_cached(OWNED)?.exists([form, user])? {
        return Ok(Found::Page(None));
    }
    // It came to an end, of its form or of its small items.
    if !page.has_more && matches!(items, Items::Small) {
        let ended = db.prepare_cached(LARGE_BELOW)?.exists(params![form, before])?;
        if ended {
            return Ok(Found::TooLong);
        }
    }
    if page.len > 0 && page.last.is_none() {
        let oldest = db.prepare_cached(OLDEST)?.query_row([form], |row| row.get(0))?;
        page.last = Some(instant(oldest));
    }
    Ok(Found::Page(Some(page)))
}

// A page of small items is full before it is too long.
const _: () = assert!(PAGE_SIZE_MAX as usize * (SMALL_MAX + 1) < PAGE_BYTES_MAX);

/// The rows of a page. Of small ones, the place of the last is looked at in a full page only, since one
/// value more of each row is a fiftieth of a page: where it is not, the last is the form's oldest.
fn collect(mut rows: Rows<'_>, limit: u32, items: Items) -> Result<StoredPage, StoreError> {
    let every = matches!(items, Items::Any);
    let limit = limit.clamp(1, PAGE_SIZE_MAX) as usize;
    let mut spliced = Vec::with_capacity(limit * ITEM_USUAL);
    let (mut len, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        if len == limit {
            // There is one more; its item is not read.
            return Ok(StoredPage { items: spliced.into(), len, last, has_more: true });
        }
        let item = row.get_ref(1)?.as_bytes().map_err(rusqlite::Error::from)?;
        if len > 0 {
            if spliced.len() + 1 + item.len() > PAGE_BYTES_MAX {
                return Ok(StoredPage { items: spliced.into(), len, last, has_more: true });
            }
            spliced.push(b',');
        }
        spliced.extend_from_slice(item);
        len += 1;
        if every || len == limit {
            last = Some(instant(row.get(0)?));
        }
    }
    Ok(StoredPage { items: spliced.into(), len, last, has_more: false })
}
