//! The transport used unless another is given.

use std::error::Error as StdError;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};

use super::{AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind, causes};
use crate::base_url::BaseUrl;

/// Shorter than the idle timeouts of common gateways (60 s and 75 s), so that a connection is
/// seldom reused in the moment the other side closes it.
const POOL_IDLE: Duration = Duration::from_secs(15);
/// Largest buffer allocated on the word of a `Content-Length`.
const TRUSTED_LENGTH: u64 = 8 * 1024 * 1024;

/// HTTP/1.1 by reqwest: one pool, no redirects, no cookies.
pub(crate) struct OverReqwest(reqwest::Client);

impl OverReqwest {
    /// A pool for one base address. The error says what is missing.
    pub(crate) fn new(
        base: &BaseUrl,
        connect_timeout: Duration,
    ) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .tcp_nodelay(true)
            .pool_idle_timeout(POOL_IDLE)
            .connect_timeout(connect_timeout);
        if base.is_loopback() {
            // Names such as `forms.localhost` must not leave this machine, whatever the resolver
            // says; nor may a proxy of the environment see them.
            let here = [
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                SocketAddr::from((Ipv6Addr::LOCALHOST, 0)),
            ];
            builder = builder.no_proxy().resolve_to_addrs(base.host(), &here);
        }
        #[cfg(feature = "rustls")]
        {
            let plain = base.is_loopback() && !base.is_https();
            builder = builder.tls_backend_preconfigured(super::tls::config(!plain)?);
        }
        #[cfg(not(feature = "rustls"))]
        if base.is_https() {
            return Err("the cargo feature `rustls` is off".into());
        }
        Ok(Self(builder.build()?))
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        context: &AttemptContext,
    ) -> Result<Response<Bytes>, TransportError> {
        let (parts, body) = request.into_parts();
        let mut builder =
            self.0.request(parts.method, parts.uri.to_string()).headers(parts.headers);
        if !body.is_empty() {
            builder = builder.body(body);
        }
        let mut answer = builder.send().await.map_err(|error| failure(error, Phase::Head))?;
        let status = answer.status();
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

/// Classifies reqwest's errors, whose own kinds are coarse, by what caused them. The address is
/// removed: it holds the cursor.
fn failure(error: reqwest::Error, phase: Phase) -> TransportError {
    let error = error.without_url();
    let kind = if is_tls(&error) {
        TransportErrorKind::Tls
    } else if error.is_connect() {
        TransportErrorKind::Connect
    } else if error.is_timeout() {
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

#[cfg(feature = "rustls")]
fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(|error| error.downcast_ref::<rustls::Error>().is_some())
}

#[cfg(not(feature = "rustls"))]
fn is_tls(_error: &reqwest::Error) -> bool {
    false
}
