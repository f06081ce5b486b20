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
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::delivery::Delivery;
use crate::listen::Refusal;
use crate::secrets::SigningSecrets;
use crate::simulate::{AttemptResult, Retries, UnsignedDelivery, unix_now};
use crate::store::StoreError;

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
    /// The submissions that were already delivered. Call [`PollMark::begin`] before the first run.
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
    #[error("polling ended with a panic")]
    Panicked,
}

impl Poll {
    /// Delivers new submissions until `stop` is cancelled or a request fails permanently. Then waits up to
    /// 12 s for the attempts in flight; the next run delivers the submissions that wait for a retry.
    ///
    /// `deliver` passes method, request target, headers and body to
    /// [`ListenerHandle::deliver`](crate::listen::ListenerHandle::deliver). A delivery that is not answered with 2xx is
    /// retried by the schedule. After 2xx or the last retry, the mark is saved, so the next run does not repeat the
    /// delivery. If the process crashes between the response and the save, the next run repeats the delivery.
    ///
    /// # Errors
    /// Fails without a secret, if the mark cannot be saved, or with an error of
    /// [`Follow`](formsvc_client::list::Follow).
    pub async fn run<F, Fut>(mut self, deliver: F, stop: CancellationToken) -> Result<(), PollError>
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
                Some(ended) = deliveries.join_next() => match self.finish(ended).await {
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
            while let Some(ended) = deliveries.join_next().await {
                self.finish(ended).await?;
            }
            Ok(())
        };
        let drained = timeout(GRACE, drain).await.unwrap_or(Ok(()));
        end.and(drained)
    }

    async fn finish(
        &mut self,
        ended: Result<Option<SubmissionId>, tokio::task::JoinError>,
    ) -> Result<(), PollError> {
        if let Some(id) = ended.map_err(|_| PollError::Panicked)? {
            self.mark.finish(id);
            self.mark.save().await?;
        }
        Ok(())
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

impl Attempts {
    /// Delivers the submission until it is answered with 2xx or no retry is left, and returns its id. Returns `None`
    /// if the poll or the listener stops before that.
    async fn run<F, Fut>(self, deliver: Arc<F>) -> Option<SubmissionId>
    where
        F: Fn(Method, String, HeaderMap, Bytes) -> Fut,
        Fut: Future<Output = Result<Arc<Delivery>, Refusal>>,
    {
        let mut attempts = 0;
        loop {
            let mut headers = self.unsigned.headers(&self.secrets, unix_now());
            headers.insert(SYNTHETIC, HeaderValue::from_static("poll"));
            let (path, body) = (self.path.clone(), self.unsigned.body.clone());
            let result = match deliver(Method::POST, path, headers, body).await {
                Ok(delivery) => Some(attempt_result(&delivery)),
                Err(Refusal::Stopping) => return None,
                Err(Refusal::Busy) => None,
                Err(_) => Some(AttemptResult::default()),
            };
            let pause = match result {
                Some(result) => {
                    attempts += 1;
                    match self.retries.pause(attempts, result, fastrand::f64()) {
                        Some(pause) => pause,
                        None => return Some(self.id),
                    }
                }
                None => BUSY_PAUSE,
            };
            if timeout(pause, self.stop.cancelled()).await.is_ok() {
                return None;
            }
        }
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
