//! Submissions, in pages.

use deadpool_postgres::GenericClient;
use formsvc_protocol::FormInstant;
use formsvc_protocol::limits::{PAGE_BYTES_MAX, PAGE_SIZE_MAX};

use super::rows::{column, instant_opt, query};
use crate::store::{PageRequest, StoreError, StoredPage};

/// Bits of a submission's key that number it within its form; the form's number is above them.
pub(super) const SEQ_BITS: u32 = 40;

/// A page of a user's form, and one row more. One row of nulls when the form is empty, none when there is
/// no such form. Items beyond the bytes of a page are null, and not read from where long ones lie.
const PAGE: &str = "SELECT p.instant_us, CASE WHEN p.bytes <= $5 OR p.place = 1 THEN p.item END
    FROM forms f JOIN users u USING (user_no) LEFT JOIN LATERAL (
        SELECT s.instant_us, s.item, row_number() OVER newest AS place,
            sum(octet_length(s.item) + 1) OVER newest - 1 AS bytes
        FROM (SELECT instant_us, item FROM submissions
              WHERE form_no = f.form_no AND instant_us < $3 ORDER BY instant_us DESC LIMIT $4) s
        WINDOW newest AS (ORDER BY s.instant_us DESC ROWS UNBOUNDED PRECEDING)
    ) p ON true
    WHERE f.id = $1 AND f.ready AND u.id = $2
    ORDER BY p.place";

pub(super) async fn page(
    db: &impl GenericClient,
    request: &PageRequest,
) -> Result<Option<StoredPage>, StoreError> {
    let before = request.before.map_or(i64::MAX, FormInstant::micros);
    let limit = request.limit.clamp(1, PAGE_SIZE_MAX);
    let (form, user) = (request.form.as_str(), request.user.as_str());
    let bytes_max = i64::try_from(PAGE_BYTES_MAX).unwrap_or(i64::MAX);
    let wanted = i64::from(limit) + 1;
    let rows = query(db, PAGE, &[&form, &user, &before, &wanted, &bytes_max]).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (mut items, mut len, mut last) = (Vec::new(), 0, None);
    for row in &rows {
        let Some(instant) = instant_opt(row, 0)? else { break };
        let item: Option<&str> = column(row, 1)?;
        let item = item.filter(|_| len < limit as usize);
        let Some(item) = item else {
            return Ok(Some(StoredPage { items: items.into(), len, last, has_more: true }));
        };
        if len > 0 {
            items.push(b',');
        }
        items.extend_from_slice(item.as_bytes());
        (len, last) = (len + 1, Some(instant));
    }
    Ok(Some(StoredPage { items: items.into(), len, last, has_more: false }))
}
