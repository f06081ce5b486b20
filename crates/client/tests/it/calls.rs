//! Plain calls and the settings of the builder.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::{Client, ErrorKind, Event, FormStatus, SecretString, Timeouts};
use formsvc_protocol::paths::{ENDPOINTS, Endpoint};
use http::StatusCode;

use crate::support::bodies::{FORMS, USER, last};
use crate::support::builder;
use crate::support::fake::{Fake, ok};

#[tokio::test]
async fn me_reads_the_owner_of_the_key() {
    let fake = Fake::script([ok(USER)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let me = client.me().await.unwrap();
    assert_eq!((me.name.as_str(), me.email.as_str()), ("Ada", "ada@example.org"));
    assert_eq!((me.status(), me.request_id(), me.attempts()), (StatusCode::OK, Some("req_1"), 1));
    assert_eq!(me.meta().headers()["x-request-id"], "req_1");
    assert_eq!(fake.sent(), ["/base/api/v1/me"]);
}

#[tokio::test]
async fn forms_keep_a_status_of_a_later_release() {
    let fake = Fake::script([ok(FORMS)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let forms = client.forms().await.unwrap().into_inner();
    assert_eq!(forms.len(), 1);
    assert_eq!(forms[0].status, FormStatus::from("archived"));
    assert_eq!(fake.sent(), ["/base/api/v1/forms"]);
}

#[tokio::test]
async fn each_endpoint_has_a_call_that_asks_for_it_and_is_named_after_it() {
    let fake = Fake::script([ok(USER), ok(FORMS), ok(last([1]))]);
    let named = Arc::new(Mutex::new(Vec::new()));
    let told = named.clone();
    let settings = builder().transport(fake.wire()).on_event(move |event| {
        if let Event::Attempt { operation, .. } = event {
            told.lock().unwrap().push(*operation);
        }
    });
    let client = settings.build().unwrap();
    client.me().await.unwrap();
    client.forms().await.unwrap();
    client.form("frm_1".parse().unwrap()).submissions().page().await.unwrap();
    let path =
        |endpoint: Endpoint| format!("/base{}", endpoint.template.replace("{form_id}", "frm_1"));
    let sent: Vec<_> =
        fake.sent().iter().map(|sent| sent.split('?').next().unwrap().to_owned()).collect();
    assert_eq!(sent, ENDPOINTS.map(path));
    assert_eq!(*named.lock().unwrap(), ENDPOINTS.map(|endpoint| endpoint.operation));
}

#[tokio::test]
async fn a_request_carries_the_key_marked_sensitive() {
    let fake = Fake::rule(|request| {
        let authorization = &request.headers()["authorization"];
        assert!(authorization.is_sensitive());
        assert_eq!(authorization, &format!("Bearer {}", crate::support::KEY));
        assert_eq!(request.headers()["accept"], "application/json");
        let agent = request.headers()["user-agent"].to_str().unwrap();
        assert!(agent.starts_with("formsvc-client/") && agent.ends_with(" acme/1.2"), "{agent}");
        ok(USER)
    });
    let client = builder().user_agent_suffix("acme/1.2").transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
}

#[test]
fn build_refuses_every_setting_that_breaks_a_rule() {
    let (limits, zero) = (Timeouts::new(), Duration::ZERO);
    for (builder, text) in [
        (Client::builder().api_key("k".into()), "no base URL is set"),
        (Client::builder().base_url("https://h"), "no API key is set"),
        (builder().base_url("http://example.org"), "`http` with the host `example.org`"),
        (builder().base_url("https://u:pw@h"), "user name or password"),
        (builder().base_url("nonsense"), "cannot be read"),
        (builder().api_key(SecretString::from("")), "the API key is empty"),
        (builder().api_key(SecretString::from("a b")), "not visible ASCII"),
        (builder().user_agent_suffix("a\nb"), "`User-Agent`"),
        (builder().timeouts(limits.connect(zero)), "`connect` is zero"),
        (builder().timeouts(limits.attempt(zero)), "`attempt` is zero"),
        (builder().timeouts(limits.overall(Some(zero))), "`overall` is zero"),
        (builder().max_body(0), "`0` is not in 1..=1073741824 bytes"),
        (builder().max_body(usize::MAX), "is not in 1..=1073741824 bytes"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        let shown = error.to_string();
        assert!(shown.starts_with("client.build: ") && shown.contains(text), "{shown}");
        assert!(!shown.contains("pw"), "{shown}");
        assert_eq!(error.attempts(), 0);
    }
    assert!(builder().base_url("http://10.0.0.1").allow_insecure_http(true).build().is_ok());
}
