//! A tower service in place of the built-in HTTP client.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::{
    Client, ErrorKind, RetryPolicy, TowerTransport, Transport, TransportError, TransportErrorKind,
};
use http::{Request, Response};
use http_body::{Body, Frame};
use tower::timeout::TimeoutLayer;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::bodies::{USER, error, last};
use crate::support::{KEY, builder};

/// A body in pieces that may break off.
struct Pieces(VecDeque<io::Result<Frame<Bytes>>>);

impl Pieces {
    fn of(text: &'static str, sizes: usize) -> Self {
        let data = |piece| Ok(Frame::data(Bytes::from_static(piece)));
        let trailers = Ok(Frame::trailers(http::HeaderMap::new()));
        Self(text.as_bytes().chunks(sizes).map(data).chain([trailers]).collect())
    }

    fn then_broken(mut self) -> Self {
        self.0.push_back(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
        self
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(self.0.pop_front())
    }
}

fn client(transport: impl Transport) -> Client {
    builder().retry(RetryPolicy::none()).transport(transport).build().unwrap()
}

#[tokio::test]
async fn a_stack_of_layers_is_a_transport() {
    let inner = service_fn(|request: Request<String>| {
        assert_eq!(request.headers()["authorization"], format!("Bearer {KEY}"));
        assert_eq!(request.headers()["x-added"], "1");
        ready(Ok::<_, Infallible>(Response::new(Pieces::of(USER, 7))))
    });
    // Another kind of body, a header more, a time limit, and boxed: cloned, but not shared.
    let stack = TimeoutLayer::new(Duration::from_secs(9)).layer(inner);
    let stack = stack.map_request(|request: Request<Bytes>| {
        let mut request = request.map(|_| String::new());
        request.headers_mut().insert("x-added", http::HeaderValue::from_static("1"));
        request
    });
    let me = client(TowerTransport::new(BoxCloneService::new(stack))).me().await.unwrap();
    assert_eq!((me.name.as_str(), me.attempts()), ("Ada", 1));
}

#[tokio::test]
async fn bodies_in_one_piece_and_in_many_read_the_same() {
    for size in [1, 50, 1_000_000] {
        let text: &'static str = last(0..40).leak();
        let service =
            service_fn(move |_| ready(Ok::<_, Infallible>(Response::new(Pieces::of(text, size)))));
        let client = client(TowerTransport::new(service));
        let page = client.form("frm_1".parse().unwrap()).submissions().page().await.unwrap();
        assert_eq!((page.len(), page.text()), (40, text));
    }
}

#[tokio::test]
async fn a_service_that_is_not_ready_is_waited_for_and_its_refusal_counts() {
    #[derive(Clone)]
    struct Unready;
    impl tower::Service<Request<Bytes>> for Unready {
        type Response = Response<String>;
        type Error = io::Error;
        type Future = std::future::Pending<io::Result<Self::Response>>;
        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()))
        }
        fn call(&mut self, _request: Request<Bytes>) -> Self::Future {
            panic!("it is not ready")
        }
    }
    let failure = client(TowerTransport::new(Unready)).me().await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Connect);
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_apart_by_their_causes() {
    let nested = |kind: io::ErrorKind| io::Error::other(io::Error::from(kind));
    for (kind, expected, attempts) in [
        (io::ErrorKind::ConnectionRefused, ErrorKind::Connect, 4),
        (io::ErrorKind::ConnectionReset, ErrorKind::Transport, 4),
        (io::ErrorKind::TimedOut, ErrorKind::Timeout, 4),
        (io::ErrorKind::PermissionDenied, ErrorKind::Transport, 1),
    ] {
        let service = service_fn(move |_| ready(Err::<Response<String>, io::Error>(nested(kind))));
        let client = builder().transport(TowerTransport::new(service)).build().unwrap();
        let failure = client.me().await.unwrap_err();
        assert_eq!((failure.kind(), failure.attempts()), (expected, attempts), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_services_own_errors_can_be_classified() {
    let slow = service_fn(|_| std::future::pending::<Result<Response<String>, io::Error>>());
    let service = TimeoutLayer::new(Duration::from_secs(1)).layer(slow);
    let transport = TowerTransport::new(service).classify(|error| {
        match error.downcast_ref::<tower::timeout::error::Elapsed>() {
            Some(_) => TransportErrorKind::Timeout,
            None => TransportErrorKind::Other,
        }
    });
    let failure = client(transport).me().await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Timeout);

    let ours = |_| {
        let kind = TransportErrorKind::TooLarge;
        ready(Err::<Response<String>, _>(TransportError::from_kind(kind)))
    };
    let failure = client(TowerTransport::new(service_fn(ours))).me().await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn a_body_that_breaks_off_keeps_status_and_request_id() {
    let text: &'static str = error("form_not_found", "none").leak();
    for (status, kind) in [(200, ErrorKind::Transport), (404, ErrorKind::Api)] {
        let service = service_fn(move |_| {
            let answer = Response::builder().status(status).header("x-request-id", "req_7");
            let body = Pieces::of(text, 9).then_broken();
            ready(Ok::<_, Infallible>(answer.body(body).unwrap()))
        });
        let failure = client(TowerTransport::new(service)).me().await.unwrap_err();
        assert_eq!((failure.kind(), failure.request_id()), (kind, Some("req_7")));
        assert_eq!(failure.status().unwrap().as_u16(), status);
    }
}

/// A body without end, which counts the pieces of 8 MiB that were taken.
struct Endless(Arc<Mutex<usize>>);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static MEGABYTES: [u8; 8 << 20] = [0; 8 << 20];
        *self.0.lock().unwrap() += 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&MEGABYTES)))))
    }
}

/// The failure of a call that is answered so, and how many pieces of the body were read.
async fn endless(status: u16) -> (formsvc_client::Error, usize) {
    let pieces = Arc::new(Mutex::new(0));
    let count = pieces.clone();
    let service = service_fn(move |_| {
        let answer = Response::builder().status(status).body(Endless(count.clone()));
        ready(Ok::<_, Infallible>(answer.unwrap()))
    });
    let failure = client(TowerTransport::new(service)).me().await.unwrap_err();
    let pieces = *pieces.lock().unwrap();
    (failure, pieces)
}

#[tokio::test]
async fn a_body_over_the_cap_is_given_up() {
    let (failure, pieces) = endless(200).await;
    assert_eq!(failure.kind(), ErrorKind::TooLarge);
    assert_eq!(pieces, 5, "the cap is 32 MiB");
}

#[tokio::test]
async fn of_the_body_of_an_error_64_kib_are_read() {
    let (failure, pieces) = endless(404).await;
    assert_eq!((failure.kind(), pieces), (ErrorKind::Api, 1));
    assert_eq!(failure.body().unwrap().len(), 64 << 10);
}
