//! A service in memory, for tests on a paused clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::transport::{
    AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind,
};
use http::{Request, Response};
use tokio::time::Instant;

/// The result of a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16, Vec<(&'static str, String)>, String),
    Fails(TransportErrorKind),
    /// A status with this request id, and a body that breaks off.
    BreaksOff(u16, &'static str),
    /// No answer.
    Silence,
}

pub(crate) fn ok(body: impl Into<String>) -> Answer {
    Answer::Status(200, vec![("x-request-id", "req_1".into())], body.into())
}

pub(crate) fn status(code: u16) -> Answer {
    Answer::Status(code, Vec::new(), String::new())
}

pub(crate) fn throttled(retry_after: &str) -> Answer {
    let body = super::bodies::error("rate_limited", "slow down");
    Answer::Status(429, vec![("retry-after", retry_after.to_owned())], body)
}

type Respond = Box<dyn FnMut(&Request<Bytes>) -> Answer + Send>;

/// The client's end of it.
pub(crate) struct Wire(Arc<Fake>);

/// The test's end of it.
pub(crate) struct Fake {
    respond: Mutex<Respond>,
    left: Mutex<Option<VecDeque<Answer>>>,
    sent: Mutex<Vec<(Instant, String)>>,
}

impl Fake {
    /// Answers in this order, then no more.
    pub(crate) fn script(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            respond: Mutex::new(Box::new(|_| unreachable!("a script answers"))),
            left: Mutex::new(Some(answers.into_iter().collect())),
            sent: Mutex::default(),
        })
    }

    /// Answers each request by a rule.
    pub(crate) fn rule(rule: impl FnMut(&Request<Bytes>) -> Answer + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            respond: Mutex::new(Box::new(rule)),
            left: Mutex::new(None),
            sent: Mutex::default(),
        })
    }

    pub(crate) fn wire(self: &Arc<Self>) -> Wire {
        Wire(self.clone())
    }

    /// Path and query of each request.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|(_, path)| path.clone()).collect()
    }

    /// When each request was sent.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.sent.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    /// Time from each request to the next.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        self.times().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // A second panic would end the process, and with it the other tests.
        if std::thread::panicking() {
            return;
        }
        if let Some(left) = &*self.left.lock().unwrap() {
            assert!(left.is_empty(), "never asked for: {left:?}");
        }
    }
}

impl Transport for Wire {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let path = request.uri().path_and_query().unwrap().to_string();
        self.0.sent.lock().unwrap().push((Instant::now(), path.clone()));
        let scripted = self.0.left.lock().unwrap().as_mut().map(VecDeque::pop_front);
        let answer = match scripted {
            Some(Some(answer)) => answer,
            Some(None) => panic!("unexpected request {path}"),
            None => self.0.respond.lock().unwrap()(&request),
        };
        Box::pin(async move {
            match answer {
                Answer::Status(code, headers, body) => {
                    let mut response = Response::builder().status(code);
                    for (name, value) in headers {
                        response = response.header(name, value);
                    }
                    Ok(response.body(Bytes::from(body)).unwrap())
                }
                Answer::Fails(kind) => Err(TransportError::new(kind, "the fake fails")),
                Answer::BreaksOff(code, request_id) => {
                    let (head, ()) = Response::builder()
                        .status(code)
                        .header("x-request-id", request_id)
                        .body(())
                        .unwrap()
                        .into_parts();
                    let error = TransportError::from_kind(TransportErrorKind::Interrupted);
                    Err(error.with_head(head.status, head.headers))
                }
                Answer::Silence => std::future::pending().await,
            }
        })
    }
}
