//! Simulates the service: sends signed deliveries with generated or real bodies, and retries them by the schedule
//! of the service.

use std::time::Duration;

use formsvc_contract::send::{Answer, HttpSender, Outgoing, SendError};
use futures_util::{StreamExt, stream};
use http::Method;
use tokio::sync::mpsc;
use tokio::time::sleep;
use url::Url;

use crate::edit::EditError;
use crate::secrets::SigningSecrets;

mod bodies;
mod retries;
mod submission;

pub use bodies::{Bodies, BodySource, UnsignedDelivery};
pub use retries::{AttemptResult, Retries};
pub use submission::{FindError, SILENT_REQUESTS, SearchProgress, find_submission};

/// Settings of a simulation, which sends a number of deliveries to a receiver.
#[derive(Debug)]
pub struct Simulation {
    pub sender: HttpSender,
    pub secrets: SigningSecrets,
    pub to: Url,
    pub count: u64,
    /// Maximum number of deliveries in flight, including those waiting for a retry.
    pub concurrency: usize,
    /// The retries; `None` sends each delivery once.
    pub retries: Option<Retries>,
}

/// An event of a simulation.
#[derive(Debug)]
pub enum SimulationEvent {
    Sent(Sent),
    RetryScheduled { index: u64, retry: u32, pause: Duration },
    Ended { index: u64, submission_id: Option<String>, attempts: u32, is_delivered: bool },
}

/// An attempt and its result.
#[derive(Debug)]
pub struct Sent {
    /// The number of the delivery, counted from 1.
    pub index: u64,
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
    pub submission_id: Option<String>,
    pub result: Result<Answer, SendError>,
}

type Events = mpsc::Sender<Result<SimulationEvent, EditError>>;

impl Sent {
    /// Returns the status and body of the response.
    pub fn response(&self) -> Result<(u16, &[u8]), &SendError> {
        self.result.as_ref().map(|response| (response.status.as_u16(), &*response.body))
    }

    /// Returns the time from the start of the attempt to its end.
    pub fn took(&self) -> Duration {
        self.result.as_ref().map_or_else(|error| error.took, |response| response.took)
    }
}

impl Simulation {
    /// Starts a task that sends the deliveries. Dropping the receiver of the events stops the task. If an edit of a
    /// body fails, the event is an error, and that delivery is not sent.
    pub fn start(self, bodies: Bodies) -> mpsc::Receiver<Result<SimulationEvent, EditError>> {
        let (events, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::select! {
                () = self.send_all(bodies, &events) => {}
                () = events.closed() => {}
            }
        });
        receiver
    }

    async fn send_all(&self, bodies: Bodies, events: &Events) {
        stream::iter(0..self.count)
            .for_each_concurrent(self.concurrency, |index| {
                let unsigned = bodies.get(index);
                async move {
                    match unsigned {
                        Ok(unsigned) => self.deliver(index + 1, unsigned, events).await,
                        Err(error) => emit(events, Err(error)).await,
                    }
                }
            })
            .await;
    }

    async fn deliver(&self, index: u64, unsigned: UnsignedDelivery, events: &Events) {
        let mut attempt = 1;
        loop {
            let outgoing = Outgoing {
                method: Method::POST,
                url: self.to.clone(),
                headers: unsigned.headers(&self.secrets, unix_now()),
                body: unsigned.body.clone(),
            };
            let result = self.sender.send(outgoing).await;
            let attempt_result = AttemptResult::of(&result, unix_now());
            let submission_id = unsigned.submission_id.clone();
            let sent = Sent { index, attempt, submission_id, result };
            emit(events, Ok(SimulationEvent::Sent(sent))).await;
            let retries = self.retries.as_ref();
            let pause = retries.and_then(|it| it.pause(attempt, attempt_result, fastrand::f64()));
            let Some(pause) = pause else {
                let ended = SimulationEvent::Ended {
                    index,
                    submission_id: unsigned.submission_id,
                    attempts: attempt,
                    is_delivered: attempt_result.is_success,
                };
                return emit(events, Ok(ended)).await;
            };
            let scheduled = SimulationEvent::RetryScheduled { index, retry: attempt, pause };
            emit(events, Ok(scheduled)).await;
            sleep(pause).await;
            attempt += 1;
        }
    }
}

async fn emit(events: &Events, event: Result<SimulationEvent, EditError>) {
    // If the receiver is dropped, `start` stops the task.
    let _ = events.send(event).await;
}

/// Returns the current Unix time in seconds.
pub fn unix_now() -> u64 {
    jiff::Timestamp::now().as_second().try_into().unwrap_or_default()
}
