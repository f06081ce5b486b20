//! Facts about a deployment that the specification leaves open.

use std::collections::BTreeSet;

use formsvc_protocol::{Timestamp, parse_retry_after};
use http::header::{CONNECTION, CONTENT_ENCODING, RETRY_AFTER};
use serde::{Deserialize, Serialize};

use super::judge::Page;
use super::probe::{Exchange, Probe};
use super::session::Session;
use crate::report::excerpt;

/// Facts about a deployment that matter to clients. `None`: no answer shows the fact, or its request was
/// not sent because only a part of the checks was wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// Digits after the point in `created_at` of submissions, at most.
    pub time_digits: Option<usize>,
    /// True if all times of submissions are whole seconds.
    pub times_are_whole_seconds: Option<bool>,
    /// Digits after the point in `next_cursor`.
    pub cursor_digits: Option<usize>,
    /// True if `next_cursor` is the text of the last row's `created_at`.
    pub cursor_is_created_at: Option<bool>,
    /// Treatment of cursors that the service did not issue.
    pub foreign_cursors: Option<ForeignCursors>,
    /// Treatment of `limit` above 100.
    pub limit_over_max: Option<LimitOverMax>,
    /// Form of `Retry-After` on 429.
    pub retry_after: Option<RetryAfterForm>,
    /// Requests in a minute before the first 429.
    pub requests_per_minute: Option<usize>,
    /// `Content-Encoding` of an answer to a client that accepts gzip, deflate, br and zstd.
    pub compression: Option<String>,
    /// True if no answer closes the connection.
    pub keeps_connections: Option<bool>,
    /// Names of all headers seen, in lower case.
    pub header_names: BTreeSet<String>,
}

/// Treatment of cursors that the service did not issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForeignCursors {
    /// Any time is a cursor.
    Accepted,
    /// The answer is 400.
    Refused,
    /// The answer is the first page.
    Ignored,
    /// Another answer.
    Other,
}

/// Treatment of `limit` above 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitOverMax {
    /// The answer is 400.
    Refused,
    /// The page has at most 100 rows.
    Capped,
    /// The page has more rows.
    Honoured,
}

/// Form of `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryAfterForm {
    /// Whole seconds.
    Seconds,
    /// Seconds with a fraction.
    Fraction,
    /// An HTTP date.
    Date,
    /// Missing or malformed.
    None,
}

impl Profile {
    pub(super) fn new<F: FnMut(&str)>(session: &Session<'_, F>) -> Self {
        let first = |probe| session.sent(probe).first();
        let page = |probe| first(probe).and_then(|exchange| Page::of(exchange).ok());
        let mut profile = Self::default();
        if let Some(page) = page(Probe::FourRows).filter(|page| !page.rows.is_empty()) {
            let times = page.rows.iter().filter_map(|row| row.get("created_at")?.as_str());
            let times: Vec<&str> = times.collect();
            profile.time_digits = times.iter().map(|time| fraction_digits(time)).max();
            let is_whole = |time: &&str| {
                time.parse::<Timestamp>().is_ok_and(|time| time.unix_micros() % 1_000_000 == 0)
            };
            profile.times_are_whole_seconds = Some(times.iter().all(is_whole));
            profile.cursor_digits = page.next_cursor.map(fraction_digits);
            profile.cursor_is_created_at =
                page.next_cursor.map(|cursor| times.last() == Some(&cursor));
        }
        profile.foreign_cursors = first(Probe::ForeignCursor).map(|exchange| {
            let newest = |probe| Some(page(probe)?.rows.first()?.get("id")?.clone());
            match (exchange.status(), Page::of(exchange)) {
                (Some(400), _) => ForeignCursors::Refused,
                (_, Ok(page)) if page.rows.is_empty() => ForeignCursors::Accepted,
                (_, Ok(_)) if newest(Probe::ForeignCursor) == newest(Probe::FourRows) => {
                    ForeignCursors::Ignored
                }
                _ => ForeignCursors::Other,
            }
        });
        profile.limit_over_max = first(Probe::OverMax).and_then(|exchange| {
            match (exchange.status(), page(Probe::OverMax)) {
                (Some(400), _) => Some(LimitOverMax::Refused),
                (_, Some(page)) if page.rows.len() > 100 => Some(LimitOverMax::Honoured),
                // A short list does not show a cap.
                (_, Some(page)) => (page.rows.len() == 100).then_some(LimitOverMax::Capped),
                _ => None,
            }
        });
        let refused = session.sent(Probe::Overload).last();
        if let Some(refused) = refused.filter(|exchange| exchange.is_refused_by_rate_limit()) {
            profile.retry_after = Some(retry_after_form(refused.header(&RETRY_AFTER)));
            profile.requests_per_minute = Some(refused.recent);
        }
        let compressed = first(Probe::Compressed);
        let encoding = compressed.and_then(|exchange| exchange.header(&CONTENT_ENCODING));
        let shown = |text: &str| excerpt(text.as_bytes(), &session.secrets());
        profile.compression = encoding.map(shown);
        let mut answers =
            session.all().filter_map(|exchange| exchange.outcome.as_ref().ok()).peekable();
        let closes = |exchange: &Exchange| {
            exchange.header(&CONNECTION).is_some_and(|value| value.eq_ignore_ascii_case("close"))
        };
        profile.keeps_connections = answers.peek().map(|_| !session.all().any(closes));
        profile.header_names = answers
            .flat_map(|answer| answer.headers.keys())
            .map(|name| shown(name.as_str()))
            .collect();
        profile
    }
}

fn fraction_digits(time: &str) -> usize {
    let fraction = time.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

fn retry_after_form(value: Option<&str>) -> RetryAfterForm {
    let Some(value) = value else { return RetryAfterForm::None };
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match parse_retry_after(value, 0) {
        None => RetryAfterForm::None,
        Some(_) if !is_number => RetryAfterForm::Date,
        Some(_) if value.contains('.') => RetryAfterForm::Fraction,
        Some(_) => RetryAfterForm::Seconds,
    }
}
