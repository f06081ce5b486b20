//! The transport used unless another is given.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};

use super::{AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind, causes};
use crate::base_url::BaseUrl;
use crate::builder::{bad_network, cannot_set_up};
use crate::error::Error;
use crate::network::{ConnectFailureKind, NetworkSettings};

/// Shorter than the idle timeouts of common gateways (60 s and 75 s), so that a connection is
/// seldom reused in the moment the other side closes it.
const POOL_IDLE: Duration = Duration::from_secs(15);
/// Largest buffer allocated on the word of a `Content-Length`.
const TRUSTED_LENGTH: u64 = 8 * 1024 * 1024;

/// HTTP/1.1 by reqwest: one pool, no redirects, no cookies.
pub(crate) struct OverReqwest {
    client: reqwest::Client,
    network: NetworkSettings,
    base_url: String,
}

impl OverReqwest {
    /// Creates the pool of connections to one base URL.
    pub(crate) fn new(
        base: &BaseUrl,
        connect_timeout: Duration,
        network: NetworkSettings,
    ) -> Result<Self, Error> {
        if base.is_https() {
            #[cfg(feature = "rustls")]
            network.load_trust_store().map_err(bad_network)?;
            #[cfg(not(feature = "rustls"))]
            return Err(cannot_set_up("the cargo feature `rustls` is off".into()));
        }
        let builder = network.http_client_builder().map_err(bad_network)?;
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .tcp_nodelay(true)
            .pool_idle_timeout(POOL_IDLE)
            .connect_timeout(connect_timeout)
            .build()
            .map_err(|error| cannot_set_up(error.into()))?;
        Ok(Self { client, network, base_url: base.as_str().to_owned() })
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        context: &AttemptContext,
    ) -> Result<Response<Bytes>, TransportError> {
        let (parts, body) = request.into_parts();
        let mut builder =
            self.client.request(parts.method, parts.uri.to_string()).headers(parts.headers);
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
            StatusCode::OK => read_body(&mut answer, context.max_body()).await,
            _ => read_start(&mut answer, context.max_error_body()).await,
        };
        match body {
            Ok(body) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
            Err(error) => Err(error.with_head(status, headers)),
        }
    }

    /// The error of a request without an answer.
    fn no_answer(&self, error: reqwest::Error) -> TransportError {
        match self.network.connect_failure(&self.base_url, &error) {
            Some(failure) => TransportError::new(failure.kind().into(), failure),
            None => failure(error, Phase::Head),
        }
    }
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

impl Transport for OverReqwest {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(self.exchange(request, context))
    }
}

async fn read_body(
    answer: &mut reqwest::Response,
    max_body: usize,
) -> Result<Bytes, TransportError> {
    let too_large = || TransportError::from_kind(TransportErrorKind::TooLarge);
    let length = answer.content_length();
    let announced = length.unwrap_or(0);
    if announced > max_body as u64 {
        return Err(too_large());
    }
    let mut next = chunk(answer).await?;
    if next.as_ref().is_some_and(|piece| Some(piece.len() as u64) == length) {
        // Nearly every page comes in one piece, which need not be copied. Its end is read too, so
        // that the connection can be used again.
        chunk(answer).await?;
        return Ok(next.unwrap_or_default());
    }
    // Like sizes for like bodies: an allocator that adapts to what it saw, as glibc's does, settles.
    let room = usize::try_from(announced.min(TRUSTED_LENGTH)).unwrap_or(0).next_power_of_two();
    let mut body = Vec::with_capacity(room);
    while let Some(piece) = next {
        if piece.len() > max_body - body.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
        // Only what is given back can be filled again.
        drop(piece);
        next = chunk(answer).await?;
    }
    Ok(Bytes::from(body))
}

/// The first bytes of a body; a connection that has more to give is closed.
async fn read_start(
    answer: &mut reqwest::Response,
    enough: usize,
) -> Result<Bytes, TransportError> {
    let mut body = Vec::new();
    while let Some(piece) = chunk(answer).await? {
        body.extend_from_slice(&piece[..piece.len().min(enough - body.len())]);
        if body.len() == enough {
            break;
        }
    }
    Ok(Bytes::from(body))
}

async fn chunk(answer: &mut reqwest::Response) -> Result<Option<Bytes>, TransportError> {
    answer.chunk().await.map_err(|error| failure(error, Phase::Body))
}

/// How far an exchange came.
#[derive(Clone, Copy)]
enum Phase {
    Head,
    Body,
}

/// Classifies the errors of an exchange by their causes; the kinds of reqwest are coarse. The URL
/// is removed: it contains the cursor.
fn failure(error: reqwest::Error, phase: Phase) -> TransportError {
    let error = error.without_url();
    let kind = if error.is_timeout() {
        TransportErrorKind::Timeout
    } else if matches!(phase, Phase::Body) || error.is_request() || is_broken(&error) {
        TransportErrorKind::Interrupted
    } else {
        TransportErrorKind::Other
    };
    TransportError::new(kind, error)
}

fn is_broken(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    causes(error).filter_map(|error| error.downcast_ref::<io::Error>()).any(|error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    })
}
