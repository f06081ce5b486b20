//! `process_once` and `process_next`.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, DedupeResult, Inbox, InboxError, InboxErrorKind, InboxFuture,
    MemoryInbox, PROCESS_LEASE_MAX, Queue, QueuedDelivery,
};
use formsvc_receiver::test_util::{submission_body, verified};
use formsvc_receiver::{ProcessOutcome, WebhookEvent, process_next, process_once};
use tokio::sync::{mpsc, oneshot};

use crate::support::poll_once;

type Outcome = ProcessOutcome<u32, &'static str>;

async fn run(inbox: impl Inbox, result: Result<u32, &'static str>) -> Outcome {
    process_once(inbox, "sub_1", move |_, _| async move { result }).await
}

#[expect(clippy::unused_async, reason = "handlers are async")]
async fn panic_now() -> Result<u32, &'static str> {
    panic!("in the handler")
}

/// An inbox and a function that advances its clock.
fn inbox_with_clock() -> (MemoryInbox, impl Fn(Duration) + Send + Clone) {
    let now = Arc::new(Mutex::new(SystemTime::UNIX_EPOCH));
    let clock = Arc::clone(&now);
    let inbox = MemoryInbox::builder().clock(move || *clock.lock().unwrap()).build().unwrap();
    (inbox, move |time| *now.lock().unwrap() += time)
}

#[tokio::test]
async fn handled_delivery_is_a_duplicate() {
    let inbox = MemoryInbox::new();
    assert!(matches!(run(inbox.clone(), Ok(7)).await, Outcome::Done(7)));
    assert!(matches!(run(inbox.clone(), Ok(8)).await, Outcome::Duplicate));
    // The key of a verified submission is its id.
    let event = verified(WebhookEvent::from_json(submission_body("sub_1")).unwrap());
    let submission = event.into_submission().unwrap();
    let outcome = process_once(inbox, submission, |_, _| async { Ok::<_, String>(()) }).await;
    assert!(matches!(outcome, ProcessOutcome::Duplicate));
}

#[tokio::test]
async fn concurrent_delivery_is_in_flight() {
    let inbox = MemoryInbox::new();
    let inner = inbox.clone();
    let outer = process_once(inbox, "sub_1", |_, _| async move {
        let other = run(inner, Ok(8)).await;
        assert_eq!((other.status().as_u16(), other.retry_after()), (503, Some(30)));
        Ok::<_, String>(matches!(other, Outcome::InFlight { .. }))
    });
    assert!(matches!(outer.await, ProcessOutcome::Done(true)));
}

#[tokio::test]
async fn failed_handler_releases_its_claim() {
    let inbox = MemoryInbox::new();
    let outcome = run(inbox.clone(), Err("no")).await;
    assert!(matches!(outcome, Outcome::Failed("no")));
    let outcome = process_once(inbox.clone(), "sub_1", |_, _| panic_now()).await;
    assert!(matches!(outcome, Outcome::Panicked));
    let panics_early = |_: &str, _: ClaimToken| -> std::future::Ready<Result<u32, &'static str>> {
        panic!("before the future")
    };
    let outcome = process_once(inbox.clone(), "sub_1", panics_early).await;
    assert!(matches!(outcome, Outcome::Panicked));
    assert!(matches!(run(inbox, Ok(7)).await, Outcome::Done(7)));
}

#[tokio::test]
async fn handler_outlives_dropped_request() {
    let inbox = MemoryInbox::new();
    let (finish, wait) = oneshot::channel::<Result<u32, &'static str>>();
    let handler = |_, _| async { wait.await.unwrap() };
    let mut request = process_once(inbox.clone(), "sub_1", handler).into_future();
    for _ in 0..5 {
        assert!(poll_once(request.as_mut()).await.is_pending());
        tokio::task::yield_now().await;
    }
    assert!(matches!(run(inbox.clone(), Ok(8)).await, Outcome::InFlight { .. }));
    drop(request);
    finish.send(Ok(7)).unwrap();
    while inbox.claim("sub_1", DEFAULT_LEASE).await.unwrap() != Claim::Duplicate {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn failure_hook_runs_for_dropped_request() {
    let (finish, wait) = oneshot::channel::<Result<u32, &'static str>>();
    let (sender, mut failures) = mpsc::unbounded_channel();
    let mut request = process_once(MemoryInbox::new(), "k", |_, _| async { wait.await.unwrap() })
        .inspect_failure(move |failure| sender.send(failure.to_string()).unwrap())
        .into_future();
    assert!(poll_once(request.as_mut()).await.is_pending());
    drop(request);
    finish.send(Err("disk full")).unwrap();
    assert_eq!(failures.recv().await.unwrap(), "the handler failed: disk full");
}

#[tokio::test]
async fn failure_hook_runs_only_for_failures() {
    for (result, expected) in [(Ok(7), 0), (Err("no"), 1)] {
        let inbox = MemoryInbox::new();
        let count = Arc::new(Mutex::new(0));
        for _ in 0..2 {
            let count = Arc::clone(&count);
            let processing = process_once(inbox.clone(), "k", move |_, _| async move { result });
            let _: Outcome = processing.inspect_failure(move |_| *count.lock().unwrap() += 1).await;
        }
        // Done and Duplicate, or two failures.
        assert_eq!(*count.lock().unwrap(), 2 * expected);
    }
}

#[tokio::test]
async fn lease_beyond_retries_of_sender_is_refused() {
    let inbox = MemoryInbox::new();
    let run =
        |lease| process_once(inbox.clone(), "k", |_, _| async { Ok::<_, String>(()) }).lease(lease);
    let outcome = run(PROCESS_LEASE_MAX + Duration::from_nanos(1)).await;
    let ProcessOutcome::NotClaimed(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), InboxErrorKind::InvalidLease);
    assert!(inbox.is_empty());
    assert!(matches!(run(PROCESS_LEASE_MAX).await, ProcessOutcome::Done(())));
}

#[tokio::test]
async fn claim_taken_over_is_lost() {
    let (inbox, advance) = inbox_with_clock();
    let inner = inbox.clone();
    let slow = process_once(inbox, "sub_1", move |_, _| async move {
        advance(DEFAULT_LEASE);
        assert!(matches!(run(inner, Ok(8)).await, Outcome::Done(8)));
        Ok::<_, String>(7)
    });
    let outcome = slow.await;
    assert!(matches!(outcome, ProcessOutcome::Lost(7)), "{outcome:?}");
    assert_eq!(outcome.status(), 503);
}

#[tokio::test]
async fn handler_can_extend_its_lease() {
    let (inbox, advance) = inbox_with_clock();
    let inner = inbox.clone();
    let slow = process_once(inbox, "sub_1", move |_, token: ClaimToken| async move {
        inner.extend(&token, DEFAULT_LEASE * 3).await?;
        advance(DEFAULT_LEASE * 2);
        assert!(matches!(run(inner, Ok(8)).await, Outcome::InFlight { .. }));
        Ok::<_, InboxError>(7)
    });
    assert!(matches!(slow.await, ProcessOutcome::Done(7)));
}

/// A store with scripted failures that records its calls.
#[derive(Default)]
struct Script {
    /// Errors of the next completions.
    complete_errors: Mutex<Vec<InboxErrorKind>>,
    claim_fails: bool,
    calls: Mutex<String>,
}

impl Script {
    fn calls(&self) -> String {
        self.calls.lock().unwrap().trim_start().to_owned()
    }

    fn reply<T: Send + 'static>(
        &self,
        call: &str,
        reply: Result<T, InboxErrorKind>,
    ) -> InboxFuture<'_, T> {
        write!(self.calls.lock().unwrap(), " {call}").unwrap();
        Box::pin(std::future::ready(reply.map_err(InboxError::new)))
    }

    fn claimed<T>(&self, value: T) -> Result<T, InboxErrorKind> {
        if self.claim_fails { Err(InboxErrorKind::Unavailable) } else { Ok(value) }
    }
}

impl Inbox for Script {
    fn claim<'a>(&'a self, key: &'a str, _: Duration) -> InboxFuture<'a, Claim> {
        let token = ClaimToken::new("script", key, 1).unwrap();
        self.reply("claim", self.claimed(Claim::Acquired(token)))
    }

    fn extend<'a>(&'a self, _: &'a ClaimToken, _: Duration) -> InboxFuture<'a, ()> {
        self.reply("extend", Ok(()))
    }

    fn complete<'a>(&'a self, _: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let error = self.complete_errors.lock().unwrap().pop();
        self.reply("complete", error.map_or(Ok(()), Err))
    }

    fn release<'a>(&'a self, _: &'a ClaimToken) -> InboxFuture<'a, ()> {
        self.reply("release", Err(InboxErrorKind::Unavailable))
    }

    fn prune(&self, _: usize) -> InboxFuture<'_, usize> {
        self.reply("prune", Ok(0))
    }
}

impl Queue for Script {
    fn accept<'a>(&'a self, _: &'a str, _: &'a Bytes) -> InboxFuture<'a, DedupeResult> {
        self.reply("accept", Ok(DedupeResult::New))
    }

    fn next(&self, _: Duration) -> InboxFuture<'_, Option<QueuedDelivery>> {
        let token = ClaimToken::new("script", "sub_1", 1).unwrap();
        self.reply("next", self.claimed(Some(QueuedDelivery::new(token, "{}", 3))))
    }

    fn retry<'a>(&'a self, _: &'a ClaimToken, pause: Duration) -> InboxFuture<'a, ()> {
        self.reply(&format!("retry {pause:?}"), Ok(()))
    }
}

#[tokio::test]
async fn store_failure_before_the_handler_is_503() {
    let inbox = Script { claim_fails: true, ..Script::default() };
    let unreachable = |_, _| async { unreachable!() };
    let outcome: Outcome = process_once(inbox, "sub_1", unreachable).await;
    assert!(matches!(outcome, Outcome::NotClaimed(_)));
    assert_eq!(outcome.status(), 503);
    let outcome: Outcome = process_once(MemoryInbox::new(), "", unreachable).await;
    assert_eq!(outcome.status(), 400, "an empty key");
}

#[tokio::test]
async fn completion_is_repeated_once_if_store_is_unavailable() {
    for (failures, expected) in [(1, true), (2, false)] {
        let inbox = Arc::new(Script::default());
        let errors = std::iter::repeat_n(InboxErrorKind::Unavailable, failures);
        inbox.complete_errors.lock().unwrap().extend(errors);
        let outcome = run(Arc::clone(&inbox), Ok(7)).await;
        assert_eq!(matches!(outcome, Outcome::Done(7)), expected, "{outcome:?}");
        assert_eq!(outcome.status().as_u16(), if expected { 200 } else { 503 });
        assert_eq!(inbox.calls(), "claim complete complete", "the claim is kept");
    }
}

#[tokio::test]
async fn failed_release_does_not_hide_the_failure() {
    let inbox = Arc::new(Script::default());
    assert!(matches!(run(Arc::clone(&inbox), Err("no")).await, Outcome::Failed("no")));
    assert_eq!(inbox.calls(), "claim release");
}

#[tokio::test]
async fn failed_queue_delivery_is_retried_after_a_pause() {
    let queue = Arc::new(Script::default());
    let next = || Arc::clone(&queue);
    let pause = |attempts| Duration::from_secs(10).saturating_mul(attempts);
    let failed = process_next(next(), DEFAULT_LEASE, pause, |delivery| async move {
        assert_eq!((&*delivery.payload, delivery.attempts), (&b"{}"[..], 3));
        Err::<(), _>("no")
    });
    assert!(matches!(failed.await, Ok(Some(ProcessOutcome::Failed("no")))));
    let panicked = process_next(next(), DEFAULT_LEASE, pause, |_| panic_now());
    assert!(matches!(panicked.await, Ok(Some(ProcessOutcome::Panicked))));
    let done = process_next(next(), DEFAULT_LEASE, pause, |_| async { Ok::<_, String>(()) });
    assert!(matches!(done.await, Ok(Some(ProcessOutcome::Done(())))));
    assert_eq!(queue.calls(), "next retry 30s next retry 30s next complete");
}

#[tokio::test]
async fn queue_failure_is_an_error() {
    let queue = Script { claim_fails: true, ..Script::default() };
    let pause = |_| Duration::ZERO;
    let result = process_next(queue, DEFAULT_LEASE, pause, |_| panic_now()).await;
    assert_eq!(result.unwrap_err().kind(), InboxErrorKind::Unavailable);
}

#[tokio::test]
async fn failure_is_reported_as_tracing_event() {
    // Registers the call site. Another thread that registers it later would disable it, because it has no
    // subscriber.
    assert!(matches!(run(MemoryInbox::new(), Err("first")).await, Outcome::Failed(_)));
    let subscriber = EventText::default();
    let text = Arc::clone(&subscriber.0);
    // The current-thread runtime runs the tasks on this thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    assert!(matches!(run(MemoryInbox::new(), Ok(7)).await, Outcome::Done(7)));
    assert_eq!(*text.lock().unwrap(), "");
    assert!(matches!(run(MemoryInbox::new(), Err("disk full")).await, Outcome::Failed(_)));
    let text = text.lock().unwrap();
    for part in ["delivery was not handled", "\"sub_1\"", "the handler failed: disk full"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A subscriber that collects the fields of this crate's events.
#[derive(Default)]
struct EventText(Arc<Mutex<String>>);

impl tracing::Subscriber for EventText {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("formsvc_receiver")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = self.0.lock().unwrap();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            write!(text, "{field}={value:?} ").unwrap();
        });
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}
