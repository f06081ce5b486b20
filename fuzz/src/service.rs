//! A service in memory. The fuzz target chooses its responses.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_client::{Client, RateLimit, RetryPolicy};
use http::{Request, Response};

/// Returns the body of the page at a cursor; `None` means a response with status 400.
pub type Answer = dyn Fn(Option<&str>) -> Option<Bytes> + Send + Sync;

/// A service, and a record of the requests to it.
#[derive(Clone)]
pub struct Service {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<Option<String>>>>,
}

impl Service {
    /// Creates a service with these responses.
    pub fn new(answer: impl Fn(Option<&str>) -> Option<Bytes> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default() }
    }

    /// Returns a client of the service that does not retry.
    pub fn client(&self) -> Client {
        Client::builder()
            .base_url("https://forms.example")
            .api_key("fsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG")
            .retry(RetryPolicy::none())
            .rate_limit(RateLimit::off())
            .transport(self.clone())
            .build()
            .expect("the settings are valid")
    }

    /// Returns the cursor of each request.
    pub fn asked(&self) -> Vec<Option<String>> {
        self.asked.lock().expect("the lock is not poisoned").clone()
    }
}

impl Transport for Service {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let query = request.uri().query().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        let cursor = pairs.find(|(name, _)| name == "cursor").map(|(_, value)| value.into_owned());
        let body = (self.answer)(cursor.as_deref());
        self.asked.lock().expect("the lock is not poisoned").push(cursor);
        let status = if body.is_some() { 200 } else { 400 };
        let response = Response::builder().status(status).body(body.unwrap_or_default());
        Box::pin(async { Ok(response.expect("the status is valid")) })
    }
}

/// Runs a future to completion on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("the runtime starts");
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}
