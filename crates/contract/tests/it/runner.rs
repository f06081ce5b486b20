//! In which order a run goes, where it stops, and what it leaves behind: against receivers that answer by
//! script.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use formsvc_contract::receiver::{CHECKS, FORM_ID, Given, ID_PREFIX, Outcome, Report, Runner};
use formsvc_contract::send::{SendError, SendErrorKind, Sender, SenderOptions};
use formsvc_receiver::inbox::MemoryInbox;
use formsvc_receiver::{ProcessOutcome, SubmissionCreated, Verified, Verifier, process_once};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use url::Url;

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Since 1970.
const NOW: Duration = Duration::from_secs(1_700_000_000);

/// What a receiver answers, by the body and how often its submission has come.
type Script = fn(&str, u32) -> Response;

/// A receiver that answers by script; ends with the test's runtime.
struct Scripted {
    url: Url,
    /// How often each submission came.
    came: Arc<Mutex<HashMap<String, u32>>>,
}

impl Scripted {
    async fn start(script: Script) -> Self {
        Self::start_with(move |_, body, count| script(body, count)).await
    }

    /// One whose answers depend on the signature header as well.
    async fn start_with(
        script: impl Fn(&str, &str, u32) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let came = Arc::<Mutex<HashMap<String, u32>>>::default();
        let counts = Arc::clone(&came);
        let answer = move |headers: HeaderMap, body: Bytes| {
            let signature =
                headers.get("x-service-signature").and_then(|value| value.to_str().ok());
            let body = String::from_utf8_lossy(&body).into_owned();
            let at = body.find(ID_PREFIX).unwrap_or(body.len());
            let id = body[at..].split('"').next().unwrap_or_default().to_owned();
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(id).or_default();
            *count += 1;
            let response = script(signature.unwrap_or_default(), &body, *count);
            async { response }
        };
        let router = Router::new().route("/", any(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, came }
    }

    async fn run(&self, only: &[&str]) -> Vec<Report> {
        run(&self.url, only).await.unwrap()
    }
}

async fn run(url: &Url, only: &[&str]) -> Result<Vec<Report>, SendError> {
    let limit = Duration::from_secs(5);
    let sender = Sender::new(SenderOptions { timeout: limit, ..SenderOptions::default() }).unwrap();
    let secret = SECRET.into();
    let clock = || SystemTime::UNIX_EPOCH + NOW;
    let given = Given { sender: &sender, url, secret: &secret, limit, clock: &clock, run: "r1" };
    let wanted = |id: &str| only.is_empty() || only.contains(&id);
    Runner::new(given).unwrap().run(|check| wanted(check.id), |_| {}).await
}

fn found<'a>(reports: &'a [Report], id: &str) -> (Outcome, &'a str) {
    let report = reports.iter().find(|report| report.check.id == id).unwrap();
    (report.outcome, &report.found)
}

fn taken(_: &str, _: u32) -> Response {
    StatusCode::OK.into_response()
}

#[tokio::test]
async fn what_takes_everything_fails_every_check_of_a_refusal_and_no_other() {
    let receiver = Scripted::start(taken).await;
    let reports = receiver.run(&[]).await;
    assert_eq!(reports.len(), CHECKS.len());
    for report in reports {
        // What is too large is refused by the framework.
        let refuses = report.check.wants.starts_with("a refusal") && report.check.id != "oversize";
        let wanted = match report.check.id {
            "get" | "upper-case" => Outcome::Warn,
            _ if refuses => Outcome::Fail,
            _ => Outcome::Ok,
        };
        assert_eq!(report.outcome, wanted, "{}: {}", report.check.id, report.found);
    }
}

#[tokio::test]
async fn every_submission_says_that_it_is_a_check_and_has_an_id_of_its_own() {
    let receiver = Scripted::start(|body, _| {
        let is_marked = body.is_empty() || body.contains(FORM_ID) && body.contains("sub_check_r1_");
        assert!(is_marked, "{body}");
        taken(body, 1)
    });
    let receiver = receiver.await;
    receiver.run(&[]).await;
    let came = receiver.came.lock().unwrap();
    for (id, count) in came.iter().filter(|(id, _)| !id.is_empty()) {
        let wanted = match id.strip_prefix("sub_check_r1_").unwrap() {
            "duplicate_1" => 3,
            "duplicates-at-once_1" => 4,
            _ => 1,
        };
        assert_eq!(*count, wanted, "{id}");
    }
}

#[tokio::test]
async fn where_a_right_delivery_is_refused_nothing_else_is_tried() {
    let receiver = Scripted::start(|_, _| StatusCode::UNAUTHORIZED.into_response()).await;
    let reports = receiver.run(&[]).await;
    assert_eq!(found(&reports, "fresh-accepted").0, Outcome::Fail);
    assert_eq!(found(&reports, "answers-in-time").0, Outcome::Ok);
    let skipped = reports.iter().filter(|report| report.outcome == Outcome::Skip).count();
    assert_eq!(skipped, CHECKS.len() - 3);
    assert_eq!(receiver.came.lock().unwrap().values().sum::<u32>(), 3);
    // Also where it was not asked for: or else a refusal would look right.
    let reports = receiver.run(&["stale"]).await;
    let shown: Vec<_> = reports.iter().map(|report| (report.check.id, report.outcome)).collect();
    assert_eq!(shown, [("fresh-accepted", Outcome::Fail), ("stale", Outcome::Skip)]);
}

#[tokio::test]
async fn who_is_busy_is_sent_the_rest_again_until_all_is_taken() {
    fn busy_at_first(body: &str, count: u32) -> Response {
        if body.contains("at-once") && count < 5 {
            let later = [("retry-after", "0")];
            return (StatusCode::SERVICE_UNAVAILABLE, later).into_response();
        }
        taken(body, count)
    }
    let receiver = Scripted::start(busy_at_first).await;
    let reports = receiver.run(&["duplicates-at-once"]).await;
    assert_eq!(found(&reports, "duplicates-at-once"), (Outcome::Ok, "answered 503, 200"));
    assert_eq!(reports[0].requests, 8, "four that were too early, and each of them once more");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_receiver_is_sent_again_what_it_was_busy_with() {
    #[derive(Clone)]
    struct App(Verifier, MemoryInbox, Arc<Semaphore>);
    impl FromRef<App> for Verifier {
        fn from_ref(app: &App) -> Self {
            app.0.clone()
        }
    }
    async fn hook(
        State(App(_, inbox, busy)): State<App>,
        submission: Verified<SubmissionCreated>,
    ) -> impl IntoResponse {
        let told = Arc::clone(&busy);
        let handler = |submission: Verified<SubmissionCreated>, _| async move {
            if submission.submission_id.as_str().contains("at-once") {
                // Not done before the three others were told to come again.
                let _all = busy.acquire_many(3).await.unwrap();
            }
            Ok::<(), Infallible>(())
        };
        let outcome = process_once(inbox, submission, handler).await;
        if let ProcessOutcome::InFlight { .. } = outcome {
            told.add_permits(1);
        }
        outcome
    }
    let verifier = Verifier::builder().secret(SECRET);
    let verifier = verifier.clock(|| SystemTime::UNIX_EPOCH + NOW).build().unwrap();
    let app = App(verifier, MemoryInbox::new(), Arc::new(Semaphore::new(0)));
    let router = Router::new().route("/", post(hook)).with_state(app);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let reports = run(&url, &["duplicates-at-once"]).await.unwrap();
    let told = found(&reports, "duplicates-at-once");
    assert_eq!(told.0, Outcome::Ok, "{told:?}");
    assert_eq!(reports[0].requests, 4 + 3, "each of the three came once more");
}

#[tokio::test]
async fn who_is_always_busy_is_not_asked_for_ever() {
    fn always_busy(body: &str, count: u32) -> Response {
        if body.contains("at-once") && count > 1 {
            let later = [("retry-after", "0")];
            return (StatusCode::SERVICE_UNAVAILABLE, later).into_response();
        }
        taken(body, count)
    }
    let receiver = Scripted::start(always_busy).await;
    let reports = receiver.run(&["duplicates-at-once"]).await;
    assert_eq!(found(&reports, "duplicates-at-once").0, Outcome::Fail);
    assert_eq!(reports[0].requests, 4 + 3 * 3);
}

/// Each of these checks fails, or warns, for the receiver that it is there for, and for no other.
#[tokio::test]
async fn a_receiver_that_is_too_strict_is_told_by_the_check_for_it() {
    fn refused(refuses: bool) -> Response {
        let status = if refuses { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
        status.into_response()
    }
    fn is_off_by_four_minutes(signature: &str) -> bool {
        let t = signature.split(',').find_map(|part| part.strip_prefix("t="));
        let t: u64 = t.and_then(|t| t.parse().ok()).unwrap_or(NOW.as_secs());
        t.abs_diff(NOW.as_secs()) > 240
    }
    fn has_other_keys(signature: &str) -> bool {
        let keys = signature.split(',').map(|part| part.split('=').next().unwrap_or_default());
        keys.into_iter().any(|key| !["t", "v1"].contains(&key))
    }
    type Strict = fn(&str, &str, u32) -> Response;
    let rows: [(&str, Outcome, Strict); 3] = [
        ("edges", Outcome::Fail, |signature, _, _| refused(is_off_by_four_minutes(signature))),
        ("unknown-keys", Outcome::Fail, |signature, _, _| refused(has_other_keys(signature))),
        ("large", Outcome::Warn, |_, body, _| refused(body.len() > 100_000)),
    ];
    let ids = rows.map(|(id, _, _)| id);
    for (id, outcome, strict) in rows {
        let receiver = Scripted::start_with(strict).await;
        let reports = receiver.run(&ids).await;
        for other in ids {
            let wanted = if other == id { outcome } else { Outcome::Ok };
            assert_eq!(found(&reports, other).0, wanted, "{id}: {reports:#?}");
        }
    }
}

#[tokio::test]
async fn what_an_answer_to_one_check_gives_away_is_found_by_another() {
    let receiver = Scripted::start(|body, _| {
        let told = if body.contains("stale") { SECRET } else { "" };
        (StatusCode::OK, format!("secret: {told}")).into_response()
    });
    let reports = receiver.await.run(&["stale", "no-leak"]).await;
    let told = "the answer to `stale` holds the signing secret";
    assert_eq!(found(&reports, "no-leak"), (Outcome::Fail, told));
}

#[tokio::test]
async fn where_nothing_listens_the_run_is_an_error() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    assert_eq!(run(&url, &["stale"]).await.unwrap_err().kind, SendErrorKind::Refused);
}

#[tokio::test]
async fn a_receiver_that_is_gone_in_the_middle_fails_there_and_no_more_is_tried() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    // Answers what the first checks ask, and ends.
    let thread = std::thread::spawn(move || {
        use std::io::{Read, Write};
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
            while !seen.ends_with(b"}") {
                let read = stream.read(&mut piece).unwrap();
                seen.extend_from_slice(&piece[..read]);
            }
            let is_signed = String::from_utf8_lossy(&seen).contains("X-Service-Signature");
            let status = if is_signed { "200 OK" } else { "401 Unauthorized" };
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let reports = run(&url, &[]).await.unwrap();
    thread.join().unwrap();
    let failed: Vec<_> = reports.iter().filter(|report| report.outcome == Outcome::Fail).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].check.id, "malformed");
    let skipped = reports.iter().filter(|report| report.outcome == Outcome::Skip).count();
    assert_eq!(skipped, CHECKS.len() - 5);
}
