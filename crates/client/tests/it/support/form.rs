//! A form with rows that are committed late and deleted, with a clock of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use formsvc_client::Cursor;
use formsvc_protocol::FormInstant;

use super::bodies::{page_of, row_at};
use super::fake::{Answer, Fake, status};

pub(crate) const SECOND: i64 = 1_000_000;
/// 2026-01-01T12:00:00Z.
pub(crate) const NOON: i64 = 1_767_268_800 * SECOND;
/// Latest commit of a row after its time.
pub(crate) const LATE: i64 = 5 * 60 * SECOND;

/// A form with rows that are committed and deleted during a sync.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) now: i64,
    /// How far the client's clock is behind, in microseconds.
    pub(crate) behind: i64,
    /// Whether responses have a `Date`.
    pub(crate) has_date: bool,
    /// Precision of the service's cursors, in microseconds.
    unit: i64,
    /// Number of each row by its time in microseconds and a tie breaker.
    pub(crate) rows: BTreeMap<(i64, u32), u32>,
    committed: u32,
    pub(crate) fail_next: bool,
    /// The next answer is a 503.
    pub(crate) is_busy: bool,
    /// Length of the text that each row contains besides its number.
    pub(crate) padding: usize,
}

pub(crate) type Shared = Arc<Mutex<Form>>;

pub(crate) fn system_time(micros: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap())
}

impl Form {
    pub(crate) fn new(unit: i64) -> Shared {
        let rows = BTreeMap::new();
        Arc::new(Mutex::new(Self {
            now: NOON,
            behind: 0,
            has_date: true,
            unit,
            rows,
            committed: 0,
            fail_next: false,
            is_busy: false,
            padding: 0,
        }))
    }

    /// Commits a row with a time that is `late` microseconds in the past.
    pub(crate) fn commit(&mut self, late: i64) {
        let mut time = (self.now - late).div_euclid(self.unit) * self.unit;
        let in_unit = |rows: &BTreeMap<(i64, u32), u32>, time: i64| {
            rows.range((time, 0)..(time + self.unit, 0)).count()
        };
        if self.unit == 1 {
            // A service with exact cursors gives each row its own time.
            while in_unit(&self.rows, time) > 0 {
                time += 1;
            }
        } else if in_unit(&self.rows, time) == 3 {
            // More rows in one unit than a page can show are a tie overflow.
            return;
        }
        // The order of the rows of one unit is independent of the order of their commits.
        let breaker = self.committed.wrapping_mul(2_654_435_761);
        self.rows.insert((time, breaker), self.committed);
        self.committed += 1;
    }

    pub(crate) fn delete(&mut self, row: usize) {
        if let Some(key) = self.rows.keys().rev().nth(row).copied() {
            self.rows.remove(&key);
        }
    }

    fn answer(&mut self, query: &str) -> Answer {
        if std::mem::take(&mut self.fail_next) {
            return status(403);
        }
        if std::mem::take(&mut self.is_busy) {
            return status(503);
        }
        let (mut limit, mut bound) = (25, i64::MAX);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "limit" => limit = value.parse().unwrap(),
                "cursor" => bound = FormInstant::parse_cursor(&value).unwrap().micros(),
                _ => {}
            }
        }
        let bound = bound.saturating_sub(bound.rem_euclid(self.unit));
        let mut older = self.rows.range(..(bound, 0)).rev();
        let page: Vec<_> = older.by_ref().take(limit).collect();
        let next = page.last().map(|((time, _), _)| FormInstant::from_micros(*time).to_cursor());
        let shown = page.iter().map(|((time, _), row)| {
            let row = row_at(**row, FormInstant::from_micros(*time).to_timestamp().as_str());
            match self.padding {
                0 => row,
                padding => {
                    row.replace("\"Number\"", &format!("\"{}\":1,\"Number\"", "x".repeat(padding)))
                }
            }
        });
        let body = shown.collect::<Vec<_>>();
        let body = page_of(&body, next.as_ref().map(Cursor::as_str), older.next().is_some());
        let date = self.has_date.then(|| ("date", httpdate::fmt_http_date(system_time(self.now))));
        Answer::Status(200, date.into_iter().collect(), body)
    }

    pub(crate) fn serve(form: &Shared) -> Arc<Fake> {
        let form = form.clone();
        Fake::rule(move |request| form.lock().unwrap().answer(request.uri().query().unwrap()))
    }
}
