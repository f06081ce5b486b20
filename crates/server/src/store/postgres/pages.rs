//! Submissions, in pages.

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use formsvc_protocol::FormInstant;
use formsvc_protocol::limits::{PAGE_BYTES_MAX, PAGE_SIZE_MAX};

use super::rows::{column, instant_opt, query, query_opt};
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

/// The same page in one row, which costs this process and the database less: the items with commas between
/// them, how many there are, the instant of the last one, and whether there is one more. The items are null
/// when one of them is so long that the page may not hold them all.
///
/// The most that a page has is in the text: of a parameter the database knows nothing when it plans for all
/// values, so that it would plan anew for each. Items are put together in the order in which the innermost
/// query gives them; to have them sorted once more would cost as much as all the rest. To ask for one more
/// row by itself is half the work of telling, by a window over all of them, which is the last.
const PAGE_OF_SHORT: &str = "SELECT CASE WHEN p.short THEN p.items END, p.len, p.last,
        EXISTS (SELECT FROM submissions m WHERE m.form_no = f.form_no AND m.instant_us < p.last),
        coalesce(p.short, true)
    FROM forms f JOIN users u USING (user_no), LATERAL (
        SELECT string_agg(s.item, ',') FILTER (WHERE octet_length(s.item) <= $5) AS items,
            count(*) AS len, min(s.instant_us) AS last, bool_and(octet_length(s.item) <= $5) AS short
        FROM (SELECT m.instant_us, m.item
              FROM (SELECT instant_us, item FROM submissions
                    WHERE form_no = f.form_no AND instant_us < $3
                    ORDER BY instant_us DESC LIMIT 100) m
              LIMIT $4::bigint) s
    ) p
    WHERE f.id = $1 AND f.ready AND u.id = $2";
const _: () = assert!(PAGE_SIZE_MAX == 100, "what stands in the text");

/// A page holds a hundred such items, with what stands between them.
const SHORT: usize = PAGE_BYTES_MAX / (PAGE_SIZE_MAX as usize + 1);

pub(super) async fn page(
    db: &impl GenericClient,
    request: &PageRequest,
) -> Result<Option<StoredPage>, StoreError> {
    let before = request.before.map_or(i64::MAX, FormInstant::micros);
    let limit = i64::from(request.limit.clamp(1, PAGE_SIZE_MAX));
    let (form, user) = (request.form.as_str(), request.user.as_str());
    let short = i32::try_from(SHORT).unwrap_or(i32::MAX);
    let row = query_opt(db, PAGE_OF_SHORT, &[&form, &user, &before, &limit, &short]).await?;
    let Some(row) = row else { return Ok(None) };
    if !column::<bool>(&row, 4)? {
        return page_of_long(db, request, before, limit).await;
    }
    let items: Option<&str> = column(&row, 0)?;
    let len: i64 = column(&row, 1)?;
    Ok(Some(StoredPage {
        items: Bytes::copy_from_slice(items.unwrap_or_default().as_bytes()),
        len: usize::try_from(len).unwrap_or(0),
        last: instant_opt(&row, 2)?,
        has_more: column(&row, 3)?,
    }))
}

/// A page that has fewer items than were asked for when they are more than it may hold.
async fn page_of_long(
    db: &impl GenericClient,
    request: &PageRequest,
    before: i64,
    limit: i64,
) -> Result<Option<StoredPage>, StoreError> {
    let (form, user) = (request.form.as_str(), request.user.as_str());
    let bytes_max = i64::try_from(PAGE_BYTES_MAX).unwrap_or(i64::MAX);
    let rows = query(db, PAGE, &[&form, &user, &before, &(limit + 1), &bytes_max]).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (mut items, mut len, mut last) = (Vec::new(), 0, None);
    for row in &rows {
        let Some(instant) = instant_opt(row, 0)? else { break };
        let item: Option<&str> = column(row, 1)?;
        let item = item.filter(|_| i64::try_from(len).is_ok_and(|len| len < limit));
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

#[cfg(all(test, feature = "contract"))]
mod tests {
    use super::super::PostgresOptions;
    use super::super::connect::Connector;
    use super::super::schema;
    use super::*;
    use crate::store::SchemaPolicy;
    use crate::store::contract::cluster::Cluster;
    use formsvc_protocol::{FormId, UserId};

    #[tokio::test]
    async fn pages_are_planned_once_for_all() {
        let Some(cluster) = Cluster::or_skip() else { return };
        let options = PostgresOptions::of(cluster.fresh_schema());
        let pool = Connector::new(&options.address).unwrap().pool(1).unwrap();
        schema::migrate(&pool, SchemaPolicy::Create).await.unwrap();
        let db = pool.get().await.unwrap();
        db.batch_execute(
            "INSERT INTO users (id, email, email_key, name, created_us)
                VALUES ('usr_1', 'a@example.org', 'a@example.org', 'A', 0);
            INSERT INTO forms (id, user_no, public_id, title, status, ready, created_us, updated_us, last_seq)
                VALUES ('frm_1', 1, 'one', 'One', 'published', true, 0, 0, 300);
            INSERT INTO submissions (key, form_no, instant_us, id, item)
                SELECT 1::bigint << 40 | n, 1, n, 'sub_' || n, n::text FROM generate_series(1, 300) AS n;
            ANALYZE",
        )
        .await
        .unwrap();
        for nth in 0..20 {
            for limit in [1, 24, 25, 26, 99, 100] {
                let before = 301 - 13 * nth;
                let request = PageRequest {
                    user: UserId::new("usr_1").unwrap(),
                    form: FormId::new("frm_1").unwrap(),
                    before: Some(FormInstant::from_micros(before)),
                    limit,
                };
                let page = page(&db, &request).await.unwrap().unwrap();
                let last = (before - i64::from(limit)).max(1);
                let expected: Vec<_> = (last..before).rev().map(|n| n.to_string()).collect();
                assert_eq!(page.items, expected.join(","), "{limit} before {before}");
                assert_eq!(page.len, expected.len());
                assert_eq!(page.last, Some(FormInstant::from_micros(last)));
                assert_eq!(page.has_more, last > 1);
            }
        }
        // The first five times it plans for the values, to learn what that is worth.
        let sql = "SELECT custom_plans, generic_plans FROM pg_prepared_statements
            WHERE statement LIKE 'SELECT CASE%' ORDER BY generic_plans";
        let plans = db.query(sql, &[]).await.unwrap();
        let plans: Vec<(i64, i64)> = plans.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(plans, [(5, 115)]);
    }
}
