//! A service whose answers take a while, on a paused clock; it counts requests in the same window as
//! a real one.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_protocol::{FormInstant, RollingWindow};
use http::{Request, Response};
use tokio::time::{Instant, sleep};

use super::bodies::{error, page_of};

/// The test's end of it.
pub(crate) struct Slow {
    /// Instants in microseconds, newest first.
    rows: Vec<i64>,
    latency: Duration,
    start: Instant,
    window: Mutex<Option<RollingWindow>>,
    seen: Mutex<Seen>,
}

/// What it saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: usize,
    pub(crate) throttled: usize,
    /// Requests at one time.
    pub(crate) most: usize,
    under_way: usize,
}

/// The client's end of it.
pub(crate) struct SlowWire(Arc<Slow>);

impl Slow {
    pub(crate) fn new(mut rows: Vec<i64>, latency: Duration, per_minute: Option<u32>) -> Arc<Self> {
        rows.sort_unstable_by_key(|row| -row);
        rows.dedup();
        let limit = per_minute.and_then(NonZeroU32::new);
        let window = limit.map(|limit| RollingWindow::new(limit, Duration::from_secs(60)));
        let (window, seen) = (Mutex::new(window), Mutex::default());
        Arc::new(Self { rows, latency, start: Instant::now(), window, seen })
    }

    pub(crate) fn wire(self: &Arc<Self>) -> SlowWire {
        SlowWire(self.clone())
    }

    pub(crate) fn seen(&self) -> Seen {
        *self.seen.lock().unwrap()
    }

    /// Ids of the rows, newest first.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.rows.iter().map(|row| format!("sub_{row}")).collect()
    }

    fn answer(&self, query: &str) -> (u16, String) {
        let mut seen = self.seen.lock().unwrap();
        seen.requests += 1;
        let refused = match &mut *self.window.lock().unwrap() {
            Some(window) => window.try_acquire(self.start.elapsed()).is_err(),
            None => false,
        };
        if refused {
            seen.throttled += 1;
            return (429, error("rate_limited", "slow down"));
        }
        let (mut limit, mut bound) = (25, i64::MAX);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "limit" => limit = value.parse().unwrap(),
                "cursor" => bound = FormInstant::parse_cursor(&value).unwrap().micros(),
                _ => {}
            }
        }
        let from = self.rows.partition_point(|row| *row >= bound);
        let to = self.rows.len().min(from + limit);
        let rows = self.rows[from..to].iter().map(|row| {
            let created_at = FormInstant::from_micros(*row).to_timestamp();
            format!(r#"{{"id":"sub_{row}","data":{{}},"created_at":"{created_at}"}}"#)
        });
        let rows: Vec<_> = rows.collect();
        let next = self.rows[from..to].last().map(|row| FormInstant::from_micros(*row).to_cursor());
        let more = to < self.rows.len();
        (200, page_of(&rows, next.as_ref().map(formsvc_client::Cursor::as_str), more))
    }
}

impl SlowWire {
    /// An answer at once.
    pub(crate) fn answer_to(&self, request: &Request<Bytes>) -> (u16, String) {
        self.0.answer(request.uri().query().unwrap_or_default())
    }
}

impl Transport for SlowWire {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let slow = &self.0;
        Box::pin(async move {
            let under_way = {
                let mut seen = slow.seen.lock().unwrap();
                seen.under_way += 1;
                seen.most = seen.most.max(seen.under_way);
                UnderWay(slow)
            };
            let (status, body) = slow.answer(request.uri().query().unwrap_or_default());
            // Sleeps because a slow service is the point; who uses it has paused the clock.
            sleep(slow.latency).await;
            drop(under_way);
            let response = Response::builder().status(status).header("retry-after", "1");
            Ok(response.body(Bytes::from(body)).unwrap())
        })
    }
}

/// A request under way; dropped with it.
struct UnderWay<'a>(&'a Slow);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.seen.lock().unwrap().under_way -= 1;
    }
}
