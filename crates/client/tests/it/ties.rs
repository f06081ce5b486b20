//! Lists that keep submissions made in one millisecond.

use std::sync::{Arc, Mutex};

use formsvc_client::{ErrorKind, Event, FallbackReason, ListSubmissions, OnTieStorm, ResumeToken};

use crate::support::bodies::{error, last, page_of, row, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

type Heard = Arc<Mutex<Vec<String>>>;

fn list(fake: &Arc<Fake>, heard: &Heard) -> ListSubmissions {
    let log = heard.clone();
    let told = move |event: &Event| match event {
        Event::Fallback { why, .. } => log.lock().unwrap().push(format!("{why:?}")),
        Event::TieStorm(storm) => {
            let storm = format!("{} of {}", storm.rows(), storm.created_at());
            log.lock().unwrap().push(storm);
        }
        _ => {}
    };
    let client = builder().on_event(told).transport(fake.wire()).build().unwrap();
    client.form("frm_1".parse().unwrap()).submissions().tie_safe(true)
}

async fn read(list: ListSubmissions) -> (Vec<String>, Option<ErrorKind>, ResumeToken) {
    let (mut items, mut ids) = (list.items(), Vec::new());
    let ended = loop {
        match items.try_next().await {
            Ok(Some(item)) => ids.push(item.id.as_str()["sub_".len()..].to_owned()),
            Ok(None) => break None,
            Err(error) => break Some(error.kind()),
        }
    };
    (ids, ended, items.resume_token())
}

/// Rows as `number at second`, the last of them giving the cursor of a service of milliseconds.
fn naive(rows: &[(u32, u32)], has_more: bool) -> Answer {
    let next = rows.last().map(|(_, second)| time(*second));
    let rows: Vec<_> = rows.iter().map(|(n, second)| row_at(*n, &time(*second))).collect();
    ok(page_of(&rows, next.as_deref(), has_more))
}

fn cursors(fake: &Fake) -> Vec<String> {
    let cursor = |path: String| path.split_once("cursor=").map(|(_, c)| c.replace("%3A", ":"));
    fake.sent().into_iter().map(|path| cursor(path).unwrap_or_default()).collect()
}

#[tokio::test]
async fn the_millisecond_a_page_ended_in_is_read_again() {
    let fake = Fake::script([
        naive(&[(0, 0), (1, 1), (2, 2)], true),
        naive(&[(2, 2), (3, 2), (4, 3)], true),
        naive(&[(4, 3)], false),
    ]);
    let heard = Heard::default();
    let (ids, ended, token) = read(list(&fake, &heard)).await;
    assert_eq!((ids.join(""), ended), ("01234".to_owned(), None));
    assert!(token.is_finished() && heard.lock().unwrap().is_empty());
    assert_eq!(cursors(&fake), ["", "2026-01-31T23:59:57.001Z", "2026-01-31T23:59:56.001Z"]);
}

#[tokio::test]
async fn a_tie_storm_ends_the_list_with_an_error_and_its_token_can_be_told_to_go_on() {
    let storm = [
        naive(&[(0, 0), (1, 1), (2, 1)], true),
        naive(&[(1, 1), (2, 1), (3, 1)], true),
        // Just above the last row, and as the service says.
        naive(&[(5, 3)], false),
        naive(&[(5, 3)], false),
    ];
    let fake = Fake::script(storm);
    let heard = Heard::default();
    let mut pages = list(&fake, &heard).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 3);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let error = pages.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TieStorm);
    let text = error.to_string();
    assert!(text.contains("`2026-01-31T23:59:58.000Z`") && text.contains("`3` of them"), "{text}");
    assert_eq!(cursors(&fake)[2..], ["2026-01-31T23:59:58.000001Z", "2026-01-31T23:59:58.000Z"]);
    assert!(pages.try_next().await.unwrap().is_none());

    let token: ResumeToken = pages.resume_token().to_string().parse().unwrap();
    let rest =
        [naive(&[(1, 1), (2, 1), (3, 1)], true), naive(&[(5, 3)], false), naive(&[(5, 3)], false)];
    let fake = Fake::script(rest);
    let list = list(&fake, &heard).on_tie_storm(OnTieStorm::Report).resume_from(token);
    let mut items = list.items();
    let rest = items.try_collect_max(9).await.unwrap();
    assert_eq!(rest.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["sub_5"]);
    assert_eq!(items.tie_storms()[0].created_at().as_str(), "2026-01-31T23:59:58.000Z");
    assert_eq!(heard.lock().unwrap()[1..], ["0 of 2026-01-31T23:59:58.000Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_refuses_cursors_of_others_is_read_by_its_own() {
    let body = error("bad_request", "no such cursor");
    let fake = Fake::script([
        ok(page_of(&[row(0), row(1)], Some("a"), true)),
        Answer::Status(400, Vec::new(), body.clone()),
        ok(page_of(&[row(2)], Some("b"), true)),
        ok(last([3])),
    ]);
    let heard = Heard::default();
    let (ids, ended, _) = read(list(&fake, &heard)).await;
    assert_eq!((ids.join(""), ended), ("0123".to_owned(), None));
    assert_eq!(cursors(&fake)[2..], ["a", "b"]);
    assert_eq!(*heard.lock().unwrap(), [format!("{:?}", FallbackReason::CursorRefused)]);

    // A cursor of its own that it refuses is an error all the same.
    let fake = Fake::script([Answer::Status(400, Vec::new(), body)]);
    let list = list(&fake, &heard).before(formsvc_client::Cursor::new("x"));
    assert_eq!(read(list).await.1, Some(ErrorKind::Api));
}

#[tokio::test]
async fn a_service_that_answers_with_the_newest_page_instead_is_read_by_its_own_cursors() {
    let fake = Fake::script([
        ok(page_of(&[row(0), row(1)], Some("a"), true)),
        ok(page_of(&[row(0), row(1)], Some("a"), true)),
        ok(last([2])),
    ]);
    let heard = Heard::default();
    let (ids, ended, _) = read(list(&fake, &heard)).await;
    assert_eq!((ids.join(""), ended), ("012".to_owned(), None));
    assert_eq!(*heard.lock().unwrap(), [format!("{:?}", FallbackReason::CursorMistreated)]);
}

#[tokio::test]
async fn a_token_of_a_plain_list_is_taken_and_the_other_way_round() {
    let token: ResumeToken = format!(
        "v1:frm_1:.{0}:{1}:{1}:sub_1,sub_2",
        time(2).replace(':', "%3A"),
        1_769_903_997_000_000_i64,
    )
    .parse()
    .unwrap();
    let fake = Fake::script([naive(&[(2, 2), (3, 2), (4, 3)], false)]);
    let heard = Heard::default();
    let (ids, _, _) = read(list(&fake, &heard).resume_from(token)).await;
    assert_eq!(ids.join(""), "34");
    assert_eq!(cursors(&fake), ["2026-01-31T23:59:57.001Z"]);

    let fake = Fake::script([naive(&[(0, 0), (1, 1)], true), naive(&[(2, 2)], false)]);
    let mut pages = list(&fake, &heard).pages();
    pages.try_next().await.unwrap();
    let plain = list(&fake, &heard).tie_safe(false).resume_from(pages.resume_token());
    assert_eq!(read(plain).await.0.join(""), "2");
    assert_eq!(cursors(&fake)[1], time(1), "the service's own cursor");
}

#[tokio::test]
async fn pages_of_one_row_are_asked_for_with_two_and_one_page_alone_falls_back_too() {
    let fake = Fake::script([naive(&[(0, 0), (1, 1)], false)]);
    let heard = Heard::default();
    let page = list(&fake, &heard).page_size(1).page().await.unwrap();
    assert_eq!(page.len(), 2);
    assert!(fake.sent()[0].contains("limit=2"));

    let fake = Fake::script([naive(&[(7, 7)], false), naive(&[(3, 3)], false)]);
    let token = format!("v1:frm_1:.c:{0}:{0}:sub_2", 1_769_903_997_000_000_i64);
    let page = list(&fake, &heard).resume_from(token.parse().unwrap()).page().await.unwrap();
    assert_eq!(page.row(0).unwrap().id(), "sub_3");
    assert_eq!(cursors(&fake), ["2026-01-31T23:59:57.001Z", "c"]);
    assert_eq!(heard.lock().unwrap().len(), 1);
}
