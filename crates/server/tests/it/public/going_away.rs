//! Clients that go away half way.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;

use super::service::{Service, whole};

/// A body that comes byte by byte, with a pause before each.
fn dribbled(body: &'static str) -> Body {
    let bytes = stream::iter(body.bytes()).then(async |byte| {
        pause().await;
        Ok::<_, std::io::Error>(Bytes::from(vec![byte]))
    });
    Body::from_stream(Box::pin(bytes))
}

/// Is not ready once.
async fn pause() {
    let mut has_paused = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What is woken when there is a reason to poll again, be it by another thread.
#[derive(Default)]
struct Woken {
    is_woken: Mutex<bool>,
    told: Condvar,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.told.notify_one();
    }
}

impl Woken {
    fn wait(&self) {
        let is_woken = self.is_woken.lock().unwrap();
        let waits = |is_woken: &mut bool| !*is_woken;
        let (mut is_woken, waited) =
            self.told.wait_timeout_while(is_woken, Duration::from_secs(60), waits).unwrap();
        assert!(!waited.timed_out(), "nobody woke it");
        *is_woken = false;
    }
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
            let woken = Arc::<Woken>::default();
            let waker = Waker::from(Arc::clone(&woken));
            let mut answering = pin!(service.edge.answer(request(dribbled(BODY))));
            for poll in 0..polls {
                // It goes away right after the last poll, before anybody woke it.
                if poll > 0 {
                    woken.wait();
                }
                let mut context = Context::from_waker(&waker);
                if let Poll::Ready(answer) = answering.as_mut().poll(&mut context) {
                    assert_eq!(answer.status().as_u16(), 201);
                    finished = true;
                    break;
                }
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
