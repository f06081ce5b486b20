//! Visitors of a public form: they submit over HTTP, and what they were told is kept.

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

/// What a visitor was told of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is taken, under this id.
    Taken(String),
    /// It is not taken, with this status and, of these seconds, a `Retry-After`.
    Refused(u16, Option<u64>),
    /// Nothing: it may have been taken or not.
    Nothing,
}

/// Someone with one connection to a form.
pub struct Visitor {
    addr: SocketAddr,
    path: String,
    connection: Option<SendRequest<Full<Bytes>>>,
}

#[derive(Deserialize)]
struct Taken {
    id: String,
}

impl Visitor {
    /// A visitor of the form at an address such as `http://127.0.0.1:8080/f/contact`.
    pub fn new(form_url: &str) -> Self {
        let rest = form_url.strip_prefix("http://").expect("it is spoken plain HTTP to");
        let (addr, path) = rest.split_once('/').expect("it has a path");
        let addr = addr.parse().expect("it has an address and a port");
        Self { addr, path: format!("/{path}"), connection: None }
    }

    /// Submits answers, JSON text.
    pub async fn submit(&mut self, answers: String) -> Told {
        let told = self.exchange(answers).await;
        if told.is_none() {
            self.connection = None;
        }
        told.unwrap_or(Told::Nothing)
    }

    async fn exchange(&mut self, answers: String) -> Option<Told> {
        let request = Request::post(&self.path)
            .header(header::HOST, self.addr.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(answers)))
            .expect("the request is a request");
        let mut connection = match self.connection.take() {
            Some(connection) if connection.is_ready() => connection,
            _ => self.connect().await?,
        };
        let response = connection.send_request(request).await.ok()?;
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.into_body().collect().await.ok()?.to_bytes();
        // Ready again once the answer is read; else the next one connects anew.
        let _ = connection.ready().await;
        self.connection = Some(connection);
        if status != StatusCode::CREATED {
            return Some(Told::Refused(status.as_u16(), retry_after));
        }
        let Taken { id } = serde_json::from_slice(&body).ok()?;
        Some(Told::Taken(id))
    }

    async fn connect(&self) -> Option<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.addr).await.ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(sender)
    }
}

/// What was sent to a form, and what was said of it. Clones share it.
#[derive(Clone, Default)]
pub struct Intake(Arc<Shared>);

#[derive(Default)]
struct Shared {
    next: AtomicU64,
    sent: Mutex<HashMap<String, Sent>>,
    /// By status, and whether there was a `Retry-After`.
    refused: Mutex<HashMap<(u16, bool), u64>>,
    taken: watch::Sender<usize>,
    all_refused: watch::Sender<usize>,
}

/// One submission that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// Its id, once it was answered with 201.
    pub id: Option<String>,
}

impl Intake {
    /// What was sent, by the number in its answers, refused ones left out.
    pub fn sent(&self) -> MutexGuard<'_, HashMap<String, Sent>> {
        self.0.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a submission that was sent now, and its id if it was accepted.
    pub fn note(&self, number: String, id: Option<String>) {
        self.sent().insert(number, Sent { at: Instant::now(), id });
    }

    /// Ids that were answered with 201, and when each was sent.
    pub fn accepted(&self) -> HashMap<String, Instant> {
        self.sent().values().filter_map(|sent| Some((sent.id.clone()?, sent.at))).collect()
    }

    /// How often something was refused, by status, and whether there was a `Retry-After`.
    pub fn refused(&self) -> HashMap<(u16, bool), u64> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many were answered with 201.
    pub async fn wait_for(&self, count: usize) {
        let mut taken = self.0.taken.subscribe();
        taken.wait_for(|taken| *taken >= count).await.expect("it is here");
    }

    /// Waits until so many more are refused.
    pub async fn wait_for_refusals(&self, count: usize) {
        let mut refused = self.0.all_refused.subscribe();
        let enough = *refused.borrow_and_update() + count;
        refused.wait_for(|refused| *refused >= enough).await.expect("it is here");
    }

    /// Submissions that were answered with 201.
    pub fn taken(&self) -> usize {
        *self.0.taken.borrow()
    }

    /// Has a visitor submit something that was never sent before, and notes what comes of it.
    pub async fn submit(&self, visitor: &mut Visitor) -> Told {
        let number = format!("n{}", self.0.next.fetch_add(1, Ordering::Relaxed));
        self.note(number.clone(), None);
        let told = visitor.submit(format!("{{\"number\":\"{number}\",\"text\":\"{TEXT}\"}}")).await;
        match &told {
            Told::Taken(id) => {
                if let Some(sent) = self.sent().get_mut(&number) {
                    sent.id = Some(id.clone());
                }
                self.0.taken.send_modify(|taken| *taken += 1);
            }
            Told::Refused(status, wait) => {
                let mut sent = self.sent();
                let mut refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
                sent.remove(&number);
                *refused.entry((*status, wait.is_some())).or_default() += 1;
                self.0.all_refused.send_modify(|count| *count += 1);
            }
            Told::Nothing => {}
        }
        told
    }
}

/// Makes a submission about as long as they are.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and the dog lets it. \
    The quick brown fox jumps over the lazy dog, and the dog lets it.";

/// Visitors at work; they end when this is dropped.
pub struct Visitors {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Visitors {
    /// So many, each submitting as soon as the last one was answered, until it hears nothing.
    pub fn eager(count: usize, form_url: &str, intake: &Intake) -> Self {
        Self::start(count, form_url, intake, None)
    }

    /// So many, who together submit so many times a second.
    pub fn paced(count: usize, per_second: f64, form_url: &str, intake: &Intake) -> Self {
        let each = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / per_second;
        Self::start(count, form_url, intake, Some(Duration::from_secs_f64(each)))
    }

    fn start(count: usize, form_url: &str, intake: &Intake, period: Option<Duration>) -> Self {
        let (mut tasks, (stop, stopped)) = (JoinSet::new(), watch::channel(false));
        for number in 0..count {
            let (visitor, intake) = (Visitor::new(form_url), intake.clone());
            let first = period.map(|period| {
                // They take turns.
                let share = u32::try_from(number).unwrap_or(u32::MAX);
                period / u32::try_from(count).unwrap_or(u32::MAX) * share
            });
            tasks.spawn(visit(visitor, intake, stopped.clone(), period.zip(first)));
        }
        Self { tasks, stop }
    }

    /// Lets each finish what it is at.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        self.ended().await;
    }

    /// Waits until all have ended by themselves.
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
            Told::Taken(_) => {}
            // Sleeps because whoever is refused waits a moment.
            Told::Refused(..) => tokio::time::sleep(Duration::from_millis(20)).await,
            Told::Nothing => return,
        }
    }
}
