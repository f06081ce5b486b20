//! Plain calls and the settings of the builder.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::event::ClientEvent;
use formsvc_client::network::NetworkSettings;
use formsvc_client::{Client, ErrorKind, FormStatus, RateLimit, Timeouts};
use formsvc_protocol::paths::{ENDPOINTS, Endpoint};
use http::StatusCode;

use crate::support::bodies::{FORMS, USER, last};
use crate::support::builder;
use crate::support::fake::{Fake, ok};

#[tokio::test]
async fn me_returns_the_owner_of_the_key() {
    let fake = Fake::script([ok(USER)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let me = client.me().await.unwrap();
    assert_eq!((me.name.as_str(), me.email.as_str()), ("Ada", "ada@example.org"));
    assert_eq!((me.status(), me.request_id(), me.attempts()), (StatusCode::OK, Some("req_1"), 1));
    assert_eq!(me.meta().headers()["x-request-id"], "req_1");
    assert_eq!(fake.sent(), ["/base/api/v1/me"]);
}

#[tokio::test]
async fn unknown_form_status_is_kept() {
    let fake = Fake::script([ok(FORMS)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let forms = client.forms().await.unwrap().into_inner();
    assert_eq!(forms.len(), 1);
    assert_eq!(forms[0].status, FormStatus::from("archived"));
    assert_eq!(fake.sent(), ["/base/api/v1/forms"]);
}

#[tokio::test]
async fn each_endpoint_has_a_call_with_its_name() {
    let fake = Fake::script([ok(USER), ok(FORMS), ok(last([1]))]);
    let named = Arc::new(Mutex::new(Vec::new()));
    let log = named.clone();
    let settings = builder().transport(fake.wire()).on_event(move |event| {
        if let ClientEvent::Attempt { operation, .. } = event {
            log.lock().unwrap().push(*operation);
        }
    });
    let client = settings.build().unwrap();
    client.me().await.unwrap();
    client.forms().await.unwrap();
    client.form("frm_1").submissions().page().await.unwrap();
    let path =
        |endpoint: Endpoint| format!("/base{}", endpoint.template.replace("{form_id}", "frm_1"));
    let sent: Vec<_> =
        fake.sent().iter().map(|sent| sent.split('?').next().unwrap().to_owned()).collect();
    assert_eq!(sent, ENDPOINTS.map(path));
    assert_eq!(*named.lock().unwrap(), ENDPOINTS.map(|endpoint| endpoint.operation));
}

#[tokio::test]
async fn request_contains_the_key_marked_sensitive() {
    let fake = Fake::rule(|request| {
        let authorization = &request.headers()["authorization"];
        assert!(authorization.is_sensitive());
        assert_eq!(authorization, &format!("Bearer {}", crate::support::KEY));
        assert_eq!(request.headers()["accept"], "application/json");
        let agent = request.headers()["user-agent"].to_str().unwrap();
        assert!(agent.starts_with("formsvc-client/") && agent.ends_with(" acme/1.2"), "{agent}");
        ok(USER)
    });
    let client = builder().user_agent("acme/1.2").transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
}

#[test]
fn invalid_setting_is_config_error() {
    let (limits, zero) = (Timeouts::new(), Duration::ZERO);
    for (builder, text) in [
        (Client::builder().api_key("k"), "no base URL is set"),
        (Client::builder().base_url("https://h"), "no API key is set"),
        (builder().base_url("http://example.org"), "`http` with the host `example.org`"),
        (builder().base_url("https://u:pw@h"), "user name or password"),
        (builder().base_url("nonsense"), "cannot be read"),
        (builder().api_key(""), "the API key is empty"),
        (builder().api_key("a b"), "not visible ASCII"),
        (builder().user_agent("a\nb"), "`user_agent` contains"),
        (builder().timeouts(limits.connect(zero)), "`connect` is zero"),
        (builder().timeouts(limits.attempt(zero)), "`attempt` is zero"),
        (builder().timeouts(limits.overall(Some(zero))), "`overall` is zero"),
        (builder().rate_limit(RateLimit::per_minute(0)), "`rate_limit` is zero"),
        (builder().max_body(0), "`max_body` is 0, not in 1..=1073741824 bytes"),
        (builder().max_body(usize::MAX), "not in 1..=1073741824 bytes"),
        (builder().default_header("a b", "1"), "the name of a header contains"),
        (builder().default_header("x-a", "1\n2"), "the value of the header `x-a`"),
        (builder().default_header("Authorization", "x"), "the header `authorization` is set by"),
        (builder().proxy("ftp://u:pw@proxy"), "`proxy` is not a proxy URL"),
        (builder().add_root_certificate("pw"), "`add_root_certificate` contains no certificate"),
        (builder().client_identity("pw"), "`client_identity` contains no certificate"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        let shown = error.to_string();
        assert!(shown.starts_with("client.build: ") && shown.contains(text), "{shown}");
        assert!(!shown.contains("pw"), "{shown}");
        assert_eq!(error.attempts(), 0);
    }
    assert!(builder().base_url("http://10.0.0.1").danger_allow_http(true).build().is_ok());
}

#[test]
fn contradictory_settings_are_named_in_one_error() {
    let direct = NetworkSettings::direct;
    let with_transport = || builder().transport(Fake::script([]).wire());
    for (builder, first, second) in [
        (builder().no_proxy().proxy("http://p"), "proxy", "no_proxy"),
        (builder().network(direct()).proxy("http://p"), "proxy", "network"),
        (builder().no_proxy().network(direct()), "no_proxy", "network"),
        (with_transport().proxy("http://p"), "transport", "proxy"),
        (with_transport().no_proxy(), "transport", "no_proxy"),
        (with_transport().network(direct()), "transport", "network"),
        (with_transport().add_root_certificate("pem"), "transport", "add_root_certificate"),
        (with_transport().client_identity("pem"), "transport", "client_identity"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        let rule = "contradict each other; set only one of them";
        assert_eq!(error.to_string(), format!("client.build: `{first}` and `{second}` {rule}"));
    }
}

#[test]
fn test_errors_have_the_requested_kind() {
    let error = formsvc_client::Error::for_test(ErrorKind::Timeout, None, None);
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert_eq!(formsvc_client::transport::AttemptContext::for_test().attempt, 1);
}
