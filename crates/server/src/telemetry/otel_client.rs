//! How spans reach a collector: by the HTTP client the service has, on the exporter's own thread.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Runtime;

use crate::causes::on_one_line;
use crate::read_body::read_body;

/// Time a collector has to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// More than a collector ever answers, in bytes.
const ANSWER_MAX: usize = 64 * 1024;

/// A client of a collector. Whoever calls it waits, as the exporter's thread does.
#[derive(Debug)]
pub(super) struct CollectorClient {
    client: Client<HttpConnector, Full<Bytes>>,
    runtime: Runtime,
    timeout: Duration,
    /// Whether the last batch was lost, so that only changes are logged.
    is_failing: AtomicBool,
}

impl CollectorClient {
    pub(super) fn new() -> io::Result<Self> {
        Self::waiting(TIMEOUT)
    }

    /// One that waits so long for each answer.
    fn waiting(timeout: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        Ok(Self { client, runtime, timeout, is_failing: AtomicBool::new(false) })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async {
            let (parts, body) = self.client.request(request.map(Full::new)).await?.into_parts();
            let body = read_body(body, ANSWER_MAX).await?;
            Ok::<_, HttpError>(Response::from_parts(parts, body))
        };
        let answer = match tokio::time::timeout(self.timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {:?}", self.timeout).into()),
        };
        let problem = match &answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("the collector answered {}", answer.status().as_u16())),
            Err(error) => Some(on_one_line(&**error)),
        };
        let was_failing = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        if let Some(cause) = problem.filter(|_| !was_failing) {
            tracing::warn!(cause, "spans are lost: the collector does not take them");
        }
        answer
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        // The exporter's thread has no runtime to wait on.
        Box::pin(async move { self.runtime.block_on(self.send(request)) })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use formsvc_protocol::FormInstant;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::store::Clock;
    use crate::telemetry::{LogFormat, LogLayer};

    #[test]
    fn a_collector_that_is_silent_is_told_of_once() {
        // The system accepts for it, and nobody answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/traces", silent.local_addr().unwrap());
        let client = CollectorClient::waiting(Duration::from_millis(20)).unwrap();
        let captured: Arc<Mutex<String>> = Arc::default();
        let writer = Arc::clone(&captured);
        let clock: Clock = Arc::new(|| FormInstant::from_micros(0));
        let sink = move |line: &str| writer.lock().unwrap().push_str(line);
        let layer = LogLayer::new(LogFormat::Text, clock, sink);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..2 {
                let request = Request::post(&url).body(Bytes::from_static(b"spans")).unwrap();
                let refused = client.runtime.block_on(client.send(request)).unwrap_err();
                assert_eq!(refused.to_string(), "no answer within 20ms");
            }
        });
        let log = captured.lock().unwrap();
        assert_eq!(log.matches("spans are lost").count(), 1, "{log}");
        assert!(log.contains("no answer within 20ms"), "{log}");
    }
}
