//! Simulated deliveries to a receiver with real connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use bytes::Bytes;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SIGNATURE};
use formsvc_protocol::RetrySchedule;
use formsvc_workbench::edit::Change;
use formsvc_workbench::expectation::{ResponseTally, StatusSet};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::simulate::{Bodies, BodySource, Retries, Simulation, SimulationEvent};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;
use url::Url;

const SECRET: &str = "whsec_of_a_test_of_simulation";

/// A receiver that verifies signatures.
#[derive(Clone, Default)]
struct Receiver {
    bodies: Arc<Mutex<Vec<Bytes>>>,
    /// Refuses this many requests with 503.
    failures: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    max_in_flight: Arc<AtomicUsize>,
    /// Responds only if this many requests are in flight.
    batch: usize,
    full: Arc<Notify>,
    arrived: Arc<Notify>,
    /// Notified when a request was answered or cancelled.
    ended: Arc<Notify>,
}

/// Notifies when it is dropped.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Receiver {
    async fn start(self) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/hook", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().fallback(respond).with_state(self);
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        url
    }
}

async fn respond(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let verifier = secrets().verifier(1 << 20).unwrap().unwrap();
    if verifier.verify(&headers[SIGNATURE], body.clone()).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    receiver.bodies.lock().unwrap().push(body);
    receiver.arrived.notify_one();
    let _ended = NotifyOnDrop(Arc::clone(&receiver.ended));
    let in_flight = receiver.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
    receiver.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
    if in_flight < receiver.batch {
        receiver.full.notified().await;
    } else {
        receiver.full.notify_waiters();
    }
    receiver.in_flight.fetch_sub(1, Ordering::SeqCst);
    let failures = &receiver.failures;
    let fails = failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    if fails.is_ok() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }
}

fn secrets() -> SigningSecrets {
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    secrets
}

fn simulation(to: Url, count: u64) -> Simulation {
    let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
    let secrets = secrets();
    Simulation { sender, secrets, to, count, concurrency: 1, retries: None }
}

fn samples() -> Bodies {
    Bodies::new(BodySource::Sample, Vec::new(), None)
}

#[tokio::test]
async fn deliveries_are_signed_counted_and_in_order() {
    let receiver = Receiver::default();
    let mut events = simulation(receiver.clone().start().await, 3).start(samples());
    let (mut tally, mut order) = (ResponseTally::new("204".parse().unwrap()), Vec::new());
    while let Some(event) = events.recv().await {
        match event.unwrap() {
            SimulationEvent::Sent(sent) => {
                tally.add(sent.response());
                assert!(sent.took() > Duration::ZERO && sent.submission_id.is_some());
                order.push((sent.index, sent.attempt));
            }
            SimulationEvent::Ended { is_delivered, attempts, .. } => {
                assert_eq!((is_delivered, attempts), (true, 1));
            }
            SimulationEvent::RetryScheduled { .. } => panic!("no retries"),
        }
    }
    assert_eq!(order, [(1, 1), (2, 1), (3, 1)]);
    assert_eq!((tally.sent, tally.unexpected, tally.no_response), (3, 0, 0));
    let bodies = receiver.bodies.lock().unwrap();
    assert!(bodies.len() == 3 && bodies[0] != bodies[1], "{bodies:?}");
}

#[tokio::test]
async fn failed_delivery_is_retried_as_the_service_does() {
    let receiver = Receiver { failures: Arc::new(6.into()), ..Receiver::default() };
    let mut simulation = simulation(receiver.clone().start().await, 2);
    simulation.retries = Some(Retries { schedule: RetrySchedule::default(), time_scale: 1e6 });
    let mut events = simulation.start(samples());
    let mut steps = Vec::new();
    while let Some(event) = events.recv().await {
        steps.push(match event.unwrap() {
            SimulationEvent::Sent(sent) => {
                format!("{}.{} {}", sent.index, sent.attempt, sent.result.unwrap().status.as_u16())
            }
            SimulationEvent::RetryScheduled { index, retry, .. } => {
                format!("{index} retry {retry}")
            }
            SimulationEvent::Ended { index, attempts, is_delivered, .. } => {
                format!("{index} {attempts} {is_delivered}")
            }
        });
    }
    let expected = [
        "1.1 503",
        "1 retry 1",
        "1.2 503",
        "1 retry 2",
        "1.3 503",
        "1 retry 3",
        "1.4 503",
        "1 4 false",
        "2.1 503",
        "2 retry 1",
        "2.2 503",
        "2 retry 2",
        "2.3 204",
        "2 3 true",
    ];
    assert_eq!(steps, expected);
    let bodies = receiver.bodies.lock().unwrap();
    assert!(bodies[..4].iter().all(|body| *body == bodies[0]) && bodies[4] != bodies[0]);
}

#[tokio::test]
async fn concurrency_is_the_number_in_flight() {
    let receiver = Receiver { batch: 4, ..Receiver::default() };
    let mut simulation = simulation(receiver.clone().start().await, 8);
    simulation.concurrency = 4;
    let mut events = simulation.start(samples());
    while let Some(event) = events.recv().await {
        event.unwrap();
    }
    assert_eq!(receiver.bodies.lock().unwrap().len(), 8);
    assert_eq!(receiver.max_in_flight.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn dropped_events_stop_the_simulation() {
    let receiver = Receiver { batch: usize::MAX, ..Receiver::default() };
    let events = simulation(receiver.clone().start().await, u64::MAX).start(samples());
    receiver.arrived.notified().await;
    drop(events);
    // The request without a response is cancelled.
    timeout(Duration::from_secs(10), receiver.ended.notified()).await.unwrap();
    assert_eq!(receiver.bodies.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn change_that_cannot_be_made_sends_nothing() {
    let receiver = Receiver::default();
    let source = BodySource::Fixed(vec!["{}".into()]);
    let changes = vec![Change::Unset { path: "data.A".to_owned() }];
    let bodies = Bodies::new(source, changes, None);
    let mut events = simulation(receiver.clone().start().await, 1).start(bodies);
    assert!(events.recv().await.unwrap().is_err());
    assert!(events.recv().await.is_none());
    assert!(receiver.bodies.lock().unwrap().is_empty());
}

#[tokio::test]
async fn unreachable_receiver_counts_as_no_response() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let to = Url::parse(&format!("http://{closed}/")).unwrap();
    let mut events = simulation(to, 1).start(samples());
    let Some(Ok(SimulationEvent::Sent(sent))) = events.recv().await else { panic!("it is sent") };
    let mut tally = ResponseTally::new(StatusSet::Success);
    tally.add(sent.response());
    assert_eq!((tally.no_response, tally.first_error.is_some()), (1, true));
}
