//! Converts deliveries to rows, and rows to deliveries.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row, params};

use super::StoreError;
use crate::delivery::{
    AnsweredBy, Attempt, CaptureNumber, Delivery, DeliverySummary, EventNames, Forward,
    ForwardError, ForwardErrorKind, Response, Source, TargetResponse,
};
use crate::verdict::{Verdict, VerdictCode};

/// Bytes that a row may occupy in addition to its contents: the unused rest of its last page.
const ROW_OVERHEAD: u64 = 4_096;

/// The columns that [`summary`] reads.
pub(super) const SUMMARY: &str = "c.number, c.received_at, c.peer, c.method, c.request_target, \
    c.verdict, c.secret, c.age_secs, c.event, c.submission_id, c.form_id, c.attempt, c.gap_us, \
    c.is_duplicate, length(c.body) AS body_size, o.status, o.answered_by, o.took_us";
/// The tables of [`SUMMARY`].
pub(super) const TABLES: &str = "captures c LEFT JOIN outcomes o ON o.number = c.number";

pub(super) const ERROR_KINDS: [(ForwardErrorKind, &str); 4] = [
    (ForwardErrorKind::Unreachable, "unreachable"),
    (ForwardErrorKind::Overloaded, "overloaded"),
    (ForwardErrorKind::Timeout, "timeout"),
    (ForwardErrorKind::NotHttp, "not_http"),
];

/// Estimates the bytes that a delivery occupies.
pub(super) fn size(delivery: &Delivery) -> u64 {
    let DeliverySummary { request_target, names, .. } = &delivery.summary;
    let names = [&names.event, &names.submission_id, &names.form_id];
    let names = names.into_iter().flatten().map(String::len);
    let lengths =
        names.chain([headers_len(&delivery.headers), request_target.len(), delivery.body.len()]);
    lengths.sum::<usize>() as u64 + ROW_OVERHEAD
}

/// Estimates the bytes that the forwards of a delivery occupy.
fn forwards_size(forwards: &[Forward]) -> u64 {
    let size = |forward: &Forward| {
        let content = match &forward.result {
            Ok(response) => headers_len(&response.headers) + response.body.len(),
            Err(error) => error.message.len(),
        };
        (forward.url.len() + content) as u64 + ROW_OVERHEAD
    };
    forwards.iter().map(size).sum()
}

fn headers_len(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// Inserts a delivery without its response, and returns its number.
pub(super) fn insert(db: &Connection, delivery: &Delivery) -> rusqlite::Result<CaptureNumber> {
    let summary = &delivery.summary;
    let mut insert = db.prepare_cached(
        "INSERT INTO captures (received_at, peer, method, request_target, verdict, is_trusted, secret,
            age_secs, event, submission_id, form_id, attempt, gap_us, is_duplicate, size, headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?;
    insert.insert(params![
        nanos_since_1970(summary.received_at),
        summary.source.peer().map(|peer| peer.to_string()),
        summary.method.as_str(),
        summary.request_target,
        summary.verdict.code.row().name,
        summary.verdict.code.is_trusted(),
        summary.verdict.secret,
        summary.verdict.age_secs,
        summary.names.event,
        summary.names.submission_id,
        summary.names.form_id,
        summary.attempt.number,
        summary.attempt.gap.map(micros),
        summary.attempt.is_duplicate,
        i64::try_from(size(delivery)).unwrap_or(i64::MAX),
        encode_headers(&delivery.headers),
        &delivery.body[..],
    ])
}

/// Stores the response and the forwards of a capture. Does nothing if the capture was removed or already has a
/// response.
pub(super) fn set_outcome(
    db: &Connection,
    number: CaptureNumber,
    delivery: &Delivery,
) -> rusqlite::Result<()> {
    let Some(response) = &delivery.summary.response else { return Ok(()) };
    let mut insert = db.prepare_cached(
        "INSERT OR IGNORE INTO outcomes (number, status, answered_by, took_us, relayed_forward,
            untrusted_bytes)
         SELECT number, ?2, ?3, ?4, ?5, iif(is_trusted, 0, ?6) FROM captures WHERE number = ?1",
    )?;
    let inserted = insert.execute(params![
        number,
        response.status,
        response.answered_by.name(),
        micros(response.took),
        delivery.relayed_forward.and_then(|position| i64::try_from(position).ok()),
        i64::try_from(forwards_size(&delivery.forwards)).unwrap_or(i64::MAX),
    ])?;
    if inserted == 0 {
        return Ok(());
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO forwards (number, position, url, took_us, error_kind, error, status, is_truncated,
            headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for (position, forward) in (0_i64..).zip(&delivery.forwards) {
        let (response, error) = (forward.result.as_ref().ok(), forward.result.as_ref().err());
        let kind = error.and_then(|error| ERROR_KINDS.iter().find(|(kind, _)| *kind == error.kind));
        insert.execute(params![
            number,
            position,
            forward.url,
            micros(forward.took),
            kind.map(|(_, name)| name),
            error.map(|error| &error.message),
            response.map(|response| response.status),
            response.map(|response| response.is_truncated),
            response.map(|response| encode_headers(&response.headers)),
            response.map(|response| &response.body[..]),
        ])?;
    }
    Ok(())
}

/// Reads a delivery.
pub(super) fn delivery(
    db: &Connection,
    number: CaptureNumber,
) -> Result<Option<Delivery>, StoreError> {
    let sql = format!(
        "SELECT {SUMMARY}, o.relayed_forward, c.headers, c.body FROM {TABLES} WHERE c.number = ?1"
    );
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query([number])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let columns = Columns { row, number };
    Ok(Some(Delivery {
        summary: summary(row)?,
        headers: columns.parse("headers", |bytes: Vec<u8>| decode_headers(&bytes))?,
        body: Bytes::from(columns.get::<Vec<u8>>("body")?),
        forwards: forwards(db, number)?,
        relayed_forward: columns
            .parse_optional("relayed_forward", |position: i64| usize::try_from(position).ok())?,
    }))
}

/// Reads the columns of [`SUMMARY`].
pub(super) fn summary(row: &Row<'_>) -> Result<DeliverySummary, StoreError> {
    let number = row.get("number")?;
    let columns = Columns { row, number };
    let peer = columns.parse_optional("peer", |text: String| text.parse::<SocketAddr>().ok())?;
    let answered_by =
        columns.parse_optional("answered_by", |name: String| AnsweredBy::from_name(&name))?;
    let response = match answered_by {
        None => None,
        Some(answered_by) => Some(Response {
            status: columns.get("status")?,
            answered_by,
            took: columns.parse("took_us", duration)?,
        }),
    };
    Ok(DeliverySummary {
        number: Some(number),
        received_at: columns
            .parse("received_at", |nanos: i64| Timestamp::from_nanosecond(nanos.into()).ok())?,
        source: peer.map_or(Source::Poll, Source::Request),
        method: columns.parse("method", |name: String| Method::from_bytes(name.as_bytes()).ok())?,
        request_target: columns.get("request_target")?,
        body_size: columns.parse("body_size", |size: i64| u64::try_from(size).ok())?,
        verdict: Verdict {
            code: columns.parse("verdict", |name: String| VerdictCode::from_name(&name))?,
            secret: columns.get::<Option<Arc<str>>>("secret")?,
            age_secs: columns.get("age_secs")?,
        },
        names: EventNames {
            event: columns.get("event")?,
            submission_id: columns.get("submission_id")?,
            form_id: columns.get("form_id")?,
        },
        attempt: Attempt {
            number: columns.get("attempt")?,
            gap: columns.parse_optional("gap_us", duration)?,
            is_duplicate: columns.get("is_duplicate")?,
        },
        response,
    })
}

fn forwards(db: &Connection, number: CaptureNumber) -> Result<Vec<Forward>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT url, took_us, error_kind, error, status, is_truncated, headers, body FROM forwards
         WHERE number = ?1 ORDER BY position",
    )?;
    let (mut rows, mut forwards) = (select.query([number])?, Vec::new());
    while let Some(row) = rows.next()? {
        let columns = Columns { row, number };
        let kind = columns.parse_optional("error_kind", |name: String| {
            ERROR_KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
        })?;
        let result = match kind {
            Some(kind) => Err(ForwardError { kind, message: columns.get("error")? }),
            None => Ok(TargetResponse {
                status: columns.get("status")?,
                headers: columns.parse("headers", |bytes: Vec<u8>| decode_headers(&bytes))?,
                body: columns.get::<Vec<u8>>("body")?.into(),
                is_truncated: columns.get("is_truncated")?,
            }),
        };
        let (url, took) = (columns.get("url")?, columns.parse("took_us", duration)?);
        forwards.push(Forward { url, result, took });
    }
    Ok(forwards)
}

/// The columns of a row. An error contains the number of the capture and the name of the column.
struct Columns<'r> {
    row: &'r Row<'r>,
    number: CaptureNumber,
}

impl Columns<'_> {
    fn get<T: FromSql>(&self, column: &'static str) -> Result<T, StoreError> {
        self.row.get(column).map_err(|_| StoreError::DamagedRow { number: self.number, column })
    }

    fn parse<S: FromSql, T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(S) -> Option<T>,
    ) -> Result<T, StoreError> {
        parse(self.get(column)?).ok_or(StoreError::DamagedRow { number: self.number, column })
    }

    fn parse_optional<S: FromSql, T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(S) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        self.parse(column, |value: Option<S>| match value {
            Some(value) => parse(value).map(Some),
            None => Some(None),
        })
    }
}

/// Encodes headers as lines, because a header value never contains a line feed.
fn encode_headers(headers: &HeaderMap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Decodes the result of [`encode_headers`]. Returns `None` for anything else.
fn decode_headers(bytes: &[u8]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n")?;
        let at = line.windows(2).position(|pair| pair == b": ")?;
        let name = HeaderName::from_bytes(&line[..at]).ok()?;
        headers.append(name, HeaderValue::from_bytes(&line[at + 2..]).ok()?);
    }
    Some(headers)
}

/// Returns the nanoseconds since 1970, which fit into 64 bits until the year 2262.
pub(super) fn nanos_since_1970(time: Timestamp) -> i64 {
    time.as_nanosecond().clamp(i64::MIN.into(), i64::MAX.into()).try_into().unwrap_or(i64::MAX)
}

fn micros(duration: Duration) -> i64 {
    duration.as_micros().try_into().unwrap_or(i64::MAX)
}

fn duration(micros: i64) -> Option<Duration> {
    u64::try_from(micros).ok().map(Duration::from_micros)
}
