//! What a whole conversation leaves in the log.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Once};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use formsvc_server::api::Edge;
use formsvc_server::store::system_clock;
use formsvc_server::telemetry::{LogFormat, LogLayer};
use http::Request;
use secrecy::ExposeSecret;
use serde_json::Value;
use tracing_subscriber::layer::SubscriberExt;

use super::broken_store::Broken;
use super::service::{Service, answer};

/// What the events of this thread are written to, and in which shape.
type Sink = Option<(LogFormat, Arc<Mutex<String>>)>;

thread_local! {
    static SINK: RefCell<Sink> = const { RefCell::new(None) };
}

pub(crate) struct Log(Arc<Mutex<String>>);

impl Log {
    /// Takes every event of this thread from now on, at every level.
    ///
    /// One subscriber serves the whole process: with one for each test, an event that another test
    /// reaches first can be switched off for all.
    pub(crate) fn capture(format: LogFormat) -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let layer = |wanted| {
                LogLayer::new(wanted, system_clock(), move |line: &str| {
                    SINK.with_borrow(|sink| match sink {
                        Some((format, log)) if *format == wanted => {
                            log.lock().unwrap().push_str(line);
                        }
                        _ => {}
                    });
                })
            };
            let (text, json) = (layer(LogFormat::Text), layer(LogFormat::Json));
            let subscriber = tracing_subscriber::registry().with(text).with(json);
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        let log = Arc::default();
        SINK.set(Some((format, Arc::clone(&log))));
        Self(log)
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn keys_query_values_and_answers_are_never_logged() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let log = Log::capture(format);
        let service = Service::new().await;
        let form = service.form("TITLE_OF_FORM").await;
        service.admin.submit(&form.id, r#"{"LABEL_SENT":"ANSWER_SENT"}"#).await.unwrap();
        let rows = format!("/api/v1/forms/{}/submissions", form.id);
        for target in [
            "/api/v1/me",
            "/api/v1/forms",
            &rows,
            &format!("{rows}?limit=LIMIT_SENT"),
            &format!("{rows}?cursor=CURSOR_SENT"),
            "/api/v1/PATH_SENT?QUERY_SENT=1",
            "/api/v1/forms/FORM_SENT/submissions",
        ] {
            service.get(target).await;
        }
        for header in ["Bearer TOKEN_SENT", "Basic TOKEN_SENT", "TOKEN_SENT"] {
            let request = service.request(&rows).header("authorization", header);
            service.send(request).await;
        }
        let odd = service.request(&rows).method("METHOD_SENT").header("x-request-id", "ID_SENT");
        service.send(odd.header("user-agent", "AGENT_SENT")).await;
        let log = log.text();
        assert_eq!(log.matches("request_id").count(), 11, "{log}");
        assert!(!log.contains(service.key.secret.expose_secret()));
        assert!(!log.contains("_SENT") && !log.contains("TITLE"), "{log}");
        assert!(!log.contains("owner@example.org"));
    }
}

#[tokio::test]
async fn each_request_has_one_line_that_says_what_it_was() {
    let log = Log::capture(LogFormat::Json);
    let service = Service::new().await;
    let ok = service.get("/api/v1/forms/frm_0/submissions").await;
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["method"], "GET");
    assert_eq!(line["route"], "/api/v1/forms/{form_id}/submissions");
    assert_eq!(line["status"], 404);
    assert_eq!(line["key"], service.key.record.id.as_str());
    assert_eq!(line["request_id"], ok.header("x-request-id"));
    assert!(line["micros"].is_u64());
}

#[tokio::test]
async fn the_cause_of_a_failure_is_logged_once_with_the_request_id() {
    let log = Log::capture(LogFormat::Json);
    let failed = Broken::Fails.get("/api/v1/me").await;
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
    assert_eq!(lines[0]["cause"], "the store failed: row 7 of submissions is torn");
    assert_eq!(lines[0]["request_id"], failed.header("x-request-id"));
}

#[tokio::test]
async fn a_panic_is_told_only_as_far_as_the_source_has_it() {
    let log = Log::capture(LogFormat::Json);
    let router = Router::new()
        .route("/plain", get(async || -> &'static str { panic!("invariant broken") }))
        .route(
            "/data",
            get(async || -> &'static str { panic!("bad row {}", String::from("ANSWER")) }),
        );
    let edge = Edge::new(router);
    for target in ["/plain", "/data"] {
        let request = Request::get(target).header("host", "x").body(Body::empty()).unwrap();
        answer(&edge, request).await.assert_error(500, "internal_error");
    }
    let lines = log.lines();
    assert_eq!(lines[0]["cause"], "a handler panicked: invariant broken");
    assert_eq!(lines[1]["cause"], "a handler panicked: its message is withheld");
    assert!(!log.text().contains("ANSWER"));
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_a_line_too() {
    let log = Log::capture(LogFormat::Json);
    let router = Router::new().route("/slow", get(std::future::pending::<()>));
    let edge = Edge::new(router);
    let request = Request::get("/slow").header("host", "x").body(Body::empty()).unwrap();
    let gave_up =
        tokio::time::timeout(std::time::Duration::from_millis(1), edge.answer(request)).await;
    assert!(gave_up.is_err());
    assert_eq!(log.lines()[0]["message"], "request abandoned");
}

#[tokio::test]
async fn health_probes_are_logged_as_detail() {
    let log = Log::capture(LogFormat::Json);
    let service = Service::new().await;
    service.get("/livez").await;
    service.get("/readyz").await;
    assert!(log.lines().iter().all(|line| line["level"] == "DEBUG"));
    assert_eq!(log.lines().len(), 2);
}
