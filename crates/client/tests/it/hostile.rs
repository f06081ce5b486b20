//! Limits on the texts and bodies of a hostile or broken service.

use std::error::Error as _;

use formsvc_client::{ClientBuilder, Error, ErrorKind, RetryPolicy, SubmissionPage};

use crate::support::bodies::{USER, error, last, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

async fn ask(builder: ClientBuilder, rows: u32, answer: Answer) -> Result<SubmissionPage, Error> {
    let fake = Fake::script([answer]);
    let client = builder.retry(RetryPolicy::none()).transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions().page_size(rows).page().await
}

/// The error of a list that is answered so.
async fn failure(answer: Answer) -> Error {
    ask(builder(), 100, answer).await.unwrap_err()
}

/// An answer with this content type.
fn declared(kind: &str, body: &str) -> Answer {
    Answer::Status(200, vec![("content-type", kind.to_owned())], body.to_owned())
}

/// All that an error shows.
fn shown(error: &Error) -> String {
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    format!("{error} {error:?} {source}")
}

#[tokio::test]
async fn member_names_are_escaped_and_cut_in_errors() {
    let name = format!(r"\u001b[2J\u202e{}", "k".repeat(1_000_000));
    for body in [
        format!(r#"{{"{name}":[1,}}"#),
        format!(r#"{{"data":[],"pagination":{{"has_more":"{name}"}}}}"#),
    ] {
        let error = failure(ok(body)).await;
        assert_eq!(error.kind(), ErrorKind::Decode);
        let text = shown(&error);
        assert!(text.len() < 5_000 && !text.contains(['\u{1b}', '\u{202e}']), "{}", text.len());
        assert!(error.json_path().unwrap().chars().count() <= 1_000);
    }
    let error = failure(ok(format!(r#"{{"{name}":[1,}}"#))).await;
    assert!(error.json_path().unwrap().starts_with("\u{1b}[2J"), "the raw text has its place");
}

#[tokio::test]
async fn form_id_is_escaped_in_error() {
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    let token = client.form("frm_\u{202e}1").submissions().items().resume_token();
    let list = client.form("frm_1").submissions().resume_from(token);
    let text = shown(&list.page().await.unwrap_err());
    assert!(text.contains(r"frm_\u{202e}1") && !text.contains('\u{202e}'), "{text}");
}

#[tokio::test]
async fn errors_show_no_answers_of_submitters() {
    let answers = r#"{"data":[{"E-mail":"ada@example.org""#;
    for guard in ["", "\u{feff}", ")]}',\n", ")]}'\n", "while(1);"] {
        let body = format!("{guard}{answers}");
        for answer in [
            ok(body.clone()),
            declared("text/plain; charset=utf-8", &body),
            declared("application/json", &body),
        ] {
            let error = failure(answer).await;
            assert!(!shown(&error).contains("ada"), "{error:?}");
        }
    }
    for kind in ["text/plain", "application/json"] {
        let error = failure(declared(kind, "Bad Gateway")).await;
        let text = format!("content type `{kind}`, begins with `Bad Gateway`");
        assert!(error.to_string().contains(&text), "{error}");
    }
}

#[tokio::test]
async fn page_with_more_rows_than_requested_is_refused() {
    let rows: Vec<_> = (0..3).map(row).collect();
    let usual = page_of(&rows, None, false);
    let odd = usual.replacen("\"data\"", "\"d\\u0061ta\"", 1);
    for body in [usual, odd] {
        let error = ask(builder(), 2, ok(body.clone())).await.unwrap_err();
        assert_eq!((error.kind(), error.json_path()), (ErrorKind::Decode, Some("data")));
        let why = error.source().unwrap().to_string();
        assert_eq!(why, "`3` submissions, though at most `2` were requested");
        assert_eq!(ask(builder(), 3, ok(body)).await.unwrap().len(), 3);
    }
}

#[tokio::test]
async fn cursor_over_1_kib_is_refused() {
    for (length, is_taken) in [(1_024, true), (1_025, false), (100_000, false)] {
        let body = page_of(&[row(0)], Some(&"c".repeat(length)), true);
        match ask(builder(), 100, ok(body)).await {
            Ok(page) => assert!(is_taken && page.next_cursor().is_some()),
            Err(error) => {
                assert!(!is_taken && error.kind() == ErrorKind::Decode);
                assert_eq!(error.json_path(), Some("pagination.next_cursor"));
                assert!(shown(&error).len() < 1_000);
            }
        }
    }
}

#[tokio::test]
async fn body_over_max_body_is_too_large() {
    let body = last([0, 1]);
    let least = body.len();
    assert_eq!(ask(builder().max_body(least), 2, ok(body.clone())).await.unwrap().len(), 2);
    let error = ask(builder().max_body(least - 1), 2, ok(body)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let padded = format!("{}{}", " ".repeat(32 << 20), last([0]));
    assert_eq!(failure(ok(padded)).await.kind(), ErrorKind::TooLarge, "32 MiB unless set");
}

#[tokio::test]
async fn code_and_message_are_cut() {
    let body = error(&"c".repeat(20_000), &"m".repeat(20_000));
    let error = failure(Answer::Status(403, Vec::new(), body)).await;
    assert_eq!(error.code().unwrap().as_str(), "c".repeat(100));
    assert_eq!(error.message().unwrap(), "m".repeat(2_000));
}

#[tokio::test]
async fn debug_output_contains_no_answers() {
    let rows = || vec![row(0).replace("0.50", r#""ada@example.org""#), row(1)];
    let page = ask(builder(), 2, ok(page_of(&rows(), None, false))).await.unwrap();
    assert!(page.submissions()[0].data.as_json().contains("ada@"));
    let shown = format!("{page:?} {:?} {:?}", page.submissions()[0], page.clone().into_iter());
    let fake = Fake::script([ok(page_of(&rows(), None, false)), ok(USER)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let mut items = client.form("frm_1").submissions().items();
    let item = items.try_next().await.unwrap().unwrap();
    let text = format!("{shown} {items:?} {item:?}");
    client.me().await.unwrap();
    assert!(!text.contains("ada@") && text.contains("sub_0"), "{text}");
}
