//! Searching a form's submissions: from the newest back, a bounded stretch at a time, since no index
//! knows what is in answers. The page tells how far it came, and goes on from there.

use std::time::Duration;

use formsvc_protocol::{Form, FormInstant};
use tokio::time::Instant;

use super::answer::{Row, rows, text_of_value};
use super::request;
use crate::dashboard::refusal::Refusal;
use crate::dashboard::visit::{Visit, timely};

/// Submissions looked at for one page.
const SCANNED_MAX: usize = 5_000;
/// Time for it; the page of the store that is being looked at is finished.
const TIME_MAX: Duration = Duration::from_millis(200);
/// Submissions found after which no more are looked for.
const FOUND_MAX: usize = 50;

/// What was found, and how far was looked.
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    /// Submissions that were looked at.
    pub(super) scanned: usize,
    /// Where to go on; `None` when there is nothing older.
    pub(super) last: Option<FormInstant>,
    /// How far back was looked.
    pub(super) until: Option<FormInstant>,
}

/// The submissions with a value that has the text in it, in any case.
pub(super) async fn search(
    visit: &Visit,
    form: &Form,
    before: Option<FormInstant>,
    sought: &str,
) -> Result<Found, Refusal> {
    let (began, needle) = (Instant::now(), sought.to_lowercase());
    let mut found = Found { rows: Vec::new(), scanned: 0, last: None, until: None };
    let mut before = before;
    loop {
        let request = request(visit, form, before, 100)?;
        let page = timely(visit.dashboard.store.page(request)).await?.ok_or(Refusal::NotFound)?;
        found.scanned += page.len;
        found.rows.extend(rows(&page.items).into_iter().filter(|row| has(row, &needle)));
        found.until = page.last.or(found.until);
        if !page.has_more {
            return Ok(found);
        }
        before = page.last;
        let is_enough = found.rows.len() >= FOUND_MAX
            || found.scanned >= SCANNED_MAX
            || began.elapsed() >= TIME_MAX;
        if is_enough {
            return Ok(Found { last: page.last, ..found });
        }
    }
}

fn has(row: &Row, needle: &str) -> bool {
    let mut values = row.answers.fields().into_iter().map(|(_, value)| text_of_value(value));
    values.any(|text| text.to_lowercase().contains(needle))
}
