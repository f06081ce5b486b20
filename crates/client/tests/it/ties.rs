//! Lists of services with cursors of seconds or milliseconds, which do not distinguish tied rows.

use std::sync::{Arc, Mutex};

use formsvc_client::{
    ClientEvent, Completeness, Cursor, ErrorKind, FallbackReason, RateLimit, ResumeToken,
    SubmissionQuery,
};

use crate::support::bodies::{error, last, page_of, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

type Events = Arc<Mutex<Vec<String>>>;

fn list(fake: &Arc<Fake>, events: &Events) -> SubmissionQuery {
    let log = events.clone();
    let record = move |event: &ClientEvent| match event {
        ClientEvent::Fallback { reason, .. } => log.lock().unwrap().push(format!("{reason:?}")),
        ClientEvent::TieOverflow(overflow) => log.lock().unwrap().push(overflow.to_string()),
        _ => {}
    };
    let client = builder().rate_limit(RateLimit::off()).on_event(record);
    let client = client.transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions()
}

/// The rows that a list yielded, and its end.
struct Read {
    ids: Vec<u32>,
    error: Option<formsvc_client::Error>,
    completeness: Completeness,
    token: ResumeToken,
}

async fn read(list: SubmissionQuery) -> Read {
    let (mut items, mut ids) = (list.items(), Vec::new());
    let error = loop {
        match items.try_next().await {
            Ok(Some(item)) => ids.push(item.id.as_str()["sub_".len()..].parse().unwrap()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Read { ids, error, completeness: items.completeness(), token: items.resume_token() }
}

fn cursors(fake: &Fake) -> Vec<String> {
    let cursor = |path: String| path.split_once("cursor=").map(|(_, c)| c.replace("%3A", ":"));
    fake.sent().into_iter().map(|path| cursor(path).unwrap_or_default()).collect()
}

/// Rows as `(number, time)`, followed by the cursor of a service of milliseconds.
fn millis(rows: &[(u32, u32)], has_more: bool) -> Answer {
    let at = |n: &u32| time(*n).replace(".000Z", ".500Z");
    let next = rows.last().map(|(_, n)| at(n));
    let rows: Vec<_> = rows.iter().map(|(n, second)| row_at(*n, &at(second))).collect();
    ok(page_of(&rows, next.as_deref(), has_more))
}

#[tokio::test]
async fn millisecond_of_page_end_is_requested_again() {
    let fake = Fake::script([
        millis(&[(0, 0), (1, 1), (2, 2)], true),
        millis(&[(2, 2), (3, 2), (4, 3)], true),
        millis(&[(4, 3)], false),
    ]);
    let events = Events::default();
    let out = read(list(&fake, &events)).await;
    assert_eq!(out.ids, [0, 1, 2, 3, 4]);
    assert!(out.error.is_none() && out.token.is_finished() && events.lock().unwrap().is_empty());
    assert_eq!(cursors(&fake), ["", "2026-01-31T23:59:57.501Z", "2026-01-31T23:59:56.501Z"]);
}

#[tokio::test]
async fn overflow_is_error_and_its_token_continues() {
    let fake = Fake::script([
        millis(&[(0, 0), (1, 1), (2, 1)], true),
        millis(&[(1, 1), (2, 1), (3, 1)], true),
        // Just above the last row, and at the service's cursor.
        millis(&[(5, 3)], false),
        millis(&[(5, 3)], false),
    ]);
    let events = Events::default();
    let mut pages = list(&fake, &events).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 3);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let error = pages.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TieOverflow);
    let text = error.to_string();
    let named = "the millisecond `2026-01-31T23:59:58.500Z`, of which 3 submissions were received";
    assert!(text.contains(named), "{text}");
    assert_eq!(cursors(&fake)[2..], ["2026-01-31T23:59:58.500001Z", "2026-01-31T23:59:58.500Z"]);
    assert!(pages.try_next().await.unwrap().is_none());

    let token: ResumeToken = pages.resume_token().to_string().parse().unwrap();
    let fake = Fake::script([
        // Just above the last row; then the next millisecond, and the same once more.
        millis(&[(5, 3)], false),
        millis(&[(1, 1), (2, 1), (3, 1)], true),
        millis(&[(5, 3)], false),
        millis(&[(5, 3)], false),
    ]);
    let mut items = list(&fake, &events).allow_incomplete(true).resume_from(token).items();
    let rest = items.try_collect_max(9).await.unwrap();
    assert_eq!(rest.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["sub_5"]);
    assert_eq!(items.tie_overflows()[0].start().as_str(), "2026-01-31T23:59:58.500Z");
    assert_eq!(items.completeness(), Completeness::Incomplete);
    assert_eq!(events.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn refused_own_cursor_is_no_error_but_service_cursor_is() {
    let body = error("bad_request", "no such cursor");
    let fake = Fake::script([
        millis(&[(0, 0), (1, 1)], true),
        Answer::Status(400, Vec::new(), body.clone()),
        millis(&[(2, 2)], true),
        ok(last([3])),
    ]);
    let events = Events::default();
    let out = read(list(&fake, &events)).await;
    assert_eq!((out.ids, out.completeness), (vec![0, 1, 2, 3], Completeness::Unproven));
    assert_eq!(cursors(&fake)[2..], ["2026-01-31T23:59:58.500Z", "2026-01-31T23:59:57.500Z"]);
    assert_eq!(*events.lock().unwrap(), [format!("{:?}", FallbackReason::CursorRefused)]);

    let fake = Fake::script([Answer::Status(400, Vec::new(), body)]);
    let list = list(&fake, &events).start_at(Cursor::new("x"));
    assert_eq!(read(list).await.error.unwrap().kind(), ErrorKind::Api);
}

#[tokio::test]
async fn resumed_list_tries_just_above_then_next_unit() {
    let fake = Fake::script([
        millis(&[(1, 2), (2, 2)], true),
        millis(&[(4, 3)], false),
        millis(&[(2, 2), (3, 2), (4, 3)], false),
    ]);
    let mut pages = list(&fake, &Events::default()).pages();
    pages.try_next().await.unwrap();
    let token = pages.resume_token();
    let out = read(list(&fake, &Events::default()).resume_from(token)).await;
    assert_eq!((out.ids, out.completeness), (vec![3, 4], Completeness::Proven));
    assert_eq!(cursors(&fake)[1..], ["2026-01-31T23:59:57.500001Z", "2026-01-31T23:59:57.501Z"]);
}

#[tokio::test]
async fn pages_of_one_row_are_requested_with_two() {
    let fake = Fake::script([millis(&[(0, 0)], true), millis(&[(0, 0), (1, 1)], false)]);
    let mut pages = list(&fake, &Events::default()).page_size(1).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let limits: Vec<_> = fake.sent().iter().map(|path| path.contains("limit=2")).collect();
    assert_eq!(limits, [false, true]);
}
