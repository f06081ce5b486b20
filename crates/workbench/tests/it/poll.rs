//! Polled submissions as deliveries to a listener.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use formsvc_client::test_util::{MockService, form, submission};
use formsvc_protocol::RetrySchedule;
use formsvc_receiver::Verifier;
use formsvc_workbench::delivery::{Delivery, Source};
use formsvc_workbench::listen::{
    Fault, Faults, ListenLimits, ListenRules, Listener, ListenerEvent, Sockets,
};
use formsvc_workbench::poll::{Poll, PollMark, SYNTHETIC};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use formsvc_workbench::verdict::VerdictCode;
use http::StatusCode;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_of_a_test_of_polling";

fn submit(service: &MockService, number: u32) {
    let time = format!("2026-01-01T00:00:{number:02}.000Z");
    service.submit("frm_1", submission(&format!("sub_{number}"), r#"{"Fee":1.50}"#, &time));
}

/// Creates a submission, and then polls until the listener has answered two deliveries. The listener fails the first
/// attempt at each submission.
async fn poll(service: &MockService, folder: &Path, number: u32) -> [Arc<Delivery>; 2] {
    let form = service.client().form("frm_1");
    let mut mark = PollMark::open(folder, "https://forms.test", "frm_1", "/hook").unwrap();
    mark.begin(&form).await.unwrap();
    submit(service, number);
    let respond = vec![Fault::Respond(StatusCode::SERVICE_UNAVAILABLE), Fault::None];
    let rules = ListenRules {
        verifier: Some(Verifier::new(SECRET).unwrap()),
        faults: Faults { respond, ..Faults::default() },
        ..ListenRules::default()
    };
    let store =
        CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, age: Duration::MAX }).unwrap();
    let sockets = Sockets::open(None, 0).unwrap();
    let (listener, mut events) = Listener::start(sockets, rules, ListenLimits::default(), store);
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    let poll = Poll {
        form,
        form_title: "Contact".to_owned(),
        interval: Duration::from_millis(5),
        secrets,
        schedule: RetrySchedule { base: Duration::from_millis(1), ..RetrySchedule::default() },
        path: "/hook".to_owned(),
        mark,
    };
    let (handle, stop) = (listener.handle(), CancellationToken::new());
    let poll_events = handle.events();
    let deliver = move |method, path, headers, body| {
        let handle = handle.clone();
        async move { handle.deliver(method, path, headers, body).await }
    };
    let run = tokio::spawn(poll.run(deliver, poll_events, stop.clone()));
    let mut next = async || match timeout(PATIENCE, events.recv()).await.unwrap().unwrap() {
        ListenerEvent::Delivered { delivery, .. } => delivery,
        event => panic!("{event:?}"),
    };
    let deliveries = [next().await, next().await];
    stop.cancel();
    run.await.unwrap().unwrap();
    listener.shutdown(PATIENCE).await;
    assert!(events.try_recv().is_err());
    deliveries
}

#[tokio::test]
async fn polled_submission_is_captured_retried_and_not_repeated() {
    let (service, folder) = (MockService::new(), tempfile::tempdir().unwrap());
    let service = service.form(form("frm_1", "Contact"));
    submit(&service, 1);
    for number in 2..=3 {
        for (attempt, delivery) in (1..).zip(poll(&service, folder.path(), number).await) {
            let summary = &delivery.summary;
            assert_eq!(summary.names.submission_id, Some(format!("sub_{number}")));
            assert_eq!((summary.source, summary.attempt.number), (Source::Poll, attempt));
            assert_eq!(summary.verdict.code, VerdictCode::Valid);
            assert_eq!(summary.request_target, "/hook");
            assert_eq!(summary.response.unwrap().is_success(), attempt == 2);
            assert_eq!(delivery.headers[SYNTHETIC], "poll");
        }
    }
}
