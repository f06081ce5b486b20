//! Visitors of a public form: they submit over HTTP and record the responses.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// The result of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// Accepted, with this id.
    Accepted(String),
    /// Refused, with this status and the seconds of `Retry-After`.
    Refused(u16, Option<u64>),
    /// No response: the server may have accepted it.
    NoResponse,
}

/// A visitor with one connection to a form.
pub struct Visitor {
    addr: SocketAddr,
    path: String,
    connection: Option<SendRequest<Full<Bytes>>>,
}

#[derive(Deserialize)]
struct AcceptedBody {
    id: String,
}

impl Visitor {
    /// Creates a visitor of a form. The URL is like `http://127.0.0.1:8080/f/contact`.
    pub fn new(form_url: &str) -> Self {
        let rest = form_url.strip_prefix("http://").expect("the URL starts with http://");
        let (addr, path) = rest.split_once('/').expect("the URL has a path");
        let addr = addr.parse().expect("the URL has an IP address and a port");
        Self { addr, path: format!("/{path}"), connection: None }
    }

    /// Submits answers, given as JSON.
    pub async fn submit(&mut self, answers: String) -> SubmitOutcome {
        let outcome = self.exchange(answers).await;
        if outcome.is_none() {
            self.connection = None;
        }
        outcome.unwrap_or(SubmitOutcome::NoResponse)
    }

    async fn exchange(&mut self, answers: String) -> Option<SubmitOutcome> {
        let request = Request::post(&self.path)
            .header(header::HOST, self.addr.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(answers)))
            .expect("the request is valid");
        let mut connection = match self.connection.take() {
            Some(connection) if connection.is_ready() => connection,
            _ => self.connect().await?,
        };
        let response = connection.send_request(request).await.ok()?;
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.into_body().collect().await.ok()?.to_bytes();
        // Waits until the connection can be reused. If that fails, the next request opens a new connection.
        let _ = connection.ready().await;
        self.connection = Some(connection);
        if status != StatusCode::CREATED {
            return Some(SubmitOutcome::Refused(status.as_u16(), retry_after));
        }
        let AcceptedBody { id } = serde_json::from_slice(&body).ok()?;
        Some(SubmitOutcome::Accepted(id))
    }

    async fn connect(&self) -> Option<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.addr).await.ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(sender)
    }
}

/// Ledger of the submissions to a form and the responses to them. Clones share the data.
#[derive(Clone, Default)]
pub struct Intake(Arc<Shared>);

#[derive(Default)]
struct Shared {
    next: AtomicU64,
    sent: Mutex<HashMap<String, Sent>>,
    /// Number of refusals by status and presence of a `Retry-After`.
    refused: Mutex<HashMap<(u16, bool), u64>>,
    taken: watch::Sender<usize>,
    all_refused: watch::Sender<usize>,
}

/// A submission that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Time when it was sent.
    pub at: Instant,
    /// Its id, if the response was 201.
    pub id: Option<String>,
}

impl Intake {
    /// Returns the submissions that were not refused, by the number in their answers.
    pub fn sent(&self) -> MutexGuard<'_, HashMap<String, Sent>> {
        self.0.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a submission that is sent now, and its id if it was accepted.
    pub fn note(&self, number: String, id: Option<String>) {
        self.sent().insert(number, Sent { at: Instant::now(), id });
    }

    /// Returns the ids of accepted submissions, and the time when each was sent.
    pub fn accepted(&self) -> HashMap<String, Instant> {
        self.sent().values().filter_map(|sent| Some((sent.id.clone()?, sent.at))).collect()
    }

    /// Returns the number of refusals by status and presence of a `Retry-After`.
    pub fn refused(&self) -> HashMap<(u16, bool), u64> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this number of submissions is accepted.
    pub async fn wait_for(&self, count: usize) {
        let mut taken = self.0.taken.subscribe();
        taken.wait_for(|taken| *taken >= count).await.expect("the ledger has a sender");
    }

    /// Waits for this number of further refusals.
    pub async fn wait_for_refusals(&self, count: usize) {
        let mut refused = self.0.all_refused.subscribe();
        let enough = *refused.borrow_and_update() + count;
        refused.wait_for(|refused| *refused >= enough).await.expect("the ledger has a sender");
    }

    /// Returns the number of accepted submissions.
    pub fn taken(&self) -> usize {
        *self.0.taken.borrow()
    }

    /// Lets a visitor send a new submission, and records the result.
    pub async fn submit(&self, visitor: &mut Visitor) -> SubmitOutcome {
        let number = format!("n{}", self.0.next.fetch_add(1, Ordering::Relaxed));
        self.note(number.clone(), None);
        let outcome =
            visitor.submit(format!("{{\"number\":\"{number}\",\"text\":\"{TEXT}\"}}")).await;
        match &outcome {
            SubmitOutcome::Accepted(id) => {
                if let Some(sent) = self.sent().get_mut(&number) {
                    sent.id = Some(id.clone());
                }
                self.0.taken.send_modify(|taken| *taken += 1);
            }
            SubmitOutcome::Refused(status, wait) => {
                let mut sent = self.sent();
                let mut refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
                sent.remove(&number);
                *refused.entry((*status, wait.is_some())).or_default() += 1;
                self.0.all_refused.send_modify(|count| *count += 1);
            }
            SubmitOutcome::NoResponse => {}
        }
        outcome
    }
}

/// Text that gives submissions a realistic length.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and the dog lets it. \
    The quick brown fox jumps over the lazy dog, and the dog lets it.";

/// Running visitors. They end when this is dropped.
pub struct Visitors {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Visitors {
    /// Starts visitors that submit as soon as they have the previous response. A visitor ends when it gets no
    /// response.
    pub fn eager(count: usize, form_url: &str, intake: &Intake) -> Self {
        Self::start(count, form_url, intake, None)
    }

    /// Starts visitors that together send a number of submissions a second.
    pub fn paced(count: usize, per_second: f64, form_url: &str, intake: &Intake) -> Self {
        let each = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / per_second;
        Self::start(count, form_url, intake, Some(Duration::from_secs_f64(each)))
    }

    fn start(count: usize, form_url: &str, intake: &Intake, period: Option<Duration>) -> Self {
        let (mut tasks, (stop, stopped)) = (JoinSet::new(), watch::channel(false));
        for number in 0..count {
            let (visitor, intake) = (Visitor::new(form_url), intake.clone());
            let first = period.map(|period| {
                // The visitors start one after the other within the first period.
                let share = u32::try_from(number).unwrap_or(u32::MAX);
                period / u32::try_from(count).unwrap_or(u32::MAX) * share
            });
            tasks.spawn(visit(visitor, intake, stopped.clone(), period.zip(first)));
        }
        Self { tasks, stop }
    }

    /// Lets each visitor finish its current submission, and ends it.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        self.ended().await;
    }

    /// Waits until all visitors have ended.
    pub async fn ended(&mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("a visitor does not panic");
        }
    }
}

async fn visit(
    mut visitor: Visitor,
    intake: Intake,
    stopped: watch::Receiver<bool>,
    pace: Option<(Duration, Duration)>,
) {
    let mut ticks = pace.map(|(period, first)| {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + first, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    });
    while !*stopped.borrow() {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        match intake.submit(&mut visitor).await {
            SubmitOutcome::Accepted(_) => {}
            // Sleeps because a refused visitor retries after a pause.
            SubmitOutcome::Refused(..) => tokio::time::sleep(Duration::from_millis(20)).await,
            SubmitOutcome::NoResponse => return,
        }
    }
}
