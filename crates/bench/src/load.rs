//! HTTP load generator: a fixed number of kept connections, each with one request in flight.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::error::{BenchError, Context};
use crate::process;
use crate::report::Report;

/// Connections, each with one request in flight.
pub(crate) const CONNECTIONS: usize = 64;
const WARM_UP: Duration = Duration::from_secs(1);
/// Time beyond the window after which the server counts as dead.
const GRACE: Duration = Duration::from_secs(30);

/// Builds the request with a number; numbers start at 0 and never repeat.
pub(crate) type MakeRequest = dyn Fn(u64) -> Request<Full<Bytes>> + Send + Sync;

/// A load to put on a server.
pub(crate) struct Load {
    pub(crate) addr: SocketAddr,
    /// Seconds to measure.
    pub(crate) seconds: u32,
    /// Status that every answer must have; another one ends the comparison.
    pub(crate) expected: StatusCode,
    pub(crate) make_request: Box<MakeRequest>,
}

/// Answers to a load.
pub(crate) struct LoadResult {
    /// Answers, those of the warm-up included.
    pub(crate) answers: u64,
    /// Answers per second, without the warm-up.
    per_second: f64,
    /// Latencies without the warm-up, ascending.
    latencies: Vec<Duration>,
    /// Part of its core that the load generator used.
    generator_cores: f64,
}

impl LoadResult {
    pub(crate) fn add_to(&self, report: &mut Report, subject: &str, unit: &'static str) {
        let percentile = |percent: usize| {
            let latency = self.latencies.get(self.latencies.len() * percent / 100);
            latency.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
        };
        report.add(subject, unit, self.per_second);
        report.add(subject, "ms p50", percentile(50));
        report.add(subject, "ms p99", percentile(99));
        report.add(subject, "load cores", self.generator_cores);
    }
}

impl Load {
    pub(crate) fn run(self) -> Result<LoadResult, BenchError> {
        runtime()?.block_on(self.send())
    }

    async fn send(self) -> Result<LoadResult, BenchError> {
        let window = Duration::from_secs(self.seconds.into());
        let (cpu_before, begin) = (process::own_cpu_seconds()?, Instant::now() + WARM_UP);
        let (load, next) = (Arc::new(self), Arc::new(AtomicU64::new(0)));
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (load, next) = (Arc::clone(&load), Arc::clone(&next));
            connections
                .spawn(async move { load.use_connection(&next, begin, begin + window).await });
        }
        let answers = tokio::time::timeout(WARM_UP + window + GRACE, connections.join_all());
        let answers = answers.await.context("the server stopped answering")?;
        let cpu = process::own_cpu_seconds()? - cpu_before;
        let mut latencies = Vec::new();
        for connection in answers {
            latencies.extend(connection?);
        }
        if latencies.is_empty() {
            return Err(BenchError::new(
                "no request was answered in time; use a larger `--seconds`",
            ));
        }
        latencies.sort_unstable();
        let count = u32::try_from(latencies.len()).context("too many answers")?;
        Ok(LoadResult {
            answers: next.load(Ordering::Relaxed),
            per_second: f64::from(count) / window.as_secs_f64(),
            latencies,
            generator_cores: cpu / (WARM_UP + window).as_secs_f64(),
        })
    }

    /// Sends requests over one connection until `end`. Returns the latencies of the answers from `begin` on.
    async fn use_connection(
        &self,
        next: &AtomicU64,
        begin: Instant,
        end: Instant,
    ) -> Result<Vec<Duration>, BenchError> {
        let stream = TcpStream::connect(self.addr).await.context("cannot connect to the server")?;
        stream.set_nodelay(true).context("cannot configure a connection")?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.context("cannot connect to the server")?;
        // An error of the connection also reaches the request that is in flight.
        tokio::spawn(connection);
        let mut latencies = Vec::new();
        while Instant::now() < end {
            let request = (self.make_request)(next.fetch_add(1, Ordering::Relaxed));
            let sent = Instant::now();
            sender.ready().await.context("the server closed a connection")?;
            let answer = sender.send_request(request).await.context("a request failed")?;
            let status = answer.status();
            let body =
                answer.into_body().collect().await.context("an answer is incomplete")?.to_bytes();
            if status != self.expected {
                let body = String::from_utf8_lossy(&body[..body.len().min(200)]);
                return Err(BenchError::new(format!("the server answered {status}: {body}")));
            }
            let received = Instant::now();
            if received >= begin && received <= end {
                latencies.push(received - sent);
            }
        }
        Ok(latencies)
    }
}

/// Returns a runtime on the current thread.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, BenchError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")
}
