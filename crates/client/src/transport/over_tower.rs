//! A tower service as transport.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, BufMut, Bytes};
use http::{Request, Response, StatusCode};
use http_body::Body;
use tower_service::Service;

use super::{AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind, causes};

type BoxError = Box<dyn StdError + Send + Sync>;
type Classify = Arc<dyn Fn(&(dyn StdError + 'static)) -> TransportErrorKind + Send + Sync>;

/// Makes a [`Transport`] of a tower service that takes `http::Request<Bytes>` and answers with a
/// body of any kind: a client library, or a stack of layers over one. The service is cloned for
/// each request; it is asked whether it is ready, then called.
///
/// The service must not follow redirects, nor show the request's headers in its errors: the request
/// carries the key. Retries and limits are the client's own, and need no layers.
///
/// ```
/// use bytes::Bytes;
/// use formsvc_client::{Client, TowerTransport};
/// use tower::service_fn;
///
/// let service = service_fn(|request: http::Request<Bytes>| async move {
///     assert_eq!(request.uri().path(), "/api/v1/me");
///     let body = r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#.to_owned();
///     Ok::<_, std::io::Error>(http::Response::new(body))
/// });
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let client = Client::builder()
///     .base_url("https://forms.example")
///     .api_key("fsk_example".into())
///     .transport(TowerTransport::new(service))
///     .build()?;
/// assert_eq!(client.me().await?.name, "Ada");
/// # Ok::<(), formsvc_client::Error>(())
/// # }).unwrap();
/// ```
///
/// A service that wants another kind of body, such as one of hyper's, gets it from tower's
/// `map_request`.
pub struct TowerTransport<S> {
    /// A lock, so that services need not be `Sync`. Held only to clone.
    service: Mutex<S>,
    classify: Classify,
}

impl<S> TowerTransport<S> {
    /// Sends by this service.
    ///
    /// What its errors mean for retries is told by their causes: a [`TransportError`] means what it
    /// says, an [`io::Error`] follows from its kind, and anything else is
    /// [`TransportErrorKind::Other`], which is final. See [`classify`](Self::classify).
    pub fn new(service: S) -> Self {
        Self { service: Mutex::new(service), classify: Arc::new(by_cause) }
    }

    /// Tells the kinds of the service's errors, in place of the rule above: for a service with
    /// errors of its own, such as a timeout layer's.
    #[must_use]
    pub fn classify(
        mut self,
        kind_of: impl Fn(&(dyn StdError + 'static)) -> TransportErrorKind + Send + Sync + 'static,
    ) -> Self {
        self.classify = Arc::new(kind_of);
        self
    }

    fn failure(&self, error: impl Into<BoxError>) -> TransportError {
        match error.into().downcast::<TransportError>() {
            Ok(error) => *error,
            Err(error) => TransportError::new((self.classify)(&*error), error),
        }
    }

    async fn exchange<B>(
        &self,
        mut service: S,
        request: Request<Bytes>,
        context: &AttemptContext,
    ) -> Result<Response<Bytes>, TransportError>
    where
        S: Service<Request<Bytes>, Response = Response<B>, Error: Into<BoxError>>,
        B: Body<Error: Into<BoxError>>,
    {
        std::future::poll_fn(|cx| service.poll_ready(cx)).await.map_err(|e| self.failure(e))?;
        let answer = service.call(request).await.map_err(|error| self.failure(error))?;
        let (head, body) = answer.into_parts();
        let body = match head.status {
            StatusCode::OK => self.read(body, context.max_body()).await,
            _ => self.read_start(body, context.max_error_body()).await,
        };
        match body {
            Ok(body) => Ok(Response::from_parts(head, body)),
            Err(error) => Err(error.with_head(head.status, head.headers)),
        }
    }

    async fn read<B>(&self, body: B, max_body: usize) -> Result<Bytes, TransportError>
    where
        B: Body<Error: Into<BoxError>>,
    {
        let too_large = || TransportError::from_kind(TransportErrorKind::TooLarge);
        if body.size_hint().lower() > max_body as u64 {
            return Err(too_large());
        }
        let mut body = pin!(body);
        // A body in one piece, which most are, is not copied.
        let (mut first, mut whole) = (Bytes::new(), Vec::new());
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(mut data) = frame.map_err(|error| self.failure(error))?.into_data() else {
                continue;
            };
            let piece = data.copy_to_bytes(data.remaining());
            if piece.len() > max_body - first.len().max(whole.len()) {
                return Err(too_large());
            }
            if first.is_empty() && whole.is_empty() {
                first = piece;
            } else {
                if whole.is_empty() {
                    whole.extend_from_slice(&std::mem::take(&mut first));
                }
                whole.extend_from_slice(&piece);
            }
        }
        Ok(if whole.is_empty() { first } else { Bytes::from(whole) })
    }

    /// The first bytes of a body.
    async fn read_start<B>(&self, body: B, enough: usize) -> Result<Bytes, TransportError>
    where
        B: Body<Error: Into<BoxError>>,
    {
        let mut body = pin!(body);
        let mut start = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(data) = frame.map_err(|error| self.failure(error))?.into_data() else {
                continue;
            };
            let room = enough - start.len();
            start.put(data.take(room));
            if start.len() == enough {
                break;
            }
        }
        Ok(Bytes::from(start))
    }
}

/// The kind that follows from what caused an error.
fn by_cause(error: &(dyn StdError + 'static)) -> TransportErrorKind {
    use io::ErrorKind::{
        AddrNotAvailable, BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset,
        HostUnreachable, NetworkUnreachable, NotConnected, TimedOut, UnexpectedEof,
    };
    for cause in causes(error) {
        if let Some(ours) = cause.downcast_ref::<TransportError>() {
            return ours.kind();
        }
        let Some(io) = cause.downcast_ref::<io::Error>() else { continue };
        match io.kind() {
            AddrNotAvailable | ConnectionRefused | HostUnreachable | NetworkUnreachable
            | NotConnected => return TransportErrorKind::Connect,
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
                return TransportErrorKind::Interrupted;
            }
            TimedOut => return TransportErrorKind::Timeout,
            _ => {}
        }
    }
    TransportErrorKind::Other
}

impl<S, B> Transport for TowerTransport<S>
where
    S: Service<Request<Bytes>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(self.exchange(service, request, context))
    }
}

impl<S> fmt::Debug for TowerTransport<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerTransport").finish_non_exhaustive()
    }
}
