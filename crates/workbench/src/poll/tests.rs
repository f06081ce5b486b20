use std::path::Path;
use std::sync::Mutex;

use formsvc_client::test_util::{Fault, MockService, form, submission};
use formsvc_contract::send::SIGNATURE;
use formsvc_protocol::WebhookEvent;
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::*;
use crate::delivery::{
    Attempt, DeliverySummary, EventNames, Forward, ForwardError, ForwardErrorKind, Source,
    TargetResponse,
};
use crate::verdict::{Verdict, VerdictCode};

const SECRET: &str = "whsec_of_a_test_of_polling";

/// A listener that records deliveries and responds with the statuses of a list, then with 200.
#[derive(Clone, Default)]
struct Listener {
    received: Arc<Mutex<Vec<(Instant, String, HeaderMap)>>>,
    responses: Arc<Mutex<Vec<Result<u16, Refusal>>>>,
    retry_after: Option<&'static str>,
    /// Submissions to which the listener never responds.
    silent: Vec<&'static str>,
    delay: Duration,
    events: Option<mpsc::Sender<ListenerEvent>>,
}

impl Listener {
    fn responds(responses: &[Result<u16, Refusal>]) -> Self {
        let responses = responses.iter().rev().copied().collect();
        Self { responses: Arc::new(Mutex::new(responses)), ..Self::default() }
    }

    async fn deliver(self, headers: HeaderMap, body: Bytes) -> Result<Arc<Delivery>, Refusal> {
        let event: WebhookEvent = serde_json::from_slice(&body).unwrap();
        let mut secrets = SigningSecrets::default();
        secrets.add("a", SECRET.into()).unwrap();
        secrets.verifier(1 << 20).unwrap().unwrap().verify(&headers[SIGNATURE], body).unwrap();
        let id = event.submission_id.to_string();
        self.received.lock().unwrap().push((Instant::now(), id.clone(), headers));
        if self.silent.contains(&&*id) {
            std::future::pending::<()>().await;
        }
        sleep(self.delay).await;
        let response = self.responses.lock().unwrap().pop().unwrap_or(Ok(200));
        response.map(|status| Arc::new(delivery(status, self.retry_after)))
    }

    fn ids(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|(_, id, _)| id.clone()).collect()
    }

    fn seconds(&self) -> Vec<u64> {
        let received = self.received.lock().unwrap();
        let first = received[0].0;
        received.iter().map(|(time, ..)| (*time - first).as_secs()).collect()
    }
}

fn delivery(status: u16, retry_after: Option<&'static str>) -> Delivery {
    let mut headers = HeaderMap::new();
    headers.extend(retry_after.map(|value| (RETRY_AFTER, HeaderValue::from_static(value))));
    let response = TargetResponse { status, headers, body: Bytes::new(), is_truncated: false };
    let (answered_by, took) = (AnsweredBy::Target, Duration::ZERO);
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: Timestamp::UNIX_EPOCH,
            source: Source::Poll,
            method: Method::POST,
            request_target: "/hook".to_owned(),
            body_size: 0,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: None },
            names: EventNames::default(),
            attempt: Attempt::FIRST,
            response: Some(Response { status: Some(status), answered_by, took }),
        },
        headers: HeaderMap::new(),
        body: Bytes::new(),
        forwards: vec![Forward { url: String::new(), result: Ok(response), took }],
        relayed_forward: Some(0),
    }
}

fn service() -> MockService {
    let service = MockService::new().form(form("frm_1", "Contact"));
    submit(&service, 1);
    service
}

fn submit(service: &MockService, number: u32) {
    let time = format!("2026-01-01T00:00:{number:02}.000Z");
    service.submit("frm_1", submission(&format!("sub_{number}"), r#"{"Fee":1.50}"#, &time));
}

/// Polls until the listener received this many deliveries and a minute has passed.
async fn poll(service: &MockService, folder: &Path, listener: &Listener, deliveries: usize) {
    let stop = CancellationToken::new();
    let run = start(service, folder, listener, stop.clone()).await;
    let wait = async {
        wait_for(listener, deliveries).await;
        sleep(Duration::from_secs(60)).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(run, wait);
    result.unwrap();
}

/// Waits up to an hour of the paused clock.
async fn wait_for(listener: &Listener, deliveries: usize) {
    for _ in 0..3_600 {
        if listener.ids().len() >= deliveries {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("the listener received {:?}", listener.ids());
}

async fn start(
    service: &MockService,
    folder: &Path,
    listener: &Listener,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), PollError>> + use<> {
    let form = service.client().form("frm_1");
    let mut mark = PollMark::open(folder, "https://forms.test", "frm_1", "/hook").unwrap();
    mark.begin(&form).await.unwrap();
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    let (form_title, path) = ("Contact".to_owned(), "/hook".to_owned());
    let schedule = RetrySchedule { jitter: 0.0, ..RetrySchedule::default() };
    let poll = Poll { form, form_title, interval: INTERVAL, secrets, schedule, path, mark };
    let listener = listener.clone();
    let events = listener.events.clone().unwrap_or_else(|| mpsc::channel(1).0);
    let deliver = move |method, path: String, headers, body| {
        assert_eq!((method, &*path), (Method::POST, "/hook"));
        listener.clone().deliver(headers, body)
    };
    poll.run(deliver, events, stop)
}

#[tokio::test(start_paused = true)]
async fn new_submissions_are_delivered_once_across_runs() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener::default();
    let stop = CancellationToken::new();
    let first = start(&service, folder.path(), &listener, stop.clone()).await;
    stop.cancel();
    first.await.unwrap();
    // This submission is created while no poll runs.
    submit(&service, 2);
    submit(&service, 3);
    poll(&service, folder.path(), &listener, 2).await;
    submit(&service, 4);
    poll(&service, folder.path(), &listener, 3).await;
    assert_eq!(listener.ids(), ["sub_2", "sub_3", "sub_4"]);
    let (_, _, headers) = listener.received.lock().unwrap()[0].clone();
    assert_eq!(headers[SYNTHETIC], "poll");
    assert_eq!(headers["x-service-event"], "submission.created");
}

#[tokio::test(start_paused = true)]
async fn killed_poll_repeats_only_unanswered_deliveries() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener { silent: vec!["sub_2"], ..Listener::default() };
    let run = start(&service, folder.path(), &listener, CancellationToken::new()).await;
    for number in 2..=4 {
        submit(&service, number);
    }
    let task = tokio::spawn(run);
    wait_for(&listener, 3).await;
    sleep(Duration::from_secs(1)).await;
    task.abort();
    let _ = task.await;
    let listener = Listener::default();
    poll(&service, folder.path(), &listener, 1).await;
    assert_eq!(listener.ids(), ["sub_2"]);
}

#[tokio::test(start_paused = true)]
async fn failed_delivery_is_retried_by_the_schedule() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener::responds(&[Ok(503), Ok(500), Ok(204)]);
    drop(start(&service, folder.path(), &listener, CancellationToken::new()).await);
    submit(&service, 2);
    poll(&service, folder.path(), &listener, 3).await;
    assert_eq!(listener.seconds(), [0, 10, 70]);
}

#[tokio::test(start_paused = true)]
async fn submission_without_retries_left_is_a_warning() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let (events, mut warnings) = mpsc::channel(9);
    let listener = Listener { events: Some(events), ..Listener::responds(&[Ok(503); 5]) };
    drop(start(&service, folder.path(), &listener, CancellationToken::new()).await);
    submit(&service, 2);
    poll(&service, folder.path(), &listener, 4).await;
    assert_eq!(listener.seconds(), [0, 10, 70, 430]);
    // The next run does not repeat the delivery.
    poll(&service, folder.path(), &listener, 0).await;
    assert_eq!(listener.ids().len(), 4);
    let message = "submission sub_2 is given up after 4 attempts: the target responded with 503";
    let expected = Warning { code: WarningCode::GivenUp, message: message.to_owned() };
    let event = warnings.try_recv();
    assert!(matches!(&event, Ok(ListenerEvent::Warning(warning)) if *warning == expected));
    assert!(warnings.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn failing_listener_ends_the_poll_and_is_no_attempt() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let refusals = [Err(Refusal::TooManyInvalid), Err(Refusal::Internal)];
    let listener = Listener::responds(&refusals);
    let run = start(&service, folder.path(), &listener, CancellationToken::new()).await;
    submit(&service, 2);
    let error = timeout(Duration::from_secs(3_600), run).await.unwrap().unwrap_err();
    assert!(matches!(error, PollError::Refused(Refusal::Internal)));
    assert_eq!(error.to_string(), "cannot deliver a polled submission: the listener failed");
    poll(&service, folder.path(), &listener, 3).await;
    assert_eq!(listener.ids(), ["sub_2"; 3]);
}

#[test]
fn failure_names_the_side_and_the_error_of_the_target() {
    let mut delivery = delivery(503, None);
    delivery.summary.response.as_mut().unwrap().answered_by = AnsweredBy::Fault;
    assert_eq!(failure(&delivery), "the listener responded with 503");
    delivery.summary.response.as_mut().unwrap().status = None;
    assert_eq!(failure(&delivery), "the listener closed the connection");
    let message = "nothing listens on 127.0.0.1:1".to_owned();
    let error = ForwardError { kind: ForwardErrorKind::Unreachable, message: message.clone() };
    delivery.forwards[0].result = Err(error);
    assert_eq!(failure(&delivery), message);
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_the_target_is_obeyed() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let mut listener = Listener::responds(&[Ok(503)]);
    listener.retry_after = Some("30");
    drop(start(&service, folder.path(), &listener, CancellationToken::new()).await);
    submit(&service, 2);
    poll(&service, folder.path(), &listener, 2).await;
    assert_eq!(listener.seconds(), [0, 30]);
}

#[tokio::test(start_paused = true)]
async fn busy_listener_gets_the_delivery_again_without_a_retry() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener::responds(&[Err(Refusal::Busy); 9]);
    drop(start(&service, folder.path(), &listener, CancellationToken::new()).await);
    submit(&service, 2);
    poll(&service, folder.path(), &listener, 10).await;
    assert_eq!(listener.ids(), ["sub_2"; 10]);
    assert_eq!(listener.seconds()[9], 1);
}

#[tokio::test(start_paused = true)]
async fn stopped_poll_leaves_retries_to_the_next_run() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener::responds(&[Ok(500)]);
    let stop = CancellationToken::new();
    let run = start(&service, folder.path(), &listener, stop.clone()).await;
    submit(&service, 2);
    let task = tokio::spawn(run);
    wait_for(&listener, 1).await;
    let stopped = Instant::now();
    stop.cancel();
    task.await.unwrap().unwrap();
    assert!(stopped.elapsed() < Duration::from_secs(1));
    poll(&service, folder.path(), &listener, 2).await;
    assert_eq!(listener.ids(), ["sub_2", "sub_2"]);
}

#[tokio::test(start_paused = true)]
async fn delivery_in_flight_at_the_end_is_not_repeated() {
    for ends_by_error in [false, true] {
        let (service, folder) = (service(), tempfile::tempdir().unwrap());
        let listener = Listener { delay: Duration::from_secs(11), ..Listener::default() };
        let stop = CancellationToken::new();
        let run = start(&service, folder.path(), &listener, stop.clone()).await;
        submit(&service, 2);
        let task = tokio::spawn(run);
        wait_for(&listener, 1).await;
        if ends_by_error {
            service.fail_next(Fault::Error(formsvc_protocol::ErrorCode::InvalidKey));
        } else {
            stop.cancel();
        }
        assert_eq!(task.await.unwrap().is_err(), ends_by_error);
        poll(&service, folder.path(), &listener, 0).await;
        assert_eq!(listener.ids(), ["sub_2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn outage_is_waited_for_and_a_refused_key_ends_the_poll() {
    let (service, folder) = (service(), tempfile::tempdir().unwrap());
    let listener = Listener::default();
    drop(start(&service, folder.path(), &listener, CancellationToken::new()).await);
    for _ in 0..9 {
        service.fail_next(Fault::Unreachable);
    }
    submit(&service, 2);
    poll(&service, folder.path(), &listener, 1).await;
    service.fail_next(Fault::Error(formsvc_protocol::ErrorCode::InvalidKey));
    let run = start(&service, folder.path(), &listener, CancellationToken::new()).await;
    assert!(matches!(run.await, Err(PollError::Client(_))));
}
