//! Captures as rows, and rows as captures: every byte of a request goes in and comes out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use rusqlite::{Connection, Row, Statement, params};

use super::StoreError;
use super::open::PAGE_SIZE;
use crate::webhook::capture::{
    AnsweredBy, Arrival, Capture, CaptureNumber, Forward, Forwarded, Outcome, Received, Source,
    Unanswered,
};
use crate::webhook::verdict::{Verdict, VerdictCode};

/// What a row may take up beside what is in it: the rest of a page.
const PAGE: usize = PAGE_SIZE as usize;

/// What goes wrong with a row: the database, or what is in it.
pub(super) enum RowError {
    Database(rusqlite::Error),
    Malformed(StoreError),
}

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// The columns of a request but for headers and body, as [`head`] reads them.
pub(super) const HEAD: &str = "c.number, c.at, c.source, c.method, c.request_target, c.verdict, c.secret, \
    c.age, c.event, c.submission_id, c.form_id, c.arrival, c.gap, c.duplicate, o.status, \
    o.answered_by, o.took, o.decided_by";
/// How many columns that is.
pub(super) const HEAD_COLUMNS: usize = 18;
/// Where they come from.
pub(super) const TABLES: &str = "captures c LEFT JOIN outcomes o ON o.number = c.number";

/// What is kept of a request beside its headers and body, and of what was made of it.
pub(super) struct Head {
    pub(super) number: CaptureNumber,
    pub(super) at: Timestamp,
    pub(super) source: Source,
    pub(super) method: Method,
    pub(super) request_target: String,
    pub(super) verdict: Verdict,
    pub(super) event: Option<String>,
    pub(super) submission_id: Option<String>,
    pub(super) form_id: Option<String>,
    pub(super) arrival: Arrival,
    /// Without its forwards.
    pub(super) outcome: Option<Outcome>,
}

/// Adds requests within a transaction, and gives their numbers.
pub(super) fn insert<'r>(
    db: &Connection,
    requests: impl IntoIterator<Item = &'r Received>,
) -> rusqlite::Result<Vec<CaptureNumber>> {
    let mut last = db.prepare_cached("SELECT number FROM counters")?;
    let mut last: i64 = last.query_row([], |row| row.get(0))?;
    let (mut numbers, mut unproven) = (Vec::new(), 0);
    let mut insert = db.prepare_cached(
        "INSERT INTO captures (number, at, source, method, request_target, verdict, secret, age, event,
            submission_id, form_id, arrival, gap, duplicate, proven, size, headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    for received in requests {
        last += 1;
        let size = insert_one(&mut insert, last, received)?;
        if !received.verdict.code.is_proven() {
            unproven += size;
        }
        numbers.push(last.unsigned_abs());
    }
    if !numbers.is_empty() {
        let sql = "UPDATE counters SET number = ?1, unproven = unproven + ?2";
        db.prepare_cached(sql)?.execute([last, unproven])?;
    }
    Ok(numbers)
}

/// Adds a request, and gives what it takes up.
fn insert_one(
    insert: &mut Statement<'_>,
    number: i64,
    received: &Received,
) -> rusqlite::Result<i64> {
    // An address for a request, which no name of a source is.
    let source = received.source.peer();
    let source = source.map_or_else(|| Source::Poll.name().to_owned(), |peer| peer.to_string());
    let headers = header_bytes(&received.headers);
    let length = headers.len() + received.body.len() + received.request_target.len();
    let size = i64::try_from(length + PAGE).unwrap_or(i64::MAX);
    insert.execute(params![
        number,
        instant(received.at),
        source,
        received.method.as_str(),
        received.request_target,
        received.verdict.code.row().name,
        received.verdict.secret,
        received.verdict.age,
        received.event,
        received.submission_id,
        received.form_id,
        received.arrival.number,
        received.arrival.gap.map(nanos),
        received.arrival.duplicate,
        received.verdict.code.is_proven(),
        size,
        headers,
        &received.body[..],
    ])?;
    Ok(size)
}

/// Adds what was made of requests. Nothing happens where one is gone, or has an outcome.
pub(super) fn settle<'o>(
    db: &Connection,
    outcomes: impl IntoIterator<Item = (CaptureNumber, &'o Outcome)>,
) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT OR IGNORE INTO outcomes (number, status, answered_by, took, decided_by)
         SELECT number, ?2, ?3, ?4, ?5 FROM captures WHERE number = ?1",
    )?;
    for (number, outcome) in outcomes {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let added = insert.execute(params![
            number,
            outcome.status,
            outcome.by.name(),
            nanos(outcome.took),
            outcome.decided_by.map(|place| i64::try_from(place).unwrap_or(i64::MAX)),
        ])?;
        if added > 0 && !outcome.forwards.is_empty() {
            insert_forwards(db, number, &outcome.forwards)?;
        }
    }
    Ok(())
}

fn insert_forwards(db: &Connection, number: i64, forwards: &[Forward]) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO forwards (number, place, url, took, error, timed_out, status, truncated,
            headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for (place, forward) in (0_i64..).zip(forwards) {
        let answer = forward.answer.as_ref();
        let answered = answer.ok();
        insert.execute(params![
            number,
            place,
            forward.url,
            nanos(forward.took),
            answer.err().map(|answer| &answer.why),
            answer.err().map(|answer| answer.timed_out),
            answered.map(|answer| answer.status),
            answered.map(|answer| answer.truncated),
            answered.map(|answer| header_bytes(&answer.headers)),
            answered.map(|answer| &answer.body[..]),
        ])?;
    }
    Ok(())
}

/// Reads the columns of [`HEAD`].
pub(super) fn head(row: &Row<'_>) -> Result<Head, RowError> {
    let number: i64 = row.get(0)?;
    let malformed = |what| RowError::Malformed(StoreError::Malformed { number, what });
    let source = match row.get_ref(2)?.as_str().unwrap_or_default() {
        poll if poll == Source::Poll.name() => Source::Poll,
        from => Source::Request(
            from.parse::<SocketAddr>().map_err(|_| malformed("its source is no address"))?,
        ),
    };
    let method = row.get_ref(3)?.as_bytes().unwrap_or_default();
    let verdict = row.get_ref(5)?.as_str().unwrap_or_default();
    let outcome = match row.get::<_, Option<String>>(15)? {
        None => None,
        Some(by) => Some(Outcome {
            status: row.get(14)?,
            by: AnsweredBy::of_name(&by).unwrap_or(AnsweredBy::Unknown),
            took: span(row.get(16)?),
            forwards: Vec::new(),
            decided_by: row.get::<_, Option<i64>>(17)?.and_then(|place| place.try_into().ok()),
        }),
    };
    Ok(Head {
        number: number.unsigned_abs(),
        at: Timestamp::from_nanosecond(row.get::<_, i64>(1)?.into())
            .map_err(|_| malformed("its time is none"))?,
        source,
        method: Method::from_bytes(method).map_err(|_| malformed("its method is none"))?,
        request_target: row.get(4)?,
        verdict: Verdict {
            code: VerdictCode::of_name(verdict).unwrap_or(VerdictCode::Unknown),
            secret: row.get::<_, Option<Arc<str>>>(6)?,
            age: row.get(7)?,
        },
        event: row.get(8)?,
        submission_id: row.get(9)?,
        form_id: row.get(10)?,
        arrival: Arrival {
            number: row.get(11)?,
            gap: row.get::<_, Option<i64>>(12)?.map(span),
            duplicate: row.get(13)?,
        },
        outcome,
    })
}

/// The whole of a capture.
pub(super) fn capture(db: &Connection, number: i64) -> Result<Option<Capture>, RowError> {
    let malformed = |what| RowError::Malformed(StoreError::Malformed { number, what });
    let sql = format!("SELECT {HEAD}, c.headers, c.body FROM {TABLES} WHERE c.number = ?1");
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query([number])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let head = head(row)?;
    let headers = row.get_ref(HEAD_COLUMNS)?.as_blob().unwrap_or_default();
    let headers = headers_of(headers).ok_or_else(|| malformed("its headers are none"))?;
    let body: Vec<u8> = row.get(HEAD_COLUMNS + 1)?;
    let outcome = match head.outcome {
        None => None,
        Some(outcome) => {
            let forwards = forwards(db, number)?;
            Some(Arc::new(Outcome { forwards, ..outcome }))
        }
    };
    Ok(Some(Capture {
        number: Some(head.number),
        received: Arc::new(Received {
            at: head.at,
            source: head.source,
            method: head.method,
            request_target: head.request_target,
            headers,
            body: body.into(),
            verdict: head.verdict,
            event: head.event,
            submission_id: head.submission_id,
            form_id: head.form_id,
            arrival: head.arrival,
        }),
        outcome,
    }))
}

fn forwards(db: &Connection, number: i64) -> Result<Vec<Forward>, RowError> {
    let malformed = || {
        let what = "the headers of an answer are none";
        RowError::Malformed(StoreError::Malformed { number, what })
    };
    let mut select = db.prepare_cached(
        "SELECT url, took, error, timed_out, status, truncated, headers, body FROM forwards
         WHERE number = ?1 ORDER BY place",
    )?;
    let (mut rows, mut forwards) = (select.query([number])?, Vec::new());
    while let Some(row) = rows.next()? {
        let answer = match row.get::<_, Option<String>>(2)? {
            Some(why) => Err(Unanswered { timed_out: row.get(3)?, garbled: false, why }),
            None => Ok(Forwarded {
                status: row.get(4)?,
                truncated: row.get(5)?,
                headers: headers_of(row.get_ref(6)?.as_blob().unwrap_or_default())
                    .ok_or_else(malformed)?,
                body: row.get::<_, Vec<u8>>(7).map(Bytes::from)?,
            }),
        };
        forwards.push(Forward { url: row.get(0)?, took: span(row.get(1)?), answer });
    }
    Ok(forwards)
}

/// Headers as bytes. A value has no line feed in it, so that one ends it.
fn header_bytes(headers: &HeaderMap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// The headers that [`header_bytes`] wrote; none if it did not.
fn headers_of(bytes: &[u8]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n")?;
        let at = line.windows(2).position(|two| two == b": ")?;
        let name = HeaderName::from_bytes(&line[..at]).ok()?;
        headers.append(name, HeaderValue::from_bytes(&line[at + 2..]).ok()?);
    }
    Some(headers)
}

/// Nanoseconds since 1970, which fit until the year 2262.
pub(super) fn instant(at: Timestamp) -> i64 {
    at.as_nanosecond().clamp(i64::MIN.into(), i64::MAX.into()).try_into().unwrap_or(i64::MAX)
}

fn nanos(span: Duration) -> i64 {
    span.as_nanos().try_into().unwrap_or(i64::MAX)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}
