//! Handlers that run once for each key.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_receiver::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, Inbox, InboxError, InboxErrorKind, InboxFuture, MemoryInbox,
    PROCESS_LEASE_MAX, Pending, Queue, Recorded,
};
use formsvc_receiver::test_util::{submission_body, verified};
use formsvc_receiver::{Event, Outcome, process_next, process_once, process_once_detached};

use crate::support::polled;

type Handled = Outcome<u32, &'static str>;

fn inbox() -> MemoryInbox {
    MemoryInbox::builder().build().unwrap()
}

/// An inbox, and what has its time pass.
fn inbox_with_clock() -> (MemoryInbox, impl Fn(Duration)) {
    let now = Arc::new(Mutex::new(std::time::SystemTime::UNIX_EPOCH));
    let clock = Arc::clone(&now);
    let inbox = MemoryInbox::builder().clock(move || *clock.lock().unwrap()).build().unwrap();
    (inbox, move |time| *now.lock().unwrap() += time)
}

async fn run(inbox: &dyn Inbox, result: Result<u32, &'static str>) -> Handled {
    process_once(inbox, "sub_1", DEFAULT_LEASE, |_| async move { result }).await
}

async fn is_free(inbox: &MemoryInbox) -> bool {
    matches!(inbox.claim("sub_1", DEFAULT_LEASE).await.unwrap(), Claim::Acquired(_))
}

#[tokio::test]
async fn a_delivery_that_was_handled_is_not_handled_again() {
    let inbox = inbox();
    assert!(matches!(run(&inbox, Ok(7)).await, Outcome::Done(7)));
    assert!(matches!(run(&inbox, Ok(8)).await, Outcome::Duplicate));
}

#[tokio::test]
async fn a_delivery_that_is_being_handled_is_refused_for_now() {
    let inbox = inbox();
    let inner = inbox.clone();
    let outer = process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| async move {
        let twin = run(&inner, Ok(8)).await;
        assert_eq!((twin.status(), twin.retry_after()), (503, Some(30)));
        Ok::<_, ()>(matches!(twin, Outcome::InFlight { .. }))
    });
    assert!(matches!(outer.await, Outcome::Done(true)));
}

#[tokio::test]
async fn a_handler_that_fails_releases_its_claim() {
    let inbox = inbox();
    let outcome = run(&inbox, Err("no")).await;
    assert!(matches!(outcome, Outcome::Failed("no")));
    assert_eq!(outcome.status(), 500);
    assert!(matches!(run(&inbox, Ok(7)).await, Outcome::Done(7)));
}

#[tokio::test]
async fn a_handler_that_panics_releases_its_claim() {
    let inbox = inbox();
    let panics: [fn() -> Result<u32, &'static str>; 2] =
        [|| panic!("at once"), || std::panic::panic_any(7)];
    for panic in panics {
        let before = process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| {
            let result = panic();
            async move { result }
        });
        let Outcome::Panicked(payload) = before.await else { panic!("it panicked") };
        assert!(payload.message().is_none_or(|message| message == "at once"));
        let after = process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| async {
            tokio::task::yield_now().await;
            panic()
        });
        assert!(matches!(after.await, Outcome::Panicked(_)));
        assert!(matches!(run(&inbox, Err("it is free")).await, Outcome::Failed(_)));
    }
}

#[tokio::test]
async fn a_handler_that_is_dropped_keeps_its_claim_until_its_lease_ends() {
    let (inbox, pass) = inbox_with_clock();
    let ran = Cell::new(false);
    let mut running = Box::pin(process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| async {
        ran.set(true);
        std::future::pending::<Result<u32, &str>>().await
    }));
    assert!(polled(running.as_mut()).await.is_pending());
    assert!(ran.get());
    drop(running);
    // What it began may run on: a blocking call, a request that was sent.
    assert!(matches!(run(&inbox, Ok(8)).await, Outcome::InFlight { .. }));
    pass(DEFAULT_LEASE);
    assert!(is_free(&inbox).await);
}

#[tokio::test]
async fn a_lease_that_outlasts_the_senders_retries_is_refused() {
    let inbox = Scripted::default();
    let run = |lease| process_once(&inbox, "sub_1", lease, |_| async { Ok::<_, ()>(()) });
    let Outcome::NotClaimed(error) = run(PROCESS_LEASE_MAX + Duration::from_nanos(1)).await else {
        panic!("it was claimed")
    };
    assert_eq!(error.kind(), InboxErrorKind::Lease);
    assert!(inbox.asked().is_empty());
    assert!(matches!(run(PROCESS_LEASE_MAX).await, Outcome::Done(())));
}

#[tokio::test]
async fn the_key_of_a_verified_submission_is_the_id_that_was_signed() {
    let event = verified(Event::from_json(submission_body("sub_1")).unwrap());
    let submission = event.into_submission().unwrap();
    let inbox = inbox();
    let handled = |_| async { Ok::<_, ()>(()) };
    let first = process_once(&inbox, &submission, DEFAULT_LEASE, handled).await;
    assert!(matches!(first, Outcome::Done(())));
    assert!(matches!(run(&inbox, Ok(7)).await, Outcome::Duplicate));
}

/// What becomes of `sub_1` while other tasks do what they can.
async fn is_marked_soon(inbox: &MemoryInbox) -> bool {
    for _ in 0..100 {
        match inbox.claim("sub_1", DEFAULT_LEASE).await.unwrap() {
            Claim::Duplicate => return true,
            Claim::InFlight { .. } => tokio::task::yield_now().await,
            Claim::Acquired(_) => return false,
        }
    }
    false
}

#[tokio::test]
async fn a_detached_handler_outlives_whoever_waits_for_it() {
    let inbox = inbox();
    let (go, wait) = tokio::sync::oneshot::channel::<u32>();
    let handler = |_, _| wait;
    let mut waiting =
        Box::pin(process_once_detached(inbox.clone(), "sub_1", DEFAULT_LEASE, handler));
    for _ in 0..3 {
        assert!(polled(waiting.as_mut()).await.is_pending());
        tokio::task::yield_now().await;
    }
    assert!(matches!(run(&inbox, Ok(8)).await, Outcome::InFlight { .. }));
    // The sender hangs up.
    drop(waiting);
    go.send(7).unwrap();
    assert!(is_marked_soon(&inbox).await);
}

#[tokio::test]
async fn a_detached_handler_comes_to_what_it_would_come_to_otherwise() {
    let inbox = inbox();
    let run = async |result: Result<u32, &'static str>| {
        let handler = move |key: String, claim: ClaimToken| async move {
            assert_eq!(key, claim.key());
            result
        };
        process_once_detached(inbox.clone(), "sub_1".to_owned(), DEFAULT_LEASE, handler).await
    };
    assert!(matches!(run(Err("no")).await, Outcome::Failed("no")));
    assert!(matches!(run(Ok(7)).await, Outcome::Done(7)));
    assert!(matches!(run(Ok(8)).await, Outcome::Duplicate));
    let panics = |_, _| async { panic_at::<Result<(), ()>>("work") };
    let panicked = process_once_detached(inbox, "sub_2", DEFAULT_LEASE, panics).await;
    assert!(matches!(panicked, Outcome::Panicked(_)));
}

#[tokio::test]
async fn a_release_that_nobody_waits_for_is_left_to_the_inbox() {
    let inbox = Scripted { releases_hang: true, ..Scripted::default() };
    let mut running = Box::pin(run(&inbox, Err("no")));
    assert!(polled(running.as_mut()).await.is_pending());
    drop(running);
    assert_eq!(inbox.asked(), ["claim", "release", "abandon"]);
}

#[tokio::test]
async fn a_handler_that_was_taken_over_is_told_and_answers_no_success() {
    let now = Arc::new(Mutex::new(std::time::SystemTime::UNIX_EPOCH));
    let clock = Arc::clone(&now);
    let inbox = MemoryInbox::builder().clock(move || *clock.lock().unwrap()).build().unwrap();
    let inner = inbox.clone();
    let slow = process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| async move {
        *now.lock().unwrap() += DEFAULT_LEASE;
        assert!(matches!(run(&inner, Ok(8)).await, Outcome::Done(8)));
        Ok::<_, ()>(7)
    });
    let outcome = slow.await;
    assert!(matches!(outcome, Outcome::Lost(7)), "{outcome:?}");
    assert_eq!(outcome.status(), 503);
}

#[tokio::test]
async fn a_handler_can_extend_its_lease() {
    let now = Arc::new(Mutex::new(std::time::SystemTime::UNIX_EPOCH));
    let clock = Arc::clone(&now);
    let inbox = MemoryInbox::builder().clock(move || *clock.lock().unwrap()).build().unwrap();
    let inner = inbox.clone();
    let slow = process_once(&inbox, "sub_1", DEFAULT_LEASE, |token| async move {
        inner.extend(&token, DEFAULT_LEASE * 3).await.map_err(|_| ())?;
        *now.lock().unwrap() += DEFAULT_LEASE * 2;
        assert!(matches!(run(&inner, Ok(8)).await, Outcome::InFlight { .. }));
        Ok::<_, ()>(7)
    });
    assert!(matches!(slow.await, Outcome::Done(7)));
}

#[tokio::test]
async fn a_key_that_cannot_be_kept_is_refused_before_the_handler_runs() {
    let outcome: Outcome<(), ()> =
        process_once(&inbox(), "", DEFAULT_LEASE, |_| async { unreachable!() }).await;
    assert_eq!(outcome.status(), 400);
}

#[test]
fn its_future_is_send_where_the_handlers_is() {
    fn assert_send<T: Send>(_: &T) {}
    let inbox: Arc<dyn Inbox> = Arc::new(inbox());
    assert_send(&process_once(&inbox, "k", DEFAULT_LEASE, |_| async { Ok::<_, ()>(()) }));
    assert_send(&process_once(&*inbox, "k", DEFAULT_LEASE, |_| async { Ok::<_, ()>(()) }));
}

/// An inbox that does what it is told, and tells what it was asked.
#[derive(Default)]
struct Scripted {
    /// What each completion comes to; it succeeds when there is nothing left.
    completions: Mutex<Vec<InboxErrorKind>>,
    claim_fails: bool,
    releases_hang: bool,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn answer<T: Send + 'static>(
        &self,
        asked: impl Into<String>,
        answer: Result<T, InboxErrorKind>,
    ) -> InboxFuture<'_, T> {
        self.asked.lock().unwrap().push(asked.into());
        Box::pin(std::future::ready(answer.map_err(InboxError::new)))
    }
}

impl Inbox for Scripted {
    fn claim<'a>(&'a self, key: &'a str, _: Duration) -> InboxFuture<'a, Claim> {
        let token = ClaimToken::issue("scripted", key, 1).unwrap();
        let failure = self.claim_fails.then_some(InboxErrorKind::Unavailable);
        self.answer("claim", failure.map_or(Ok(Claim::Acquired(token)), Err))
    }

    fn extend<'a>(&'a self, _: &'a ClaimToken, _: Duration) -> InboxFuture<'a, ()> {
        self.answer("extend", Ok(()))
    }

    fn complete<'a>(&'a self, _: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let failure = self.completions.lock().unwrap().pop();
        self.answer("complete", failure.map_or(Ok(()), Err))
    }

    fn release<'a>(&'a self, _: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let answer = self.answer("release", Err(InboxErrorKind::Unavailable));
        if self.releases_hang { Box::pin(std::future::pending()) } else { answer }
    }

    fn abandon(&self, _: &ClaimToken) {
        self.asked.lock().unwrap().push("abandon".into());
    }

    fn prune(&self, _: usize) -> InboxFuture<'_, usize> {
        self.answer("prune", Ok(0))
    }
}

impl Queue for Scripted {
    fn accept<'a>(&'a self, _: &'a str, _: &'a bytes::Bytes) -> InboxFuture<'a, Recorded> {
        self.answer("accept", Ok(Recorded::New))
    }

    fn next(&self, _: Duration) -> InboxFuture<'_, Option<Pending>> {
        let token = ClaimToken::issue("scripted", "sub_1", 1).unwrap();
        let failure = self.claim_fails.then_some(InboxErrorKind::Unavailable);
        let pending = Pending::new(token, b"{}".to_vec(), 3);
        self.answer("next", failure.map_or(Ok(Some(pending)), Err))
    }

    fn retry<'a>(&'a self, _: &'a ClaimToken, after: Duration) -> InboxFuture<'a, ()> {
        self.answer(format!("retry {after:?}"), Ok(()))
    }
}

#[tokio::test]
async fn a_store_that_fails_is_no_success_and_the_handler_does_not_run() {
    let inbox = Scripted { claim_fails: true, ..Scripted::default() };
    let outcome: Outcome<(), ()> =
        process_once(&inbox, "sub_1", DEFAULT_LEASE, |_| async { unreachable!() }).await;
    assert!(matches!(outcome, Outcome::NotClaimed(_)));
    assert_eq!(outcome.status(), 503);
}

#[tokio::test]
async fn a_completion_that_is_not_answered_is_asked_once_more() {
    let inbox = Scripted::default();
    inbox.completions.lock().unwrap().push(InboxErrorKind::Unavailable);
    assert!(matches!(run(&inbox, Ok(7)).await, Outcome::Done(7)));
    assert_eq!(inbox.asked(), ["claim", "complete", "complete"]);
}

#[tokio::test]
async fn an_effect_without_a_mark_is_no_success_and_its_claim_is_kept() {
    let inbox = Scripted::default();
    inbox.completions.lock().unwrap().extend([InboxErrorKind::Unavailable; 2]);
    let outcome = run(&inbox, Ok(7)).await;
    assert!(matches!(outcome, Outcome::NotCompleted { value: 7, .. }));
    assert_eq!(outcome.status(), 503);
    assert_eq!(inbox.asked(), ["claim", "complete", "complete"]);
}

#[tokio::test]
async fn a_claim_that_cannot_be_released_does_not_hide_why_the_handler_failed() {
    let inbox = Scripted::default();
    assert!(matches!(run(&inbox, Err("no")).await, Outcome::Failed("no")));
    assert_eq!(inbox.asked(), ["claim", "release"]);
}

fn panic_at<T>(what: &str) -> T {
    panic!("at {what}")
}

#[tokio::test]
async fn what_a_worker_fails_at_is_due_again_after_a_pause() {
    let queue = Scripted::default();
    let pause = |attempts| Duration::from_secs(10).saturating_mul(attempts);
    let failed = process_next(&queue, DEFAULT_LEASE, pause, |pending| async move {
        assert_eq!((&*pending.payload, pending.attempts), (&b"{}"[..], 3));
        Err::<(), _>("no")
    });
    assert!(matches!(failed.await, Ok(Some(Outcome::Failed("no")))));
    let panicked = process_next(&queue, DEFAULT_LEASE, pause, |_| async {
        panic_at::<Result<(), ()>>("work")
    });
    assert!(matches!(panicked.await, Ok(Some(Outcome::Panicked(_)))));
    let done = process_next(&queue, DEFAULT_LEASE, pause, |_| async { Ok::<_, ()>(()) });
    assert!(matches!(done.await, Ok(Some(Outcome::Done(())))));
    assert_eq!(queue.asked(), ["next", "retry 30s", "next", "retry 30s", "next", "complete"]);
}

#[tokio::test]
async fn a_queue_that_fails_is_an_error_and_no_outcome() {
    let queue = Scripted { claim_fails: true, ..Scripted::default() };
    let handler = async |_| -> Result<(), ()> { unreachable!() };
    let result = process_next(&queue, DEFAULT_LEASE, |_| Duration::ZERO, handler).await;
    assert_eq!(result.unwrap_err().kind(), InboxErrorKind::Unavailable);
}

#[tokio::test]
async fn what_a_dropped_worker_had_taken_is_left_to_its_lease() {
    let queue = Scripted::default();
    let pause = |_| Duration::ZERO;
    let mut working = Box::pin(process_next(&queue, DEFAULT_LEASE, pause, |_| {
        std::future::pending::<Result<(), ()>>()
    }));
    assert!(polled(working.as_mut()).await.is_pending());
    drop(working);
    assert_eq!(queue.asked(), ["next"]);
}
