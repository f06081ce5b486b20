//! Lists of services with cursors of seconds or milliseconds, which do not distinguish tied rows.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use formsvc_client::event::{ClientEvent, FallbackReason};
use formsvc_client::{Completeness, Cursor, ErrorKind, RateLimit, ResumeToken, SubmissionQuery};
use formsvc_protocol::FormInstant;

use crate::support::bodies::{error, last, page_of, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

type Events = Arc<Mutex<Vec<String>>>;

fn list(fake: &Arc<Fake>, events: &Events) -> SubmissionQuery {
    let log = events.clone();
    let record = move |event: &ClientEvent| match event {
        ClientEvent::Fallback { reason, .. } => log.lock().unwrap().push(format!("{reason:?}")),
        ClientEvent::TieOverflow { overflow, .. } => log.lock().unwrap().push(overflow.to_string()),
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
    Read { ids, error, completeness: items.completeness_so_far(), token: items.resume_token() }
}

fn cursors(fake: &Fake) -> Vec<String> {
    let cursor = |path: String| path.split_once("cursor=").map(|(_, c)| c.replace("%3A", ":"));
    fake.sent().into_iter().map(|path| cursor(path).unwrap_or_default()).collect()
}

/// The behaviour of a service besides cutting its cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quirk {
    None,
    RefusesForeignCursors,
    IgnoresForeignCursors,
    /// The last row of the first page is deleted before the second page.
    DeletesRow,
}

const SECOND: i64 = 1_000_000;
const MILLISECOND: i64 = 1_000;
/// 2026-01-01T12:00:00.123Z
const NEWEST: i64 = 1_767_268_800 * SECOND + 123 * MILLISECOND;

/// The times of a form, newest first: `lead` rows in units of their own, `tied` rows in one unit, then
/// `tail` rows in units of their own. The units are far apart, so that no cursor of the client is by
/// chance one of the service.
fn times_with_tie(unit: i64, lead: usize, tied: usize, tail: usize) -> Vec<i64> {
    let start = |n: usize| NEWEST - NEWEST % unit - i64::try_from(n).unwrap() * 10 * unit;
    // A service with cursors of seconds shows different milliseconds within the second.
    let within =
        |n: usize| if unit == SECOND { i64::try_from(n).unwrap() * MILLISECOND } else { 0 };
    let tie = (0..tied).map(|n| start(lead) + within(tied - n));
    (0..lead).map(start).chain(tie).chain((1..=tail).map(|n| start(lead + n))).collect()
}

/// A service that cuts its cursors to a unit and answers with rows of strictly older units.
fn cutting_service(unit: i64, times: &[i64], quirk: Quirk) -> Arc<Fake> {
    let mut rows: Vec<(u32, i64)> = (0..).zip(times.iter().copied()).collect();
    let cut = move |time: i64| time - time.rem_euclid(unit);
    let print = move |time: i64| {
        let text = FormInstant::from_micros(cut(time)).to_cursor().as_str().to_owned();
        if unit == SECOND { text.replace(".000Z", "Z") } else { text }
    };
    let (mut requests, mut first_page) = (0, 0);
    Fake::rule(move |request| {
        requests += 1;
        let query = request.uri().query().unwrap().as_bytes();
        let parameters: HashMap<_, _> = url::form_urlencoded::parse(query).into_owned().collect();
        let limit: usize = parameters["limit"].parse().unwrap();
        let mut cursor = parameters.get("cursor");
        if requests == 2 && quirk == Quirk::DeletesRow {
            rows.remove(first_page - 1);
        }
        let is_foreign = cursor.is_some_and(|c| rows.iter().all(|(_, time)| print(*time) != *c));
        match quirk {
            Quirk::RefusesForeignCursors if is_foreign => {
                return Answer::Status(400, Vec::new(), error("bad_request", "no such cursor"));
            }
            Quirk::IgnoresForeignCursors if is_foreign => cursor = None,
            _ => {}
        }
        let instant = |cursor: &String| FormInstant::parse_cursor(cursor).unwrap().micros();
        let bound = cursor.map_or(i64::MAX, |cursor| cut(instant(cursor)));
        let from = rows.partition_point(|(_, time)| cut(*time) >= bound);
        let to = rows.len().min(from + limit);
        if requests == 1 {
            first_page = to;
        }
        let next = rows[from..to].last().map(|(_, time)| print(*time));
        let shown = |time: i64| FormInstant::from_micros(time).to_timestamp().to_string();
        let page = rows[from..to].iter().map(|(n, time)| row_at(*n, &shown(*time)));
        ok(page_of(&page.collect::<Vec<_>>(), next.as_deref(), to < rows.len()))
    })
}

/// Requests beyond one for each p − 1 rows: the known rows of the tie are requested twice, and a page
/// that lies in one unit is requested with two more cursors.
const EXTRA_REQUESTS: usize = 3;

/// Prints the table of requests with `--nocapture`.
#[tokio::test]
async fn ties_are_complete_or_end_with_a_typed_error() {
    use Quirk::{DeletesRow, IgnoresForeignCursors, None, RefusesForeignCursors};
    println!(
        "| cursor | service | page size | rows in one unit | rows | read | requests | ⌈n/(p−1)⌉ | result |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (unit, name) in [(MILLISECOND, "millisecond"), (SECOND, "second")] {
        for quirk in [None, RefusesForeignCursors, IgnoresForeignCursors, DeletesRow] {
            for (page, tied) in
                [1, 2, 7, 25, 100].into_iter().flat_map(|page| TIES.map(|tied| (page, tied)))
            {
                // The first page ends within the tie.
                let lead = page - (tied / 2).min(page);
                let times = times_with_tie(unit, lead, tied, 2 * page + 3);
                let (fake, events) = (cutting_service(unit, &times, quirk), Events::default());
                let page_size = u32::try_from(page).unwrap();
                let out = read(list(&fake, &events).page_size(page_size)).await;
                let (n, read, requests) = (times.len(), out.ids.len(), fake.sent().len());
                let least = if page > 1 { n.div_ceil(page - 1).to_string() } else { "–".into() };
                let error = out.error.as_ref();
                let result =
                    error.map_or_else(|| out.completeness.to_string(), ToString::to_string);
                println!(
                    "| {name} | {quirk:?} | {page} | {tied} | {n} | {read} | {requests} | {least} | {result} |"
                );
                let distinct: BTreeSet<_> = out.ids.iter().collect();
                assert_eq!(distinct.len(), read, "a row is repeated");
                let is_proven = error.is_none() && out.completeness == Completeness::Proven;
                if let Some(error) = error {
                    assert_eq!(error.kind(), ErrorKind::TieOverflow);
                    let start = FormInstant::from_micros(times[lead] - times[lead] % unit);
                    let named = format!("the {name} `{}`", start.to_timestamp());
                    assert!(quirk != None || result.contains(&named), "{result}");
                } else if is_proven {
                    assert_eq!(read, n, "the deleted row was on the first page");
                    assert_eq!(*events.lock().unwrap(), [""; 0]);
                } else {
                    assert_eq!(events.lock().unwrap().len(), 1, "the fallback is reported once");
                }
                if quirk == None {
                    assert_eq!(is_proven, tied < page.max(2), "{page} {tied}");
                    let most = n.div_ceil((page - 1).max(1)) + EXTRA_REQUESTS;
                    assert!(page == 1 || requests <= most, "{requests} requests, at most {most}");
                }
                assert!(!is_proven || matches!(quirk, None | DeletesRow), "{quirk:?}");
            }
        }
    }
}

const TIES: [usize; 5] = [2, 7, 99, 100, 250];

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
    assert_eq!(items.completeness_so_far(), Completeness::Incomplete);
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
