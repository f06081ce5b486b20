//! One call of the API: attempts and retries within the limits.

mod failure;

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::FormId;
use http::header::{ACCEPT, AUTHORIZATION};
use http::response::Parts as Head;
use http::{HeaderValue, Request, StatusCode, Uri};
use tokio::time::{Instant, sleep, timeout};

use crate::decode::Broken;
use crate::error::{Error, ErrorKind, KEPT, Parts};
use crate::event::ClientEvent;
use crate::limiter::Wait;
use crate::response::ResponseMeta;
use crate::retry::{Decision, Limits, RetryReason, decide};
use crate::shared::Shared;
use crate::transport::{AttemptContext, TransportError, TransportErrorKind};
use failure::Failure;

/// Sends requests until one succeeds or the call fails, and decodes the response. A response that is
/// cut short is requested and decoded again.
pub(crate) async fn call<T>(
    shared: &Shared,
    operation: &'static str,
    form: Option<&FormId>,
    address: String,
    decode: impl Fn(&Bytes) -> Result<T, Broken> + Send + Sync,
) -> Result<(T, ResponseMeta), Error> {
    let number = shared.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let started = Instant::now();
    let call = Call { shared, operation, form, decode, number, started, attempts: 0, retries: 0 };
    #[cfg(feature = "tracing")]
    let span = call.span();
    let result = call.run(&address);
    #[cfg(feature = "tracing")]
    let result = tracing::Instrument::instrument(result, span);
    result.await
}

/// The state of one call.
struct Call<'a, D> {
    shared: &'a Shared,
    operation: &'static str,
    form: Option<&'a FormId>,
    /// Decodes the body of a response.
    decode: D,
    /// The number of the call, from 1.
    number: u64,
    started: Instant,
    attempts: u32,
    /// Retries taken from the budget.
    retries: u32,
}

impl<T, D: Fn(&Bytes) -> Result<T, Broken> + Send + Sync> Call<'_, D> {
    #[cfg(feature = "tracing")]
    fn span(&self) -> tracing::Span {
        let (operation, call, form) = (self.operation, self.number, self.form.map(FormId::as_str));
        tracing::debug_span!("call", operation, call, form)
    }

    async fn run(mut self, address: &str) -> Result<(T, ResponseMeta), Error> {
        let uri: Uri = address.parse().map_err(|error: http::uri::InvalidUri| {
            let what = "the URL of the request is not valid, or longer than 64 KiB";
            Error::from(Error::parts(ErrorKind::Config, self.operation, what).with_source(error))
        })?;
        loop {
            self.wait_for_limiter().await?;
            match self.attempt(&uri).await {
                Ok(done) => {
                    self.shared.budget.earn(self.retries);
                    return Ok(done);
                }
                Err(mut failure) => {
                    failure.classify(&self.shared.settings.retry, self.attempts);
                    self.pause_or_fail(failure).await?;
                }
            }
        }
    }

    async fn wait_for_limiter(&self) -> Result<(), Error> {
        let max_wait = self.shared.settings.max_wait;
        let most = self.time_left().map_or(max_wait, |left| left.min(max_wait));
        let on_wait = |Wait { duration, reason }| {
            self.shared.emit(&ClientEvent::RateLimited {
                operation: self.operation,
                call: self.number,
                form: self.form.cloned(),
                wait: duration,
                reason,
            });
        };
        let started = Instant::now();
        self.shared.limiter.acquire(most, on_wait).await.map_err(|Wait { duration, .. }| {
            let wait = seconds(duration);
            let allowed = match self.time_left().map(seconds) {
                Some(left) if most < max_wait => format!("the call has {left} left"),
                _ => {
                    let left = most.saturating_sub(started.elapsed());
                    format!("at most {} are allowed", seconds(left))
                }
            };
            let what = format!("the rate limit requires a wait of {wait}, and {allowed}");
            let mut parts = Error::parts(ErrorKind::RateLimitWait, self.operation, what);
            parts.retry_after = Some(duration);
            parts.retryable = true;
            Parts { attempts: self.attempts, ..parts }.into()
        })
    }

    async fn attempt(&mut self, uri: &Uri) -> Result<(T, ResponseMeta), Failure> {
        self.attempts += 1;
        let started = Instant::now();
        let allowed = self.shared.settings.timeouts.attempt;
        let allowed = self.time_left().map_or(allowed, |left| left.min(allowed));
        let context = AttemptContext {
            operation: self.operation,
            attempt: self.attempts,
            timeout: allowed,
            max_body: self.shared.settings.max_body,
            max_error_body: KEPT + self.shared.key.len(),
        };
        let sent = self.shared.transport.send(self.request(uri.clone()), &context);
        let answer = timeout(allowed, sent)
            .await
            .unwrap_or_else(|_| Err(TransportError::from_kind(TransportErrorKind::Timeout)));
        let result = self.read_answer(uri, answer);
        let (status, failure) = match &result {
            Ok((_, meta)) => (Some(meta.status), None),
            Err(failure) => (failure.error.status(), Some(failure.error.kind())),
        };
        let request_id = match &result {
            Ok((_, meta)) => meta.request_id(),
            Err(failure) => failure.error.request_id(),
        };
        let event = ClientEvent::Attempt {
            operation: self.operation,
            call: self.number,
            form: self.form.cloned(),
            request_id: request_id.map(str::to_owned),
            attempt: self.attempts,
            status,
            failure,
            elapsed: started.elapsed(),
        };
        self.shared.emit(&event);
        result
    }

    /// Decodes a response, or explains why it cannot be used.
    fn read_answer(
        &self,
        uri: &Uri,
        answer: Result<http::Response<Bytes>, TransportError>,
    ) -> Result<(T, ResponseMeta), Failure> {
        let key = &self.shared.key;
        let (mut head, body) = match answer {
            Ok(answer) => answer.into_parts(),
            Err(mut error) => {
                if let Some(head) = &mut error.head {
                    self.shared.limiter.announce(&head.1);
                    key.redact_headers(&mut head.1);
                }
                return Err(self.no_answer(uri, error));
            }
        };
        self.shared.limiter.announce(&head.headers);
        key.redact_headers(&mut head.headers);
        if head.status != StatusCode::OK {
            return Err(self.refused(uri, &head, &body));
        }
        if body.len() > self.shared.settings.max_body {
            let error = TransportError::from_kind(TransportErrorKind::TooLarge);
            return Err(self.no_answer(uri, error.with_head(head.status, head.headers)));
        }
        let value = (self.decode)(&body);
        let value = value.map_err(|broken| self.broken(&head, &body, broken))?;
        let Head { status, headers, .. } = head;
        let (attempts, elapsed) = (self.attempts, self.started.elapsed());
        Ok((value, ResponseMeta { status, headers, attempts, elapsed }))
    }

    /// Sleeps until the next attempt, or ends the call with the failure.
    async fn pause_or_fail(&mut self, failure: Failure) -> Result<(), Error> {
        let limits =
            Limits { max_wait: self.shared.settings.max_wait, time_left: self.time_left() };
        let (retry, asked) = (failure.retry, failure.error.retry_after());
        let random = || (self.shared.settings.random)();
        let decision =
            decide(&self.shared.settings.retry, retry, self.attempts, asked, limits, random);
        if retry.is_some_and(RetryReason::is_rate_limit) {
            let pause = match decision {
                Decision::After(pause, _) => pause,
                Decision::Stop | Decision::TooLong => Duration::ZERO,
            };
            self.shared.limiter.cool_down(asked.unwrap_or(pause));
        }
        match decision {
            Decision::After(delay, reason) if self.shared.budget.try_spend() => {
                self.retries += 1;
                self.shared.emit(&ClientEvent::RetryScheduled {
                    operation: self.operation,
                    call: self.number,
                    form: self.form.cloned(),
                    attempt: self.attempts,
                    delay,
                    reason,
                });
                sleep(delay).await;
                Ok(())
            }
            Decision::TooLong => Err(failure.too_long_a_wait(limits)),
            Decision::After(..) | Decision::Stop => Err(failure.error),
        }
    }

    fn request(&self, uri: Uri) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = uri;
        request.headers_mut().clone_from(&self.shared.headers);
        let headers = request.headers_mut();
        headers.extend(self.shared.settings.headers.clone());
        headers.insert(AUTHORIZATION, self.shared.key.authorization());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request
    }

    fn time_left(&self) -> Option<Duration> {
        let overall = self.shared.settings.timeouts.overall?;
        Some(overall.saturating_sub(self.started.elapsed()))
    }
}

/// Formats a wait for a message.
fn seconds(wait: Duration) -> String {
    format!("{:.1} s", wait.as_secs_f64())
}
