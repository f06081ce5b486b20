//! Runs of the receiver checks: order, repeats and early ends, against receivers with scripted answers.

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
use formsvc_contract::receiver::{
    FORM_ID, ID_PREFIX, RECEIVER_CHECKS, ReceiverOptions, ReceiverReport, Runner,
};
use formsvc_contract::report::Outcome;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SendError, SendErrorKind};
use formsvc_receiver::inbox::MemoryInbox;
use formsvc_receiver::{ProcessOutcome, SubmissionCreated, Verified, Verifier, process_once};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use url::Url;

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// The receiver's and the sender's Unix time.
const NOW: Duration = Duration::from_secs(1_700_000_000);

/// Returns the answer to a body, which is the delivery of this number of its submission, from 1.
type Script = fn(&str, u32) -> Response;

/// A receiver with scripted answers. It ends with the test's runtime.
struct Scripted {
    url: Url,
    /// Number of deliveries of each submission.
    counts: Arc<Mutex<HashMap<String, u32>>>,
}

impl Scripted {
    async fn start(script: Script) -> Self {
        Self::start_with(move |_, body, count| script(body, count)).await
    }

    /// Starts a receiver with answers that also depend on the signature header.
    async fn start_with(
        script: impl Fn(&str, &str, u32) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let all_counts = Arc::<Mutex<HashMap<String, u32>>>::default();
        let counts = Arc::clone(&all_counts);
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
        Self { url, counts: all_counts }
    }

    async fn run(&self, only: &[&str]) -> Vec<ReceiverReport> {
        run(&self.url, only).await.unwrap()
    }
}

async fn run(url: &Url, only: &[&str]) -> Result<Vec<ReceiverReport>, SendError> {
    let timeout = Duration::from_secs(5);
    let sender =
        HttpSender::new(HttpSenderOptions { timeout, ..HttpSenderOptions::default() }).unwrap();
    let secret = SECRET.into();
    let clock = || SystemTime::UNIX_EPOCH + NOW;
    let options = ReceiverOptions {
        sender: &sender,
        url,
        secret: &secret,
        timeout,
        clock: &clock,
        run_id: "r1",
    };
    let is_wanted = |id: &str| only.is_empty() || only.contains(&id);
    Runner::new(options).unwrap().run(|check| is_wanted(check.id), |_| {}).await
}

fn found<'a>(reports: &'a [ReceiverReport], id: &str) -> (Outcome, &'a str) {
    let report = reports.iter().find(|report| report.check.id == id).unwrap();
    (report.outcome, &report.found)
}

fn accepted(_: &str, _: u32) -> Response {
    StatusCode::OK.into_response()
}

#[tokio::test]
async fn careless_receiver_fails_the_checks_of_refusals_only() {
    let receiver = Scripted::start(accepted).await;
    let reports = receiver.run(&[]).await;
    assert_eq!(reports.len(), RECEIVER_CHECKS.len());
    for report in reports {
        // The framework refuses large bodies.
        let refuses = report.check.wants.starts_with("a refusal") && report.check.id != "oversize";
        let wanted = match report.check.id {
            "get" | "upper-case" => Outcome::Warning,
            _ if refuses => Outcome::Failed,
            _ => Outcome::Passed,
        };
        assert_eq!(report.outcome, wanted, "{}: {}", report.check.id, report.found);
    }
}

#[tokio::test]
async fn receiver_that_never_answers_tls_is_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::time::pause();
    let error = run(&url.parse().unwrap(), &[]).await.unwrap_err();
    assert_eq!(error.kind, SendErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("TLS was tried and nothing came back"), "{error}");
}

#[tokio::test]
async fn submissions_have_check_ids_and_are_distinct() {
    let receiver = Scripted::start(|body, _| {
        let is_marked = body.is_empty() || body.contains(FORM_ID) && body.contains("sub_check_r1_");
        assert!(is_marked, "{body}");
        accepted(body, 1)
    });
    let receiver = receiver.await;
    receiver.run(&[]).await;
    let counts = receiver.counts.lock().unwrap();
    for (id, count) in counts.iter().filter(|(id, _)| !id.is_empty()) {
        let wanted = match id.strip_prefix("sub_check_r1_").unwrap() {
            "duplicate_1" => 3,
            "duplicates-at-once_1" => 4,
            _ => 1,
        };
        assert_eq!(*count, wanted, "{id}");
    }
}

#[tokio::test]
async fn refused_valid_delivery_skips_the_other_checks() {
    let receiver = Scripted::start(|_, _| StatusCode::UNAUTHORIZED.into_response()).await;
    let reports = receiver.run(&[]).await;
    assert_eq!(found(&reports, "fresh-accepted").0, Outcome::Failed);
    assert_eq!(found(&reports, "answers-in-time").0, Outcome::Passed);
    let skipped = reports.iter().filter(|report| report.outcome == Outcome::Skipped).count();
    assert_eq!(skipped, RECEIVER_CHECKS.len() - 3);
    assert_eq!(receiver.counts.lock().unwrap().values().sum::<u32>(), 3);
    // The gate also runs if it is not wanted: without it, a refusal of everything would pass.
    let reports = receiver.run(&["stale"]).await;
    let shown: Vec<_> = reports.iter().map(|report| (report.check.id, report.outcome)).collect();
    assert_eq!(shown, [("fresh-accepted", Outcome::Failed), ("stale", Outcome::Skipped)]);
}

#[tokio::test]
async fn busy_receiver_gets_repeats_until_it_accepts() {
    fn busy_at_first(body: &str, count: u32) -> Response {
        if body.contains("at-once") && count < 5 {
            let later = [("retry-after", "0")];
            return (StatusCode::SERVICE_UNAVAILABLE, later).into_response();
        }
        accepted(body, count)
    }
    let receiver = Scripted::start(busy_at_first).await;
    let reports = receiver.run(&["duplicates-at-once"]).await;
    assert_eq!(found(&reports, "duplicates-at-once"), (Outcome::Passed, "answered 503, 200"));
    assert_eq!(reports[0].requests, 8, "4 requests, and a repeat of each");
}

#[tokio::test(flavor = "multi_thread")]
async fn reference_receiver_gets_repeats_after_503() {
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
        let answered = Arc::clone(&busy);
        let handler = |submission: Verified<SubmissionCreated>, _| async move {
            if submission.submission_id.as_str().contains("at-once") {
                // Ends after the three other requests were answered with 503.
                let _all = busy.acquire_many(3).await.unwrap();
            }
            Ok::<(), Infallible>(())
        };
        let outcome = process_once(inbox, submission, handler).await;
        if let ProcessOutcome::InFlight { .. } = outcome {
            answered.add_permits(1);
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
    let found = found(&reports, "duplicates-at-once");
    assert_eq!(found.0, Outcome::Passed, "{found:?}");
    assert_eq!(reports[0].requests, 4 + 3, "a repeat of each of the three");
}

#[tokio::test]
async fn always_busy_receiver_fails_after_three_repeats() {
    fn always_busy(body: &str, count: u32) -> Response {
        if body.contains("at-once") && count > 1 {
            let later = [("retry-after", "0")];
            return (StatusCode::SERVICE_UNAVAILABLE, later).into_response();
        }
        accepted(body, count)
    }
    let receiver = Scripted::start(always_busy).await;
    let reports = receiver.run(&["duplicates-at-once"]).await;
    assert_eq!(found(&reports, "duplicates-at-once").0, Outcome::Failed);
    assert_eq!(reports[0].requests, 4 + 3 * 3);
}

/// Each of these checks fails, or warns, for one strict receiver only.
#[tokio::test]
async fn too_strict_receiver_fails_the_check_of_its_rule() {
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
        ("edges", Outcome::Failed, |signature, _, _| refused(is_off_by_four_minutes(signature))),
        ("unknown-keys", Outcome::Failed, |signature, _, _| refused(has_other_keys(signature))),
        ("large", Outcome::Warning, |_, body, _| refused(body.len() > 100_000)),
    ];
    let ids = rows.map(|(id, _, _)| id);
    for (id, outcome, strict) in rows {
        let receiver = Scripted::start_with(strict).await;
        let reports = receiver.run(&ids).await;
        for other in ids {
            let wanted = if other == id { outcome } else { Outcome::Passed };
            assert_eq!(found(&reports, other).0, wanted, "{id}: {reports:#?}");
        }
    }
}

#[tokio::test]
async fn leak_in_the_answer_to_another_check_is_found() {
    let receiver = Scripted::start(|body, _| {
        let secret = if body.contains("stale") { SECRET } else { "" };
        (StatusCode::OK, format!("secret: {secret}")).into_response()
    });
    let reports = receiver.await.run(&["stale", "no-leak"]).await;
    let reason = "the answer to `stale` contains the signing secret";
    assert_eq!(found(&reports, "no-leak"), (Outcome::Failed, reason));
}

#[tokio::test]
async fn run_against_a_closed_port_is_an_error() {
    // Taken, so that no other test listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    assert_eq!(run(&url, &["stale"]).await.unwrap_err().kind, SendErrorKind::Refused);
}

#[tokio::test]
async fn receiver_without_an_http_1_answer_is_an_error() {
    for (bytes, kind) in [
        // SETTINGS of a server that speaks only HTTP/2, and a TLS alert.
        (&b"\0\0\0\x04\0\0\0\0\0"[..], SendErrorKind::BadAnswer),
        (b"\x15\x03\x01\x00\x02\x02\x46", SendErrorKind::BadAnswer),
        (b"", SendErrorKind::Closed),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.read_buf(&mut Vec::new()).await.unwrap();
                stream.write_all(bytes).await.unwrap();
            }
        });
        assert_eq!(run(&url, &["stale"]).await.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn receiver_that_ends_during_the_run_fails_one_check() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    // Answers the first four requests and ends.
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
    let failed: Vec<_> =
        reports.iter().filter(|report| report.outcome == Outcome::Failed).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].check.id, "malformed");
    let skipped = reports.iter().filter(|report| report.outcome == Outcome::Skipped).count();
    assert_eq!(skipped, RECEIVER_CHECKS.len() - 5);
}
