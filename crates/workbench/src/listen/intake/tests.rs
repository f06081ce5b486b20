use formsvc_contract::send::SIGNATURE;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::StatusCode;

use super::*;
use crate::store::StoreLimits;
use crate::verdict::VerdictCode;

const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
const BODY: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"T","data":{"Name":"Ada","n":3},"created_at":"2026-01-31T09:30:00.000Z"}"#;

type Events = mpsc::Receiver<ListenerEvent>;

fn intake(change: impl FnOnce(&mut ListenRules, &mut ListenLimits)) -> (Arc<Intake>, Events) {
    let (mut rules, mut limits) = (ListenRules::default(), ListenLimits::default());
    change(&mut rules, &mut limits);
    let store =
        CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, age: Duration::MAX }).unwrap();
    let (intake, events) = Intake::new(rules, limits, store);
    (Arc::new(intake), events)
}

fn verified(rules: &mut ListenRules) {
    rules.verifier = Some(Verifier::new(SECRET).unwrap());
}

fn unsigned() -> CompleteRequest {
    CompleteRequest {
        source: Source::Poll,
        method: Method::POST,
        request_target: "/".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(BODY.as_bytes()),
        memory: None,
    }
}

fn signed() -> CompleteRequest {
    let (secret, request) = (SigningSecret::new(SECRET).unwrap(), unsigned());
    let now = u64::try_from(Timestamp::now().as_second()).unwrap();
    let signature = sign([&secret], now, &request.body);
    let headers = HeaderMap::from_iter([(SIGNATURE, signature.parse().unwrap())]);
    CompleteRequest { headers, ..request }
}

async fn status(intake: &Arc<Intake>, request: CompleteRequest) -> Result<Option<u16>, Refusal> {
    let (_, delivery) = intake.accept(request).await?;
    Ok(delivery.summary.response.unwrap().status)
}

#[tokio::test]
async fn rejected_delivery_takes_no_slot_of_the_limit() {
    let (intake, _events) = intake(|rules, limits| {
        verified(rules);
        limits.deliveries = Some(1);
    });
    // All three deliveries have a slot before the first delivery is counted.
    let slots = [intake.slot(true).await, intake.slot(false).await, intake.slot(false).await];
    let [rejected, valid, late] = slots.map(Result::unwrap);
    let mut statuses = Vec::new();
    for (request, slot) in [(unsigned(), rejected), (signed(), valid), (signed(), late)] {
        let handled = intake.handle(intake.verify(request), slot).await;
        statuses.push(handled.map(|(response, _)| response.unwrap().status().as_u16()));
    }
    assert_eq!(statuses, [Ok(401), Ok(200), Err(Refusal::Stopping)]);
    assert_eq!(status(&intake, signed()).await, Err(Refusal::Stopping));
}

/// Unsigned requests never prevent a signed delivery, even if no event is read.
#[tokio::test(start_paused = true)]
async fn unsigned_requests_do_not_block_a_signed_delivery() {
    let (intake, mut events) = intake(|rules, limits| {
        verified(rules);
        limits.in_flight = 2;
    });
    let requests = (0..200).map(|_| status(&intake, unsigned()));
    let statuses = futures_util::future::join_all(requests).await;
    let stored = statuses.iter().filter(|status| **status == Ok(Some(401))).count();
    assert_eq!(stored, MAX_REJECTED);
    for _ in 0..=WAITING_EVENTS {
        intake.report_refusal(Method::GET, "/".to_owned(), Refusal::MethodNotAllowed);
    }
    for _ in 0..WAITING_EVENTS {
        assert_eq!(status(&intake, unsigned()).await, Err(Refusal::TooManyInvalid));
    }
    let signed = [signed(), signed()].map(|request| status(&intake, request));
    assert_eq!(futures_util::future::join_all(signed).await, [Ok(Some(200)); 2]);
    let mut read = 0;
    while events.try_recv().is_ok() {
        read += 1;
    }
    assert_eq!(read, WAITING_EVENTS + 2);
}

#[tokio::test]
async fn attempts_count_only_trusted_deliveries() {
    let (intake, mut events) = intake(|rules, _| {
        verified(rules);
        rules.faults.respond = vec![Fault::Respond(StatusCode::SERVICE_UNAVAILABLE), Fault::None];
    });
    for (request, expected) in
        [(unsigned(), 401), (signed(), 503), (unsigned(), 401), (signed(), 200), (signed(), 200)]
    {
        assert_eq!(status(&intake, request).await, Ok(Some(expected)));
    }
    let mut attempts = Vec::new();
    while let Ok(ListenerEvent::Delivered { delivery, .. }) = events.try_recv() {
        let attempt = delivery.summary.attempt;
        attempts.push((attempt.number, attempt.is_duplicate));
    }
    assert_eq!(attempts, [(1, false), (1, false), (1, false), (2, false), (3, true)]);
}

#[tokio::test]
async fn invalid_delivery_is_accepted_only_if_configured() {
    for (on_invalid, expected) in [
        (OnInvalid::Reject, (401, AnsweredBy::Listener)),
        (OnInvalid::Accept, (200, AnsweredBy::Listener)),
        (OnInvalid::Forward, (503, AnsweredBy::Fault)),
    ] {
        let (intake, _events) = intake(|rules, _| {
            verified(rules);
            rules.on_invalid = on_invalid;
            let respond = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::BAD_GATEWAY];
            rules.faults.respond = respond.map(Fault::Respond).into();
        });
        let (_, delivery) = intake.accept(unsigned()).await.unwrap();
        let response = delivery.summary.response.unwrap();
        assert_eq!((response.status.unwrap(), response.answered_by), expected);
        if on_invalid == OnInvalid::Forward {
            let (_, second) = intake.accept(unsigned()).await.unwrap();
            assert_eq!(second.summary.response.unwrap().status, Some(502));
        }
        assert_eq!(delivery.summary.verdict.code, VerdictCode::MissingSignature);
    }
}

#[tokio::test]
async fn failing_store_is_reported_once_and_answered_with_503() {
    let (intake, mut events) = intake(|_, limits| limits.in_flight = 2);
    intake.store.clone().close().await;
    // The refusals fill the channel except for the events of these two deliveries.
    let slots = [intake.slot(false).await.unwrap(), intake.slot(false).await.unwrap()];
    for _ in 0..=WAITING_EVENTS {
        intake.report_refusal(Method::GET, "/".to_owned(), Refusal::MethodNotAllowed);
    }
    let mut reported = Vec::new();
    for slot in slots {
        let (response, _) = intake.handle(intake.verify(unsigned()), slot).await.unwrap();
        assert_eq!(response.unwrap().status(), 503);
        while let Ok(event) = events.try_recv() {
            if let ListenerEvent::Delivered { warnings, .. } = event {
                reported.push(warnings);
            }
        }
    }
    let codes: Vec<_> = reported[0].iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [WarningCode::NotStored]);
    let message = "deliveries are not stored: the capture store is closed, or its thread panicked";
    assert_eq!(reported[0][0].message, message);
    assert_eq!(reported[1], []);
}

#[tokio::test]
async fn delivery_is_published_when_stored_and_when_answered() {
    let (intake, mut events) = intake(|_, _| {});
    let mut deliveries = intake.deliveries.subscribe();
    intake.accept(unsigned()).await.unwrap();
    for is_answered in [false, true] {
        let summary = deliveries.try_recv().unwrap().summary.clone();
        assert_eq!((summary.number, summary.response.is_some()), (Some(1), is_answered));
    }
    let Some(ListenerEvent::Delivered { delivery, .. }) = events.recv().await else { panic!() };
    assert_eq!(delivery.summary.number, None, "other commands cannot find it");
}

#[tokio::test]
async fn dropped_caller_does_not_stop_the_delivery() {
    let (intake, mut events) = intake(|_, _| {});
    {
        let mut accepting = Box::pin(intake.accept(unsigned()));
        assert!(futures_util::poll!(&mut accepting).is_pending());
    }
    let event = events.recv().await.unwrap();
    assert!(matches!(event, ListenerEvent::Delivered { .. }), "{event:?}");
}

#[test]
fn panic_while_responding_keeps_the_event() {
    // A delay panics in a runtime without timers.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (intake, mut events) = intake(|rules, _| rules.faults.delay = Some(Duration::ZERO));
    let event = intake.events.clone().try_reserve_owned().unwrap();
    let in_flight = Arc::clone(&intake.in_flight).try_acquire_owned().unwrap();
    let handling = intake.handle(intake.verify(unsigned()), Slot { event, in_flight });
    let (response, _) = runtime.block_on(handling).unwrap();
    assert_eq!(response.unwrap().status(), 500);
    let Ok(ListenerEvent::Delivered { delivery, .. }) = events.try_recv() else { panic!() };
    assert_eq!(delivery.summary.response.unwrap().status, Some(500));
}

#[tokio::test(start_paused = true)]
async fn requests_are_refused_while_events_are_not_read() {
    let (intake, mut events) = intake(|_, limits| limits.in_flight = 1);
    for _ in 0..=WAITING_EVENTS {
        assert_eq!(status(&intake, unsigned()).await, Ok(Some(200)));
    }
    assert_eq!(status(&intake, unsigned()).await, Err(Refusal::Busy));
    let mut read = 0;
    while events.try_recv().is_ok() {
        read += 1;
    }
    assert_eq!(read, WAITING_EVENTS + 1);
    assert_eq!(status(&intake, unsigned()).await, Ok(Some(200)));
}
