//! One call: as many attempts as it takes, within every limit.

mod content_encoding;
mod failure;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use tokio::time::{Instant, sleep, timeout};

use crate::Event;
use crate::decode::Broken;
use crate::error::{Error, ErrorKind, KEPT};
use crate::limit::Refusal;
use crate::operation::Operation;
use crate::response::ResponseMeta;
use crate::retry::{Decision, Failed, Limits, decide, retry_after};
use crate::shared::Shared;
use crate::trace::{CallSpan, Ending};
use crate::transport::{AttemptContext, TransportError, TransportErrorKind};
use content_encoding::ContentEncodingError;
use failure::Failure;

/// Makes a call and decodes its answer. `decode` is asked again when an answer was cut short.
pub(crate) async fn call<T>(
    shared: &Shared,
    operation: Operation,
    address: String,
    decode: impl Fn(&Bytes) -> Result<T, Broken> + Send,
) -> Result<(T, ResponseMeta), Error> {
    let span = CallSpan::new(operation, &shared.base);
    let call =
        Call { shared, operation, span: &span, started: Instant::now(), attempts: 0, retries: 0 };
    span.around(call.run(&address, decode)).await
}

/// A call under way.
struct Call<'a> {
    shared: &'a Shared,
    operation: Operation,
    span: &'a CallSpan,
    started: Instant,
    attempts: u32,
    /// Retries paid for from the budget.
    retries: u32,
}

impl Call<'_> {
    async fn run<T>(
        mut self,
        address: &str,
        decode: impl Fn(&Bytes) -> Result<T, Broken> + Send,
    ) -> Result<(T, ResponseMeta), Error> {
        let uri: Uri = address.parse().map_err(|error: http::uri::InvalidUri| {
            let what = "the request's address is not valid, or longer than 64 KiB";
            Error::from(Error::parts(ErrorKind::Config, self.operation, what).with_source(error))
        })?;
        loop {
            self.wait_for_turn().await?;
            match self.attempt(&uri, &decode).await {
                Ok(done) => {
                    self.shared.budget.earn(self.retries);
                    self.record(Some(done.1.status), None);
                    return Ok(done);
                }
                Err(failure) => self.pause_or_give_up(failure).await?,
            }
        }
    }

    async fn wait_for_turn(&self) -> Result<(), Error> {
        let patience =
            self.time_left().map_or(self.shared.max_wait, |left| left.min(self.shared.max_wait));
        let on_wait = |wait: crate::limit::Wait| {
            self.shared.tell(|| Event::RateLimited {
                operation: self.operation.name,
                wait: wait.duration,
                why: wait.why,
            });
        };
        self.shared.gate.pass(patience, on_wait).await.map_err(|Refusal { wait }| {
            let what = format!(
                "the rate limit asks for a wait of {}, and at most {} are allowed",
                seconds(wait),
                seconds(patience)
            );
            let mut parts = Error::parts(ErrorKind::RateLimitWait, self.operation, what);
            parts.retry_after = Some(wait);
            parts.retryable = true;
            self.finish(parts)
        })
    }

    async fn attempt<T>(
        &mut self,
        uri: &Uri,
        decode: &(impl Fn(&Bytes) -> Result<T, Broken> + Send),
    ) -> Result<(T, ResponseMeta), Failure> {
        self.attempts += 1;
        let since = Instant::now();
        let allowed = self.shared.timeouts.attempt;
        let allowed = self.time_left().map_or(allowed, |left| left.min(allowed));
        let context = AttemptContext {
            operation: self.operation.name,
            attempt: self.attempts,
            timeout: allowed,
            max_body: self.shared.max_body,
            max_error_body: KEPT + self.shared.key.len(),
        };
        let span = self.span.attempt(self.operation, &self.shared.base, self.attempts);
        let judged = span.around(async {
            let sent = self.shared.transport.send(self.request(uri.clone()), &context);
            let outcome = timeout(allowed, sent)
                .await
                .unwrap_or_else(|_| Err(TransportError::from_kind(TransportErrorKind::Timeout)));
            self.judge(outcome, decode)
        });
        let judged = judged.await;
        let ending = match &judged {
            Ok((_, meta)) => Ending { status: Some(meta.status), failure: None },
            Err(failure) => Ending { status: failure.status(), failure: Some(failure.kind()) },
        };
        span.end(ending);
        self.shared.tell(|| Event::Attempt {
            operation: self.operation.name,
            attempt: self.attempts,
            status: ending.status,
            failure: ending.failure,
            elapsed: since.elapsed(),
        });
        judged
    }

    fn judge<T>(
        &self,
        outcome: Result<http::Response<Bytes>, TransportError>,
        decode: &(impl Fn(&Bytes) -> Result<T, Broken> + Send),
    ) -> Result<(T, ResponseMeta), Failure> {
        let key = &self.shared.key;
        let (head, body) = match outcome {
            Ok(answer) => answer.into_parts(),
            Err(mut error) => {
                if let Some(headers) = error.headers_mut() {
                    key.redact_headers(headers);
                }
                return Err(Failure::no_answer(error, &self.shared.base, |h| self.retry_after(h)));
            }
        };
        let (status, mut headers) = (head.status, head.headers);
        key.redact_headers(&mut headers);
        if status != StatusCode::OK {
            let wait = self.retry_after(&headers);
            let body = content_encoding::decode_start(&headers, &body, KEPT + key.len());
            return Err(Failure::refused(status, &headers, wait, &body, key));
        }
        // A body that grows while it is decoded has the same limit as one that arrives too large.
        let decoded = if body.len() > self.shared.max_body {
            Err(ContentEncodingError::TooLarge)
        } else {
            content_encoding::decode(&headers, &body, self.shared.max_body)
        };
        let body = match decoded {
            Ok(body) => body,
            Err(ContentEncodingError::TooLarge) => {
                let error = TransportError::from_kind(TransportErrorKind::TooLarge);
                let error = error.with_head(status, headers);
                return Err(Failure::no_answer(error, &self.shared.base, |_| None));
            }
            Err(error) => {
                return Err(Failure::undecodable(status, &headers, error, &body, key));
            }
        };
        match decode(&body) {
            Ok(value) => {
                let (attempts, elapsed) = (self.attempts, self.started.elapsed());
                Ok((value, ResponseMeta { status, headers, attempts, elapsed }))
            }
            Err(broken) => Err(Failure::broken(status, &headers, broken, key)),
        }
    }

    /// After a failed attempt: sleeps until the next one, or ends the call.
    async fn pause_or_give_up(&mut self, failure: Failure) -> Result<(), Error> {
        let limits = Limits { max_wait: self.shared.max_wait, time_left: self.time_left() };
        let failed = failure.failed;
        let decision =
            decide(&self.shared.retry, failed, self.attempts, failure.retry_after, limits, || {
                (self.shared.random)()
            });
        if failed == Failed::Status(StatusCode::TOO_MANY_REQUESTS) {
            let pause = match decision {
                Decision::After(pause, _) => pause,
                Decision::Stop | Decision::TooLong => Duration::ZERO,
            };
            self.shared.gate.cool_down(failure.retry_after.unwrap_or(pause));
        }
        match decision {
            Decision::After(delay, why) if self.shared.budget.try_spend() => {
                self.retries += 1;
                self.shared.tell(|| Event::RetryScheduled {
                    operation: self.operation.name,
                    attempt: self.attempts,
                    delay,
                    why,
                });
                sleep(delay).await;
                Ok(())
            }
            Decision::TooLong => Err(self.finish(failure.too_long_a_wait(self.operation, limits))),
            Decision::After(..) | Decision::Stop => {
                Err(self.finish(failure.into_parts(self.operation)))
            }
        }
    }

    fn request(&self, uri: Uri) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = uri;
        request.headers_mut().clone_from(&self.shared.headers);
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.shared.key.authorization());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(content_encoding::ACCEPTED));
        headers.insert(USER_AGENT, self.shared.user_agent.clone());
        request
    }

    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        retry_after(headers, || (self.shared.clock)())
    }

    fn time_left(&self) -> Option<Duration> {
        let overall = self.shared.timeouts.overall?;
        Some(overall.saturating_sub(self.started.elapsed()))
    }

    fn finish(&self, mut parts: crate::error::Parts) -> Error {
        parts.attempts = self.attempts;
        parts.elapsed = self.started.elapsed();
        self.record(parts.status, Some(parts.kind));
        parts.redact(&self.shared.key).into()
    }

    fn record(&self, status: Option<StatusCode>, failure: Option<ErrorKind>) {
        self.span.end(self.attempts, Ending { status, failure });
    }
}

/// A wait for a person to read.
fn seconds(wait: Duration) -> String {
    format!("{:.1} s", wait.as_secs_f64())
}
