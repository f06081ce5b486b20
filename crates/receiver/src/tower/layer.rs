//! The layer that lets only verified requests through.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, request};
use http_body::Body;
use http_body_util::{Either, Full};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{ReadBody, admit, check_event};
use crate::{Rejection, Verifier};

/// The body of an answer: the inner service's, or that of a refusal.
pub type VerifyResponseBody<B> = Either<B, Full<Bytes>>;

/// A tower layer that lets only verified deliveries through (SPEC §5).
///
/// A request whose signature header is missing, repeated, malformed or of another time than now, or whose
/// announced length is over the verifier's [`max_body`](crate::VerifierBuilder::max_body), is refused
/// before one byte of its body is asked for. Otherwise at most that many bytes are read, for at most the
/// verifier's [`read_timeout`](crate::VerifierBuilder::read_timeout): **set it**, or put a time limit around
/// this layer. Anybody can make a header that is worth reading on.
///
/// What is verified goes on with its body whole, as [`Full`], and [`Signed`](crate::Signed) in its
/// extensions; with [`events`](Self::events) also [`Verified<Event>`](crate::Verified). What is not is
/// answered as [`Rejection`] says; the inner service does not see it. Errors of the inner service
/// pass through, of whatever type they are.
///
/// The layer itself is always ready. The inner service is asked whether it is once a request is verified,
/// and waited for, so strangers take up none of the places that a limit behind the layer has. A layer in
/// front that sheds load does not see that the inner service is busy: put it behind.
///
/// ```
/// use bytes::Bytes;
/// use formsvc_receiver::{Event, Verified, Verifier, VerifyLayer};
/// use http_body_util::Full;
/// use tower::ServiceBuilder;
///
/// let verifier = Verifier::builder().secret("whsec_of_an_example".into()).build()?;
/// let service = ServiceBuilder::new().layer(VerifyLayer::events(verifier)).service_fn(
///     |request: http::Request<Full<Bytes>>| async move {
///         let event = request.extensions().get::<Verified<Event>>().expect("the layer put it there");
///         println!("{}", event.kind());
///         Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
///     },
/// );
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VerifyLayer {
    verifier: Verifier,
    reads_events: bool,
}

impl VerifyLayer {
    /// Verifies; whatever the body is, it goes on.
    pub fn new(verifier: Verifier) -> Self {
        Self { verifier, reads_events: false }
    }

    /// Verifies, and reads the body as an event (SPEC §6): a body that is none is refused, and so is one
    /// of another kind than `X-Service-Event` says, which is not signed.
    pub fn events(verifier: Verifier) -> Self {
        Self { verifier, reads_events: true }
    }
}

impl<S> Layer<S> for VerifyLayer {
    type Service = VerifyService<S>;
    fn layer(&self, inner: S) -> VerifyService<S> {
        VerifyService { inner, layer: self.clone() }
    }
}

/// The service that [`VerifyLayer`] makes.
#[derive(Clone, Debug)]
pub struct VerifyService<S> {
    inner: S,
    layer: VerifyLayer,
}

impl<S, B, R> Service<Request<B>> for VerifyService<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone,
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<VerifyResponseBody<R>>;
    type Error = S::Error;
    type Future = VerifyFuture<S, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        let state = match admit(&self.layer.verifier, &head.headers, &body) {
            Err(error) => State::Refused { rejection: error.into() },
            Ok(signature) => {
                let reading = ReadBody::new(body, &self.layer.verifier);
                let service = self.inner.clone();
                let call = Call { service, head, signature, layer: self.layer.clone() };
                State::Reading { reading, call: Some(call) }
            }
        };
        VerifyFuture { state }
    }
}

/// All that is needed once the body is there.
struct Call<S> {
    service: S,
    head: request::Parts,
    signature: HeaderValue,
    layer: VerifyLayer,
}

impl<S> Call<S> {
    /// The service and what it is to be called with, once it is ready.
    fn with(self, body: Bytes) -> Result<(S, Request<Full<Bytes>>), Rejection> {
        let Self { service, mut head, signature, layer } = self;
        let signed = if layer.reads_events {
            let verified = layer.verifier.verify_event(signature.as_bytes(), body.clone())?;
            check_event(&head.headers, verified.event())?;
            let signed = verified.signed().clone();
            head.extensions.insert(verified);
            signed
        } else {
            layer.verifier.verify(signature.as_bytes(), &body)?
        };
        head.extensions.insert(signed);
        Ok((service, Request::from_parts(head, Full::new(body))))
    }
}

pin_project! {
    /// The future of [`VerifyService`].
    pub struct VerifyFuture<S, B>
    where
        S: Service<Request<Full<Bytes>>>,
    {
        #[pin]
        state: State<S, B>,
    }
}

pin_project! {
    #[project = StateNow]
    enum State<S, B>
    where
        S: Service<Request<Full<Bytes>>>,
    {
        Refused { rejection: Rejection },
        Reading { #[pin] reading: ReadBody<B>, call: Option<Call<S>> },
        Verified { service: S, request: Option<Request<Full<Bytes>>> },
        Calling { #[pin] future: S::Future },
    }
}

impl<S, B, R> Future for VerifyFuture<S, B>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>>,
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Response<VerifyResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateNow::Refused { rejection } => {
                    return Poll::Ready(Ok(rejection.to_response().map(Either::Right)));
                }
                StateNow::Calling { future } => {
                    return future.poll(context).map_ok(|response| response.map(Either::Left));
                }
                StateNow::Reading { reading, call } => {
                    let body = ready!(reading.poll(context));
                    let call = call.take().expect("this state is left at once");
                    match body.and_then(|body| call.with(body)) {
                        Ok((service, request)) => {
                            State::Verified { service, request: Some(request) }
                        }
                        Err(rejection) => State::Refused { rejection },
                    }
                }
                StateNow::Verified { service, request } => {
                    // The one that says it is ready is the one that must be called.
                    ready!(service.poll_ready(context))?;
                    let request = request.take().expect("this state is left at once");
                    State::Calling { future: service.call(request) }
                }
            };
            state.set(next);
        }
    }
}
