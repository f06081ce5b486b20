//! The API key is never shown.

use std::error::Error;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use crate::support::bodies::{USER, error, last, page_of, row};
use crate::support::fake::{Answer, Fake, ok};
use crate::support::log::log;
use crate::support::{KEY, builder};
use formsvc_client::RetryPolicy;
use formsvc_client::transport::TransportErrorKind;
use http::header::AUTHORIZATION;

/// Writes both Debug outputs of a value.
fn debug(out: &mut String, value: &impl Debug) {
    writeln!(out, "{value:?} {value:#?}").unwrap();
}

fn whole_chain(out: &mut String, error: &formsvc_client::Error) {
    debug(out, error);
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        writeln!(out, "{error} {error:?}").unwrap();
        next = error.source();
    }
    debug(out, &(error.code(), error.message(), error.request_id(), error.json_path()));
    debug(out, &error.headers());
    writeln!(out, "{}", String::from_utf8_lossy(error.body().map_or(&[], |b| b))).unwrap();
}

#[tokio::test(start_paused = true)]
async fn key_is_in_no_debug_display_source_event_or_log() {
    let mut out = String::new();
    let events = Arc::new(Mutex::new(String::new()));
    let received = events.clone();
    let echoing = |status, body: String| {
        let headers = vec![("x-request-id", KEY.into()), ("x-echo", format!("Bearer {KEY}"))];
        Answer::Status(status, headers, body)
    };
    let answers = [
        echoing(200, USER.to_owned()),
        ok(last([1])),
        echoing(401, error("invalid_key", KEY)),
        echoing(403, error(KEY, "no")),
        echoing(200, format!(r#"{{"{KEY}"#)),
        Answer::BreaksOff(200, KEY),
        Answer::BreaksOff(500, KEY),
        Answer::Status(502, Vec::new(), format!("<html>{KEY}</html>")),
        ok(format!(r#"{{"id":{{"{KEY}":1}}}}"#)),
        ok(format!(r#"{{"id":"","email":"{KEY}","name":"{KEY}"}}"#)),
        ok(format!(r#"{{"data":[{{"id":"{KEY}"#)),
        // The parser's own message quotes this one.
        ok(format!(r#""{KEY}""#)),
        Answer::Fails(TransportErrorKind::Connect),
    ];
    let fake = Fake::script(answers.clone());
    let settings = builder().retry(RetryPolicy::none()).transport(fake.wire());
    let settings = settings.on_event(move |event| debug(&mut received.lock().unwrap(), event));
    debug(&mut out, &settings);
    let client = settings.build().unwrap();
    debug(&mut out, &client);
    debug(&mut out, &formsvc_client::ApiKey::try_from(KEY).unwrap());
    let me = client.me().await.unwrap();
    debug(&mut out, &me);
    debug(&mut out, &(me.request_id(), me.meta().headers()));
    let list = client.form("frm_1").submissions();
    debug(&mut out, &list);
    let mut items = list.items();
    debug(&mut out, &items);
    debug(&mut out, &items.try_next().await.unwrap());
    debug(&mut out, &items.resume_token());
    for _ in 2..answers.len() {
        whole_chain(&mut out, &client.me().await.unwrap_err());
    }
    whole_chain(&mut out, &builder().api_key(format!("{KEY}\n")).build().unwrap_err());
    out.push_str(&events.lock().unwrap());
    let log = log().text();
    assert!(log.contains("operation=\"submissions.list\""), "{log}");
    assert!(log.contains("status=401") && log.contains("failure=\"connect\""), "{log}");
    assert!(!log.contains("limit=100"), "a query value in the log: {log}");
    out.push_str(&log);
    assert!(out.len() > 2_000, "{out}");
    assert!(!out.contains(&KEY[4..]), "{out}");
}

#[tokio::test]
async fn key_is_in_no_pagination_error() {
    for page in [page_of(&[row(1)], None, true), page_of(&[row(2), row(1)], None, false)] {
        let fake = Fake::script([Answer::Status(200, vec![("x-request-id", KEY.into())], page)]);
        let client = builder().transport(fake.wire()).build().unwrap();
        let mut pages = client.form("frm_1").submissions().pages();
        let mut out = String::new();
        debug(&mut out, &pages.try_next().await.unwrap());
        whole_chain(&mut out, &pages.try_next().await.unwrap_err());
        assert!(out.contains("request id [api key]"), "{out}");
        assert!(!out.contains(&KEY[4..]), "{out}");
    }
}

#[tokio::test]
async fn key_is_in_no_setting_and_no_item() {
    let mut out = String::new();
    // A service that echoes the key in a header.
    let page = page_of(&[row(1), row(2)], None, false);
    let fake = Fake::script([Answer::Status(200, vec![("x-request-id", KEY.into())], page)]);
    let settings = || builder().transport(fake.wire()).default_header("x-other-key", KEY);
    debug(&mut out, &settings());
    let client = settings().build().unwrap();
    debug(&mut out, &client);
    whole_chain(&mut out, &settings().default_header(AUTHORIZATION, KEY).build().unwrap_err());
    let list = client.form("frm_1").submissions();
    let list = list.since("2026-01-01T00:00:00Z".parse().unwrap()).stop_when(|_| false);
    debug(&mut out, &list);
    let mut pages = list.pages();
    let page = pages.try_next().await.unwrap().unwrap();
    debug(&mut out, &page);
    debug(&mut out, &(page.meta(), pages));
    assert!(out.contains("[api key]"), "{out}");
    assert!(!out.contains(&KEY[4..]), "{out}");
}

#[test]
fn key_is_in_no_output_of_a_blocking_client() {
    let mut out = String::new();
    let fake = Fake::script([ok(last([1])), Answer::Status(401, Vec::new(), error(KEY, KEY))]);
    let client = formsvc_client::blocking::ClientBuilder::from(builder());
    let client = client.transport(fake.wire()).build().unwrap();
    let form = client.form("frm_1");
    let list = form.submissions();
    debug(&mut out, &(&client, &form, &list));
    let mut items = list.clone().items();
    debug(&mut out, &items.next().unwrap().unwrap());
    debug(&mut out, &(&items, list.pages()));
    whole_chain(&mut out, &client.me().unwrap_err());
    assert!(out.contains("[api key]") && !out.contains(&KEY[4..]), "{out}");
}

#[tokio::test]
async fn key_is_in_no_output_of_the_mock() {
    use formsvc_client::test_util::MockService;
    let mut out = String::new();
    let service = MockService::new();
    let client = service.client();
    client.me().await.unwrap();
    debug(&mut out, &(&service, service.requests(), &client));
    assert!(!out.contains(MockService::API_KEY), "{out}");
}
