//! What submissions leave in the log.

use std::net::SocketAddr;
use std::time::Duration;

use formsvc_server::public::PublicOptions;
use formsvc_server::serve::Peer;
use formsvc_server::telemetry::LogFormat;
use http::Request;

use super::service::{Service, URLENCODED, answer, whole};
use crate::api::logs::Log;

#[tokio::test]
async fn nothing_that_was_sent_is_logged() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let log = Log::capture(format);
        let service = Service::with_form().await;
        for (target, content_type, body) in [
            ("/f/form?QUERY_SENT", URLENCODED, "Name=ANSWER_SENT&_id=ID_SENT"),
            ("/f/form", URLENCODED, "LABEL_SENT=ANSWER_SENT"),
            ("/f/form", URLENCODED, "Name=a&_gotcha=TRAP_SENT"),
            ("/f/form", "TYPE_SENT/x", "BODY_SENT"),
            ("/f/form", "application/json", "{BODY_SENT"),
            ("/f/form", "multipart/form-data; boundary=SENT", "BODY_SENT"),
            ("/f/PATH_SENT", URLENCODED, ""),
        ] {
            let request = Request::post(target).header("content-type", content_type);
            let request =
                request.header("origin", "https://origin_SENT").header("accept", "A_SENT");
            service.send(request.header("idempotency-key", "KEY_SENT"), body).await;
        }
        service.get("/f/PATH_SENT/thanks").await;
        let log = log.text();
        assert_eq!(log.matches("request_id").count(), 8, "{log}");
        assert!(!log.contains("SENT") && !log.contains("Form <"), "{log}");
        assert!(!log.contains("192.0.2"), "{log}");
    }
}

#[tokio::test]
async fn a_proxy_that_was_not_named_is_told_of_now_and_then() {
    let log = Log::capture(LogFormat::Json);
    let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let service = Service::with(PublicOptions { trusted_proxies, ..Default::default() }).await;
    service.form("form", None).await;
    let send = async |peer: [u8; 4], forwarded: bool| {
        let mut request = Request::post("/f/form").header("content-type", URLENCODED);
        if forwarded {
            request = request.header("x-forwarded-for", "198.51.100.7");
        }
        let mut request = whole(request, "a=1");
        request.extensions_mut().insert(Peer(SocketAddr::from((peer, 4711))));
        answer(&service.edge, request).await.assert_thanks("form");
    };
    let told = || log.text().matches("--trusted-proxy").count();
    send([10, 0, 0, 1], true).await;
    send([192, 0, 2, 1], false).await;
    assert_eq!(told(), 0);
    for n in 1..5 {
        send([192, 0, 2, n], true).await;
        assert_eq!(told(), 1);
    }
    service.pass(Duration::from_secs(3_600));
    send([192, 0, 2, 1], true).await;
    assert_eq!(told(), 2);
    let warned: Vec<_> = log.lines().into_iter().filter(|line| line["level"] == "WARN").collect();
    assert_eq!(warned.len(), 2);
    assert!(!log.text().contains("192.0.2") && !log.text().contains("198.51"));
}

#[tokio::test]
async fn a_request_and_the_submission_it_makes_lead_to_each_other() {
    let log = Log::capture(LogFormat::Json);
    let service = Service::with_form().await;
    let json = "application/json";
    let send = async || {
        let request = Request::post("/f/form").header("content-type", json);
        service.send(request.header("idempotency-key", "k-1"), r#"{"Name":"a"}"#).await
    };
    let (first, again) = (send().await, send().await);
    let id = first.header("x-request-id").to_owned();
    let submission = id.replace("req_", "sub_");
    assert_eq!(first.json()["id"], submission.as_str());
    assert_ne!(again.header("x-request-id"), id);
    let lines = log.lines();
    let told: Vec<_> = lines.iter().map(|line| &line["submission"]).collect();
    assert_eq!(told, [&submission, &submission], "a repeat names what it repeats: {lines:?}");
    assert_eq!(lines[0]["request_id"], id);
    service.post("/f/form", json, "{}").await;
    assert!(log.lines()[2].get("submission").is_none());
}

#[tokio::test]
async fn a_submission_is_one_line_with_the_template_of_its_path() {
    let log = Log::capture(LogFormat::Json);
    let service = Service::with_form().await;
    service.post("/f/form", URLENCODED, "Name=a").await;
    service.post("/f/form", URLENCODED, "").await;
    let lines = log.lines();
    let told: Vec<_> = lines.iter().map(|line| (&line["route"], &line["status"])).collect();
    assert_eq!(
        told,
        [(&"/f/{public_id}".into(), &303.into()), (&"/f/{public_id}".into(), &422.into())]
    );
    assert!(lines.iter().all(|line| line["level"] == "INFO" && line["method"] == "POST"));
}
