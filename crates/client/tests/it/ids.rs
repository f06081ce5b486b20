//! Ids are opaque: any text without NUL, also one that a path needs encoded.

use formsvc_client::test_util::MockService;
use formsvc_client::{ErrorKind, Form, FormId, FormStatus, Timestamp};

use crate::support::bodies::{last, page_of};
use crate::support::builder;
use crate::support::fake::{Fake, ok};
use crate::support::served::{Served, answer};

/// Ids that a path, a file name or a terminal cannot contain as they are.
const ODD: [&str; 7] = ["q7/3=", "a b", "a?b#c%2f\\", "..", "é\u{1b}[2J\n", "+~.-_*", "%2e%2e"];

#[tokio::test]
async fn lists_accept_ids_of_any_text() {
    let ids: Vec<String> =
        ODD.iter().map(|id| (*id).to_owned()).chain(["x".repeat(9_000)]).collect();
    let time = "2026-01-01T00:00:00Z";
    let form = |id: &String| {
        serde_json::json!({"id": id, "public_id": id, "title": "T", "status": "published",
            "created_at": time, "updated_at": time, "url": "/f/x"})
    };
    let forms = serde_json::json!({ "data": ids.iter().map(form).collect::<Vec<_>>() });
    let row = |id: &String| serde_json::json!({"id": id, "data": {}, "created_at": time});
    let rows: Vec<_> = ids.iter().map(|id| row(id).to_string()).collect();
    let fake = Fake::script([ok(forms.to_string()), ok(page_of(&rows, None, false))]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let listed = client.forms().await.unwrap();
    assert!(listed.iter().map(|form| form.id.as_str()).eq(&ids));
    assert!(listed.iter().map(|form| form.public_id.as_str()).eq(&ids));
    let page = client.form("frm_1").submissions().page().await.unwrap();
    assert!(page.submissions().iter().map(|row| row.id.as_str()).eq(&ids));
}

#[tokio::test]
async fn form_id_is_percent_encoded_on_the_wire() {
    for (id, segment) in [
        ("q7/3=", "q7%2F3%3D"),
        ("a b", "a%20b"),
        ("+~.-_*", "%2B~.-_%2A"),
        ("é\u{1b}\n", "%C3%A9%1B%0A"),
        ("%2e%2e", "%252e%252e"),
        ("...", "..."),
        ("../..", "..%2F.."),
    ] {
        let served = Served::script([answer(200, &last([0]))]).await;
        served.client().form(id).submissions().page().await.unwrap();
        let path = format!("/api/v1/forms/{segment}/submissions");
        assert_eq!(served.requests().await[0].url.path(), path, "{id:?}");
    }
}

#[tokio::test]
async fn dot_form_id_is_config_error_without_request() {
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    for id in [".", ".."] {
        let query = client.form(id).submissions();
        let first = query.clone().page().await.unwrap_err();
        let next = query.sync_from(&formsvc_client::SyncPoint::new()).try_next().await.unwrap_err();
        for error in [first, next] {
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::Config, 0));
            let rule = format!("the form id `{id}` cannot be a segment of a path");
            assert!(error.to_string().contains(&rule), "{error}");
        }
    }
    for (id, rule) in [("", "cannot be empty"), ("a\0", "cannot contain NUL")] {
        let error = client.form(id).submissions().page().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(rule), "{error}");
    }
}

#[tokio::test]
async fn mock_finds_forms_by_odd_ids() {
    for id in ODD.into_iter().filter(|id| *id != "..") {
        let time: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let form_id = FormId::new(id).unwrap();
        let public_id = "p".parse().unwrap();
        let form =
            Form::new(form_id.clone(), public_id, "T", FormStatus::Published, time.clone(), time);
        let service = MockService::new().form(form);
        service.client().form(id).submissions().page().await.unwrap();
        assert_eq!(service.requests()[0].form.as_ref(), Some(&form_id), "{id:?}");
    }
}
