//! Which captures are asked for, and what a list has of each.

use jiff::Timestamp;
use rusqlite::{Connection, named_params};

use super::rows::{HEAD, HEAD_COLUMNS, Head, RowError, TABLES, head, instant};
use crate::webhook::capture::{AnsweredBy, Arrival, Capture, CaptureNumber, Outcome, Source};
use crate::webhook::statuses::Statuses;
use crate::webhook::verdict::{VERDICTS, Verdict};

/// Stands for every verdict with which a receiver refuses.
pub(crate) const INVALID: &str = "invalid";

/// Which captures: all that every part says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    /// What they were answered with.
    pub(crate) status: Option<Statuses>,
    /// What verification found: the name of a verdict, or [`INVALID`].
    pub(crate) verdict: Option<&'static str>,
    /// How the id of the form begins.
    pub(crate) form: Option<String>,
    pub(crate) event: Option<String>,
    /// How the id of the submission begins.
    pub(crate) submission: Option<String>,
    /// Those that came then or later.
    pub(crate) since: Option<Timestamp>,
    /// Those that came before.
    pub(crate) until: Option<Timestamp>,
    /// Those that have these bytes in their body.
    pub(crate) grep: Option<String>,
    /// Those that have this text, in whatever case ASCII letters are, in their body, target, event or ids.
    pub(crate) text: Option<String>,
    /// Those of a lower number.
    pub(crate) before: Option<CaptureNumber>,
    /// Those of a higher number.
    pub(crate) after: Option<CaptureNumber>,
    /// How many at most, the newest; all if none.
    pub(crate) limit: Option<usize>,
}

/// What a list has of a capture: all but headers and bodies.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) number: Option<CaptureNumber>,
    pub(crate) at: Timestamp,
    pub(crate) source: Source,
    pub(crate) method: http::Method,
    pub(crate) request_target: String,
    /// Bytes of the body.
    pub(crate) length: u64,
    pub(crate) verdict: Verdict,
    pub(crate) event: Option<String>,
    pub(crate) submission_id: Option<String>,
    pub(crate) form_id: Option<String>,
    pub(crate) arrival: Arrival,
    pub(crate) outcome: Option<ListedOutcome>,
}

/// What a list has of an outcome.
#[derive(Clone, Debug)]
pub(crate) struct ListedOutcome {
    pub(crate) status: Option<u16>,
    pub(crate) by: AnsweredBy,
    pub(crate) took: std::time::Duration,
}

impl From<&Outcome> for ListedOutcome {
    fn from(outcome: &Outcome) -> Self {
        Self { status: outcome.status, by: outcome.by, took: outcome.took }
    }
}

impl From<&Capture> for Listed {
    fn from(capture: &Capture) -> Self {
        let received = &capture.received;
        Self {
            number: capture.number,
            at: received.at,
            source: received.source,
            method: received.method.clone(),
            request_target: received.request_target.clone(),
            length: received.body.len() as u64,
            verdict: received.verdict.clone(),
            event: received.event.clone(),
            submission_id: received.submission_id.clone(),
            form_id: received.form_id.clone(),
            arrival: received.arrival,
            outcome: capture.outcome.as_deref().map(Into::into),
        }
    }
}

impl Listed {
    fn new(head: Head, length: u64) -> Self {
        Self {
            number: Some(head.number),
            at: head.at,
            source: head.source,
            method: head.method,
            request_target: head.request_target,
            length,
            verdict: head.verdict,
            event: head.event,
            submission_id: head.submission_id,
            form_id: head.form_id,
            arrival: head.arrival,
            outcome: head.outcome.as_ref().map(Into::into),
        }
    }
}

/// Captures that are searched at once, at most, and bytes of bodies after which no more are.
const PIECE: usize = 256;
const PIECE_BYTES: u64 = 256 << 10;

/// Those that are asked for among the newest few, newest first; and the number they reach down to, if there
/// may be older ones.
pub(super) fn piece(
    db: &Connection,
    query: Query,
) -> Result<(Vec<Listed>, Option<CaptureNumber>), RowError> {
    // The length of a body is known without reading it.
    let mut select = db.prepare_cached(
        "SELECT number, length(body) FROM captures WHERE number < ?1 ORDER BY number DESC",
    )?;
    let mut rows = select.query([number(query.before).unwrap_or(i64::MAX)])?;
    let (mut count, mut bytes, mut least) = (0, 0, None);
    while count < PIECE && bytes < PIECE_BYTES {
        // Where there is none, all that are left are searched.
        let Some(row) = rows.next()? else {
            least = None;
            break;
        };
        least = Some(row.get::<_, i64>(0)?.unsigned_abs());
        bytes += row.get::<_, i64>(1)?.unsigned_abs();
        count += 1;
    }
    drop(rows);
    let after = query.after.unwrap_or(0);
    let reached = least.filter(|least| *least > after.saturating_add(1));
    let after = after.max(least.map_or(0, |least| least - 1));
    let some = list(db, &Query { after: Some(after), ..query })?;
    Ok((some, reached))
}

fn number(number: Option<CaptureNumber>) -> Option<i64> {
    number.map(|number| i64::try_from(number).unwrap_or(i64::MAX))
}

/// Those that are asked for, newest first.
pub(super) fn list(db: &Connection, query: &Query) -> Result<Vec<Listed>, RowError> {
    let taken = VERDICTS.iter().filter(|row| !row.is_refusal());
    let taken: Vec<_> = taken.map(|row| format!("'{}'", row.name)).collect();
    let taken = taken.join(", ");
    let sql = format!(
        "SELECT {HEAD}, length(c.body) FROM {TABLES}
         WHERE (:before IS NULL OR c.number < :before) AND (:after IS NULL OR c.number > :after)
           AND (:since IS NULL OR c.at >= :since) AND (:until IS NULL OR c.at < :until)
           AND (:form IS NULL OR substr(c.form_id, 1, length(:form)) = :form)
           AND (:event IS NULL OR c.event = :event)
           AND (:submission IS NULL OR
                substr(c.submission_id, 1, length(:submission)) = :submission)
           AND (:verdict IS NULL OR c.verdict = :verdict OR
                :verdict = '{INVALID}' AND c.verdict NOT IN ({taken}))
           AND (:within IS NULL OR coalesce(o.status BETWEEN :least AND :most, 0) = :within)
           AND (:grep IS NULL OR instr(c.body, :grep) > 0)
           AND (:text IS NULL OR instr(lower(coalesce(c.event, '') || ' ' ||
                coalesce(c.submission_id, '') || ' ' || coalesce(c.form_id, '') || ' ' ||
                c.request_target || ' ' || CAST(c.body AS TEXT)), lower(:text)) > 0)
         ORDER BY c.number DESC LIMIT :limit"
    );
    let range = query.status.map(Statuses::range);
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query(named_params! {
        ":before": number(query.before),
        ":after": number(query.after),
        ":since": query.since.map(instant),
        ":until": query.until.map(instant),
        ":form": query.form,
        ":event": query.event,
        ":submission": query.submission,
        ":verdict": query.verdict,
        ":within": range.map(|range| range.2),
        ":least": range.map(|range| range.0),
        ":most": range.map(|range| range.1),
        ":grep": query.grep.as_deref().map(str::as_bytes),
        ":text": query.text,
        ":limit": query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
    })?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        let length: i64 = row.get(HEAD_COLUMNS)?;
        listed.push(Listed::new(head(row)?, length.unsigned_abs()));
    }
    Ok(listed)
}
