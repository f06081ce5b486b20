//! Answers read into the caller's own type.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;

use formsvc_client::{Error, ErrorKind, ListSubmissions, TypedSubmission};
use futures_util::StreamExt;
use serde::Deserialize;

use crate::support::bodies::{page_of, row, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};

#[derive(Debug, Deserialize, PartialEq)]
struct Numbered {
    #[serde(rename = "Number")]
    number: f64,
    #[serde(default)]
    tags: Vec<u8>,
}

fn list(fake: &Arc<Fake>) -> ListSubmissions {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1".parse().unwrap()).submissions()
}

fn with(n: u32, data: &str) -> String {
    format!(r#"{{"id":"sub_{n}","data":{data},"created_at":"{}"}}"#, time(n))
}

fn spoilt() -> Answer {
    let rows = [
        row(0),
        with(1, r#"{"Number":"s3cret"}"#),
        with(2, "{}"),
        with(3, r#"{"Number":1,"tags":[1,2,999]}"#),
        row(4),
    ];
    ok(page_of(&rows, None, false))
}

#[tokio::test]
async fn answers_that_fit_the_type_are_read_and_the_others_lose_nobody() {
    let fake = Fake::script([spoilt()]);
    let mut items = list(&fake).items_as::<Numbered>();
    let mut seen = Vec::new();
    while let Some(item) = items.try_next().await.unwrap() {
        seen.push(
            item.map(|item| (item.id.to_string(), item.data.number))
                .map_err(|error| (error.submission_id().to_string(), error.json_path().to_owned())),
        );
    }
    let bad = |id: &str, path: &str| Err((id.to_owned(), path.to_owned()));
    assert_eq!(
        seen,
        [
            Ok(("sub_0".to_owned(), 0.5)),
            bad("sub_1", "data[1].data.Number"),
            bad("sub_2", "data[2].data"),
            bad("sub_3", "data[3].data.tags[2]"),
            Ok(("sub_4".to_owned(), 4.5)),
        ]
    );
    assert!(items.resume_token().is_finished());
}

#[tokio::test]
async fn an_answer_that_does_not_fit_names_its_place_and_shows_nothing() {
    let fake = Fake::script([spoilt()]);
    let mut items = list(&fake).items_as::<Numbered>();
    items.next().await.unwrap().unwrap().unwrap();
    let error = items.next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answers of `sub_1` are not of the type asked for, at `data[1].data.Number` \
         (request id req_1)"
    );
    assert_eq!((error.status().unwrap().as_u16(), error.request_id()), (200, Some("req_1")));
    assert!(error.source().unwrap().to_string().contains("invalid type: string"));

    let whole = Error::from(error);
    assert_eq!((whole.kind(), whole.json_path()), (ErrorKind::Decode, Some("data[1].data.Number")));
    assert_eq!((whole.status().unwrap().as_u16(), whole.attempts()), (200, 1));
    let shown = whole.to_string();
    assert!(shown.starts_with("submissions.list: the answers of `sub_1`"), "{shown}");
    assert!(shown.ends_with(": status 200 (request id req_1, 1 attempt)"), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(!whole.is_retryable());
}

#[tokio::test]
async fn the_place_counts_rows_that_were_left_out() {
    let first = page_of(&[row(0), row(1)], Some("a"), true);
    let second = page_of(&[row(0), row(1), with(2, r#"{"Number":[]}"#)], None, false);
    let fake = Fake::script([ok(first), ok(second)]);
    let mut items = list(&fake).since(time(2).parse().unwrap()).items_as::<Numbered>();
    for _ in 0..2 {
        items.try_next().await.unwrap().unwrap().unwrap();
    }
    let error = items.try_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.json_path(), "data[2].data.Number");
}

#[tokio::test]
async fn a_label_cannot_act_on_a_terminal() {
    let fake = Fake::script([ok(page_of(&[with(1, "{\"a\\u001b[2J\":\"x\"}")], None, false))]);
    let error = list(&fake)
        .items_as::<HashMap<String, u8>>()
        .try_next()
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    assert_eq!(error.json_path(), "data[0].data.a\u{1b}[2J");
    assert!(error.to_string().contains(r"data.a\u{1b}[2J"), "{error}");
    assert!(!format!("{error:?}").contains('\u{1b}'));
    assert!(!format!("{:?}", Error::from(error)).contains('\u{1b}'));
}

#[tokio::test]
async fn a_list_that_fails_ends_as_it_does_without_a_type() {
    let fake = Fake::script([ok(page_of(&[row(0)], Some("a"), true)), status(403)]);
    let mut items = list(&fake).items_as::<Numbered>();
    items.try_next().await.unwrap().unwrap().unwrap();
    assert_eq!(items.try_next().await.unwrap_err().kind(), ErrorKind::Api);
    assert!(items.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn pages_and_rows_read_answers_as_a_type_too() {
    let fake = Fake::script([spoilt()]);
    let page = list(&fake).page().await.unwrap();
    let rows: Vec<_> = page.submissions_as::<Numbered>().collect();
    assert_eq!(
        rows.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, false, false, true]
    );
    assert_eq!(rows[1].as_ref().unwrap_err().request_id(), Some("req_1"));
    let first = rows[0].as_ref().unwrap();
    let data = Numbered { number: 0.5, tags: Vec::new() };
    assert_eq!(
        *first,
        TypedSubmission::new("sub_0".parse().unwrap(), data, time(0).parse().unwrap())
    );
    let borrowed: HashMap<&str, &serde_json::value::RawValue> =
        page.row(4).unwrap().data_as().unwrap();
    assert_eq!(borrowed["Number"].get(), "4.50");
    let error = page.row(1).unwrap().data_as::<Numbered>().unwrap_err();
    assert_eq!((error.status(), error.request_id()), (None, None));
}
