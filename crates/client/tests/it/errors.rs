//! Errors of unusable answers.

use std::error::Error as _;

use formsvc_client::{ErrorCode, ErrorKind};

use crate::support::bodies::{error, page_of, row, row_at};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

/// Lists submissions against one answer.
async fn list(answer: Answer) -> formsvc_client::Error {
    let fake = Fake::script([answer]);
    let client = builder()
        .retry(formsvc_client::RetryPolicy::none())
        .transport(fake.wire())
        .build()
        .unwrap();
    client.form("frm_1").submissions().page().await.unwrap_err()
}

#[tokio::test]
async fn invalid_item_error_names_page_request_id_and_path() {
    let with = |row: &str| ok(page_of(&[self::row(0), row.to_owned()], None, false));
    let time = "2026-01-31T09:30:00.000Z";
    for (answer, path) in [
        (with(&format!(r#"{{"id":"s","data":[1],"created_at":"{time}"}}"#)), "data[1].data"),
        (with(&format!(r#"{{"id":"s","data":null,"created_at":"{time}"}}"#)), "data[1].data"),
        (with(&format!(r#"{{"id":"a\u0000b","data":{{}},"created_at":"{time}"}}"#)), "data[1].id"),
        (with(&format!(r#"{{"id":"","data":{{}},"created_at":"{time}"}}"#)), "data[1].id"),
        (with(&format!(r#"{{"id":7,"data":{{}},"created_at":"{time}"}}"#)), "data[1].id"),
        (with(&row_at(1, "yesterday")), "data[1].created_at"),
        (with(&row_at(1, "2026-02-30T09:30:00.000Z")), "data[1].created_at"),
        (with(r#"{"id":"s","data":{}}"#), "data[1]"),
        (with(&format!(r#"["s",{{}},"{time}"]"#)), "data[1]"),
    ] {
        let error = list(answer.clone()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidItem, "{answer:?}");
        assert_eq!(error.json_path(), Some(path), "{answer:?}");
        assert_eq!(error.status().unwrap().as_u16(), 200);
        assert_eq!(error.request_id(), Some("req_1"));
        let shown = error.to_string();
        let end = format!("at `{path}` of page 1 (request id req_1, 1 attempt)");
        assert!(shown.ends_with(&end) && error.source().is_some(), "{shown}");
    }
}

#[tokio::test]
async fn decode_error_names_status_request_id_and_path() {
    for (answer, path) in [
        (ok(r#"{"data":[],"pagination":[null,false]}"#), "pagination"),
        (ok(r#"{"data":[]}"#), "."),
        (ok("[]"), "."),
        (ok(r#"{"data":[],"pagination":{"has_more":"no"}}"#), "pagination.has_more"),
        (
            ok(r#"{"data":[],"pagination":{"next_cursor":7,"has_more":true}}"#),
            "pagination.next_cursor",
        ),
        (ok(r#"{"data":{},"pagination":{"has_more":false}}"#), "data"),
    ] {
        let error = list(answer.clone()).await;
        assert_eq!(error.kind(), ErrorKind::Decode, "{answer:?}");
        assert_eq!(error.json_path(), Some(path), "{answer:?}");
        assert_eq!(error.status().unwrap().as_u16(), 200);
        assert_eq!(error.request_id(), Some("req_1"));
        assert!(error.body().is_some() && error.source().is_some());
        let shown = error.to_string();
        assert!(
            shown.contains(path)
                && shown.ends_with(": status 200, no content type (request id req_1, 1 attempt)"),
            "{shown}"
        );
        assert!(!shown.contains("Number"), "an answer of a submitter in a message: {shown}");
    }
}

#[tokio::test]
async fn gateway_page_error_shows_status_and_beginning() {
    let body = format!("<html>504 {}", "x".repeat(100_000));
    let error = list(Answer::Status(504, Vec::new(), body)).await;
    assert_eq!((error.kind(), error.code()), (ErrorKind::Api, None));
    assert_eq!(error.body().unwrap().len(), 64 * 1024);
    let shown = error.to_string();
    assert!(shown.starts_with(
        "submissions.list: 504 Gateway Timeout, no content type, begins with `<html>504 xx"
    ));
    assert!(shown.len() < 350, "{shown}");
}

#[tokio::test]
async fn service_error_contains_code_and_message() {
    let body = error("form_not_found", "no such form");
    let error = list(Answer::Status(404, vec![("x-request-id", "r7".into())], body)).await;
    assert_eq!(error.kind(), ErrorKind::Api);
    assert_eq!(error.code(), Some(&ErrorCode::FormNotFound));
    assert_eq!(error.message(), Some("no such form"));
    assert!(error.is_not_found() && !error.is_auth() && !error.is_retryable());
    assert_eq!(error.operation(), "submissions.list");
    assert_eq!(
        error.to_string(),
        "submissions.list: 404 form_not_found: no such form (request id r7, 1 attempt)"
    );
}

#[tokio::test]
async fn array_is_not_a_service_error() {
    let body = r#"[{"code":"form_not_found","message":"no"}]"#;
    let error = list(Answer::Status(404, Vec::new(), body.to_owned())).await;
    assert_eq!((error.kind(), error.code()), (ErrorKind::Api, None));
}

#[tokio::test]
async fn unknown_error_code_is_kept() {
    let error = list(Answer::Status(403, Vec::new(), error("plan_expired", "a\\nb\\u202e"))).await;
    assert_eq!(error.code().unwrap().as_str(), "plan_expired");
    assert_eq!(error.message(), Some("a\nb\u{202e}"));
    assert!(error.to_string().contains(r"plan_expired: a\nb\u{202e} (1 attempt)"), "{error}");
}

#[test]
fn error_for_a_test_has_status_and_code() {
    let (status, code) = (http::StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited);
    let error = formsvc_client::Error::for_test(ErrorKind::Api, Some(status), Some(code));
    assert_eq!((error.status(), error.code()), (Some(status), Some(&ErrorCode::RateLimited)));
    assert!(error.is_rate_limited() && error.is_retryable() && error.is_outage());
}

#[tokio::test]
async fn debug_names_the_missing_member_and_no_answer() {
    let list = |row: &str| list(ok(page_of(&[row.to_owned()], None, false)));
    let error = list(r#"{"id":"sub_1","created_at":"2026-01-01T00:00:00Z"}"#).await;
    assert_eq!(error.kind(), ErrorKind::InvalidItem);
    assert!(format!("{error:?}").contains(r#"missing: "data""#), "{error:?}");
    let error = list(r#"{"id":"sub_1","data":"secret","created_at":"2026-01-01T00:00:00Z"}"#).await;
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    let client = builder().transport(Fake::script([ok(r#"{"id":"usr_1","name":"Ada"}"#)]).wire());
    let error = client.build().unwrap().me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(format!("{error:?}").contains(r#"missing: "email""#), "{error:?}");
}
