//! The default transport: HTTP/1.1 by reqwest, which also decodes gzip.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::runtime::{Handle, Id};

use super::{AttemptContext, Sending, Transport, TransportError, TransportErrorKind};
use crate::base_url::BaseUrl;
use crate::error::{Error, ErrorKind};
use crate::network::{ConnectFailureKind, NetworkSettings};
use crate::operation::BUILD;

/// Shorter than the idle timeouts of common gateways (60 s and 75 s), so that a connection is
/// seldom reused just as the other side closes it.
const POOL_IDLE: Duration = Duration::from_secs(15);
/// Runtimes of which connections are kept; programs with a runtime per core have one per core.
const MAX_RUNTIMES: usize = 64;

/// A connection pool for each tokio runtime that uses it: the task that serves a connection belongs to
/// the runtime that made it, and no other runtime can wait for one that does not run. It follows no
/// redirects and keeps no cookies.
pub(crate) struct ReqwestTransport {
    /// The client of each runtime, oldest first.
    pools: Mutex<VecDeque<(Option<Id>, reqwest::Client)>>,
    connect_timeout: Duration,
    network: NetworkSettings,
    base_url: String,
}

impl ReqwestTransport {
    /// Creates a transport for one base URL. Needs no runtime.
    pub(crate) fn new(
        base: &BaseUrl,
        connect_timeout: Duration,
        network: NetworkSettings,
    ) -> Result<Self, Error> {
        if base.is_https() {
            network.load_trust_store()?;
        }
        network.check_proxy(base.as_str())?;
        // Built now to report unusable settings.
        let client = build(&network, connect_timeout)?;
        let pools = Mutex::new(VecDeque::from([(current_runtime(), client)]));
        Ok(Self { pools, connect_timeout, network, base_url: base.as_str().to_owned() })
    }

    /// Returns the client of the current runtime.
    fn client(&self) -> Result<reqwest::Client, Error> {
        let runtime = current_runtime();
        let mut pools = self.pools.lock().expect("no code panics while it holds this lock");
        if let Some((_, client)) = pools.iter().find(|(id, _)| *id == runtime) {
            return Ok(client.clone());
        }
        let client = build(&self.network, self.connect_timeout)?;
        if pools.len() == MAX_RUNTIMES {
            pools.pop_front();
        }
        pools.push_back((runtime, client.clone()));
        Ok(client)
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        context: &AttemptContext,
    ) -> Result<Response<Bytes>, TransportError> {
        let (parts, body) = request.into_parts();
        let client =
            self.client().map_err(|error| TransportError::new(TransportErrorKind::Other, error))?;
        let mut builder =
            client.request(parts.method, parts.uri.to_string()).headers(parts.headers);
        if !body.is_empty() {
            builder = builder.body(body);
        }
        let mut answer = builder.send().await.map_err(|error| self.no_answer(error))?;
        let status = answer.status();
        if let Some(refusal) = self.network.proxy_refusal(&self.base_url, status) {
            return Err(TransportError::new(TransportErrorKind::ProxyAuth, refusal));
        }
        let headers = std::mem::take(answer.headers_mut());
        let body = match status {
            StatusCode::OK => read_body(&mut answer, context.max_body, false),
            _ => read_body(&mut answer, context.max_error_body, true),
        };
        match body.await {
            Ok(body) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
            Err(error) => Err(error.with_head(status, headers)),
        }
    }

    /// Classifies the error of a request that received no response.
    fn no_answer(&self, error: reqwest::Error) -> TransportError {
        match self.network.connect_failure(&self.base_url, &error) {
            Some(failure) => TransportError::new(failure.kind().into(), failure),
            None => failure(error, false),
        }
    }
}

fn current_runtime() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

fn build(network: &NetworkSettings, connect_timeout: Duration) -> Result<reqwest::Client, Error> {
    let failed = "the HTTP client cannot be set up";
    network
        .http_client_builder()?
        .gzip(true)
        .referer(false)
        .pool_idle_timeout(POOL_IDLE)
        .connect_timeout(connect_timeout)
        .build()
        .map_err(|error| Error::parts(ErrorKind::Config, BUILD, failed).with_source(error).into())
}

impl From<ConnectFailureKind> for TransportErrorKind {
    fn from(kind: ConnectFailureKind) -> Self {
        match kind {
            ConnectFailureKind::ProxyAuth => Self::ProxyAuth,
            kind if kind.is_tls() => Self::Tls,
            _ => Self::Connect,
        }
    }
}

impl Transport for ReqwestTransport {
    fn send<'a>(&'a self, request: Request<Bytes>, context: &'a AttemptContext) -> Sending<'a> {
        Box::pin(self.exchange(request, context))
    }
}

/// Reads a body of at most `max` bytes. If it is longer, `cut` returns its first `max` bytes and closes
/// the connection; otherwise it is an error.
async fn read_body(
    answer: &mut reqwest::Response,
    max: usize,
    cut: bool,
) -> Result<Bytes, TransportError> {
    let too_large = || TransportError::from_kind(TransportErrorKind::TooLarge);
    if answer.content_length().is_some_and(|announced| announced > max as u64) && !cut {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| failure(error, true))? {
        let room = max - body.len();
        if piece.len() > room && !cut {
            return Err(too_large());
        }
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if cut && body.len() == max {
            break;
        }
    }
    Ok(Bytes::from(body))
}

/// Returns true for an error of the gzip decoder. A broken connection has an error of hyper as its source.
fn is_of_decoder(error: &reqwest::Error) -> bool {
    error.is_decode() && error.source().is_some_and(<dyn StdError>::is::<io::Error>)
}

/// Classifies an error after the connection was made. The URL is removed: it contains the cursor.
fn failure(error: reqwest::Error, in_body: bool) -> TransportError {
    let error = error.without_url();
    let kind = if error.is_timeout() {
        TransportErrorKind::Timeout
    } else if is_of_decoder(&error) {
        TransportErrorKind::BadEncoding
    } else if in_body || error.is_request() {
        TransportErrorKind::Interrupted
    } else {
        TransportErrorKind::Other
    };
    TransportError::new(kind, error)
}
