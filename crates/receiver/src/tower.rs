//! Verification in front of any tower service.

use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Either, Full};
use tower_layer::Layer;
use tower_service::Service;

use crate::Verifier;
use crate::read_body::verify_stream;

/// A tower layer that forwards only verified events (SPEC §5, §6).
///
/// The inner service receives the complete body as [`Full`], and finds
/// `Verified<WebhookEvent>` in the extensions of the request. Other requests are answered as
/// [`Rejection`](crate::Rejection) describes. The body is read only if the headers are acceptable, up
/// to [`max_body`](crate::VerifierBuilder::max_body) bytes and for at most
/// [`read_timeout`](crate::VerifierBuilder::read_timeout), with the timer of tokio.
///
/// The layer is always ready. It waits until the inner service is ready after it verified a request,
/// so unverified requests do not count against a concurrency limit behind the layer.
///
/// ```
/// use formsvc_receiver::bytes::Bytes;
/// use formsvc_receiver::http::{Request, Response};
/// use formsvc_receiver::{Verified, Verifier, VerifyLayer, WebhookEvent};
/// use http_body_util::Full;
/// use tower::ServiceBuilder;
///
/// async fn hook(request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, std::io::Error> {
///     let event = request.extensions().get::<Verified<WebhookEvent>>();
///     println!("{:?}", event.map(|event| event.kind()));
///     Ok(Response::default())
/// }
///
/// let verifier = Verifier::new("whsec_of_an_example")?;
/// let service = ServiceBuilder::new().layer(VerifyLayer::new(verifier)).service_fn(hook);
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    verifier: Verifier,
}

impl VerifyLayer {
    /// Creates the layer.
    pub fn new(verifier: Verifier) -> Self {
        Self { verifier }
    }
}

impl<S> Layer<S> for VerifyLayer {
    type Service = VerifyService<S>;
    fn layer(&self, inner: S) -> VerifyService<S> {
        VerifyService { inner, verifier: self.verifier.clone() }
    }
}

/// The service of a [`VerifyLayer`].
#[derive(Clone, Debug)]
pub struct VerifyService<S> {
    inner: S,
    verifier: Verifier,
}

impl<S, B, R> Service<Request<B>> for VerifyService<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Either<R, Full<Bytes>>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { mut inner, verifier } = self.clone();
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let verified = match verify_stream(&verifier, &head.headers, body).await {
                Ok(verified) => verified,
                Err(rejection) => {
                    let response = rejection.to_response();
                    return Ok(response.map(|body| Either::Right(Full::new(body))));
                }
            };
            let body = Full::new(verified.body().clone());
            head.extensions.insert(verified);
            poll_fn(|context| inner.poll_ready(context)).await?;
            let response = inner.call(Request::from_parts(head, body)).await?;
            Ok(response.map(Either::Left))
        })
    }
}
