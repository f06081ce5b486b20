//! Clients that go away half way.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;

use super::service::{Service, whole};

/// A body that comes byte by byte, with a pause before each.
fn dribbled(body: &'static str) -> Body {
    let bytes = stream::iter(body.bytes()).then(async |byte| {
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(Bytes::from(vec![byte]))
    });
    Body::from_stream(Box::pin(bytes))
}

fn request(body: Body) -> Request<Body> {
    let request = Request::post("/f/form").header("content-type", "application/json");
    whole(request.header("idempotency-key", "k"), body)
}

#[tokio::test]
async fn a_client_that_goes_away_at_any_moment_leaves_all_or_nothing() {
    const BODY: &str = r#"{"Name":"a"}"#;
    let mut finished = false;
    for polls in 0..200 {
        let service = Service::with_form().await;
        {
            let mut answering = pin!(service.edge.answer(request(dribbled(BODY))));
            for _ in 0..polls {
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(answer) = answering.as_mut().poll(&mut context) {
                    assert_eq!(answer.status().as_u16(), 201);
                    finished = true;
                    break;
                }
                // The writer is another thread.
                std::thread::yield_now();
            }
        }
        let kept = service.kept("form").await;
        assert!(kept.len() <= 1, "{kept:?}");
        // Whoever comes again to be sure finds one.
        let again = service.edge.answer(request(Body::from(BODY))).await;
        assert_eq!(again.status().as_u16(), 201);
        assert_eq!(service.kept("form").await, [r#"{"Name":"a","Terms":false}"#]);
        if finished {
            return;
        }
    }
    panic!("the request was never answered");
}
