//! Polls the new submissions of a form and delivers them to a listener, for machines that the service cannot reach.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::{Error, FormHandle, Submission, SubmissionId, SyncPoint};
use formsvc_contract::payload;
use formsvc_protocol::RetrySchedule;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::delivery::{AnsweredBy, Delivery, Response};
use crate::listen::{ListenerEvent, Refusal};
use crate::secrets::SigningSecrets;
use crate::simulate::{AttemptResult, Retries, UnsignedDelivery, unix_now};
use crate::store::StoreError;
use crate::warning::{Warning, WarningCode};

mod mark;
#[cfg(test)]
mod tests;

pub use mark::{PollMark, PollStart};

/// Default time between two requests for new submissions.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// The header of deliveries that were not sent by the service. Its value is `poll`.
pub const SYNTHETIC: HeaderName = HeaderName::from_static("x-formsvc-synthetic");

/// Maximum number of deliveries in flight, including those waiting for a retry.
const MAX_IN_FLIGHT: usize = 16;
/// Pause before the next attempt if the listener is busy.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// Time that deliveries in flight have to complete when the poll stops: 10 s for a target and 2 s for the listener.
const GRACE: Duration = Duration::from_secs(12);

/// A poll of one form.
#[derive(Debug)]
pub struct Poll {
    pub form: FormHandle,
    pub form_title: String,
    pub interval: Duration,
    /// The secrets that sign the deliveries.
    pub secrets: SigningSecrets,
    pub schedule: RetrySchedule,
    /// The request target of the deliveries.
    pub path: String,
    /// The submissions that were already delivered or given up. Call [`PollMark::begin`] before the first run.
    pub mark: PollMark,
}

/// A poll cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    #[error("another listener polls this form and saves its progress in `{}`", path.display())]
    InUse { path: PathBuf },
    #[error(
        "`{}` is not a valid poll position; delete the file to start after the newest submission",
        path.display()
    )]
    BadMark { path: PathBuf, source: serde_json::Error },
    #[error("cannot access `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Other users have access to the file of the mark.
    #[error(transparent)]
    Unsafe(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] Error),
    #[error("polled deliveries need a signing secret")]
    NoSecret,
    /// The listener could not handle a delivery. The next run repeats the delivery.
    #[error("cannot deliver a polled submission: {}", .0.row().message)]
    Refused(Refusal),
    #[error("polling ended with a panic")]
    Panicked,
}

impl Poll {
    /// Delivers new submissions until `stop` is cancelled or a request fails permanently. Then waits up to
    /// 12 s for the attempts in flight; the next run delivers the submissions that wait for a retry.
    ///
    /// `deliver` passes method, request target, headers and body to
    /// [`ListenerHandle::deliver`](crate::listen::ListenerHandle::deliver). A delivery that is not answered with 2xx is
    /// retried by the schedule. If the last retry fails, the submission is given up and `events` receives a warning.
    /// After 2xx or the last retry, the mark is saved, so the next run does not repeat the delivery. If the process
    /// crashes between the response and the save, the next run repeats the delivery.
    ///
    /// # Errors
    /// Fails without a secret, if the mark cannot be saved, if the listener fails, or with an error of
    /// [`Follow`](formsvc_client::list::Follow).
    pub async fn run<F, Fut>(
        mut self,
        deliver: F,
        events: mpsc::Sender<ListenerEvent>,
        stop: CancellationToken,
    ) -> Result<(), PollError>
    where
        F: Fn(Method, String, HeaderMap, Bytes) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<Delivery>, Refusal>> + Send + 'static,
    {
        if self.secrets.is_empty() {
            return Err(PollError::NoSecret);
        }
        let (deliver, stop_retries) = (Arc::new(deliver), stop.child_token());
        let follow = self.form.follow().interval(self.interval);
        let mut follow = match self.mark.start() {
            PollStart::First => follow.sync_from(&SyncPoint::new()),
            PollStart::After { created_at, id } => follow.after(created_at, id),
            PollStart::Point(point) => follow.sync_from(point),
        }
        .items();
        let mut deliveries = JoinSet::new();
        let end = loop {
            let has_room = deliveries.len() < MAX_IN_FLIGHT && self.mark.has_room();
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                Some(ended) = deliveries.join_next() => match self.finish(ended, &events).await {
                    Ok(()) => {}
                    Err(error) => break Err(error),
                },
                submission = follow.try_next(), if has_room => match submission {
                    Ok(Some(submission)) => {
                        if self.mark.add(&submission.id, follow.sync_point()) {
                            let attempts = self.attempts(submission, stop_retries.clone());
                            deliveries.spawn(attempts.run(Arc::clone(&deliver)));
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error.into()),
                },
            }
        };
        stop_retries.cancel();
        let drain = async {
            let mut result = Ok(());
            while let Some(ended) = deliveries.join_next().await {
                result = result.and(self.finish(ended, &events).await);
            }
            result
        };
        let drained = timeout(GRACE, drain).await.unwrap_or(Ok(()));
        end.and(drained)
    }

    async fn finish(
        &mut self,
        ended: Result<(SubmissionId, AttemptsEnd), JoinError>,
        events: &mpsc::Sender<ListenerEvent>,
    ) -> Result<(), PollError> {
        let (id, end) = ended.map_err(|_| PollError::Panicked)?;
        match end {
            AttemptsEnd::Delivered => {}
            AttemptsEnd::GivenUp { attempts, cause } => {
                let message =
                    format!("submission {id} is given up after {attempts} attempts: {cause}");
                let warning = Warning { code: WarningCode::GivenUp, message };
                // An error means that the receiver was dropped.
                let _ = events.send(ListenerEvent::Warning(warning)).await;
            }
            AttemptsEnd::Stopped => return Ok(()),
            AttemptsEnd::Refused(refusal) => return Err(PollError::Refused(refusal)),
        }
        self.mark.finish(id);
        self.mark.save().await
    }

    fn attempts(&self, submission: Submission, stop: CancellationToken) -> Attempts {
        let id = submission.id.clone();
        let form = self.form.id().expect("an invalid id fails when submissions are read").clone();
        let event = payload::event_of(submission, form, &self.form_title);
        Attempts {
            unsigned: UnsignedDelivery {
                body: payload::body(&event),
                event: HeaderValue::from_static("submission.created"),
                submission_id: Some(id.to_string()),
            },
            id,
            path: self.path.clone(),
            secrets: self.secrets.clone(),
            retries: Retries { schedule: self.schedule, time_scale: 1.0 },
            stop,
        }
    }
}

/// The attempts at delivering a submission.
struct Attempts {
    id: SubmissionId,
    unsigned: UnsignedDelivery,
    path: String,
    secrets: SigningSecrets,
    retries: Retries,
    stop: CancellationToken,
}

/// The reason why the attempts at delivering a submission ended.
enum AttemptsEnd {
    /// The delivery was answered with 2xx.
    Delivered,
    /// The last retry failed.
    GivenUp { attempts: u32, cause: String },
    /// The poll or the listener stopped. The next run delivers the submission.
    Stopped,
    /// The listener could not handle the delivery. The next run delivers the submission.
    Refused(Refusal),
}

impl Attempts {
    /// Delivers the submission until it is answered with 2xx or no retry is left, and returns its id.
    async fn run<F, Fut>(self, deliver: Arc<F>) -> (SubmissionId, AttemptsEnd)
    where
        F: Fn(Method, String, HeaderMap, Bytes) -> Fut,
        Fut: Future<Output = Result<Arc<Delivery>, Refusal>>,
    {
        let mut attempts = 0;
        let end = loop {
            let mut headers = self.unsigned.headers(&self.secrets, unix_now());
            headers.insert(SYNTHETIC, HeaderValue::from_static("poll"));
            let (path, body) = (self.path.clone(), self.unsigned.body.clone());
            let pause = match deliver(Method::POST, path, headers, body).await {
                Ok(delivery) => {
                    attempts += 1;
                    let result = attempt_result(&delivery);
                    match self.retries.pause(attempts, result, fastrand::f64()) {
                        Some(pause) => pause,
                        None if result.is_success => break AttemptsEnd::Delivered,
                        None => {
                            break AttemptsEnd::GivenUp { attempts, cause: failure(&delivery) };
                        }
                    }
                }
                // A refused delivery is no attempt: neither the store nor a target has it.
                Err(Refusal::Busy | Refusal::TooManyInvalid) => BUSY_PAUSE,
                Err(Refusal::Stopping) => break AttemptsEnd::Stopped,
                Err(refusal) => break AttemptsEnd::Refused(refusal),
            };
            if timeout(pause, self.stop.cancelled()).await.is_ok() {
                break AttemptsEnd::Stopped;
            }
        };
        (self.id, end)
    }
}

/// Returns the cause of an attempt that was not answered with 2xx.
fn failure(delivery: &Delivery) -> String {
    if let Some(Err(error)) = delivery.relayed_result() {
        return error.message.clone();
    }
    let by_target = |response: &Response| response.answered_by == AnsweredBy::Target;
    let response = delivery.summary.response;
    let side = if response.as_ref().is_some_and(by_target) { "target" } else { "listener" };
    match response.and_then(|response| response.status) {
        Some(status) => format!("the {side} responded with {status}"),
        None => format!("the {side} closed the connection"),
    }
}

/// Returns the result of an attempt, including `Retry-After` if the relayed response has this header.
fn attempt_result(delivery: &Delivery) -> AttemptResult {
    let status = delivery.summary.response.and_then(|response| response.status);
    let relayed = delivery.relayed_response();
    let retry_after = relayed.and_then(|response| response.headers.get(RETRY_AFTER));
    status.map_or_else(AttemptResult::default, |status| {
        AttemptResult::of_response(status, retry_after, unix_now())
    })
}
