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
