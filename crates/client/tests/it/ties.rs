//! Lists of services with cursors of seconds or milliseconds, which do not distinguish tied rows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use formsvc_client::{
    ClientEvent, Completeness, Cursor, ErrorKind, FallbackReason, RateLimit, ResumeToken,
    SubmissionQuery,
};
use formsvc_protocol::FormInstant;

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
/// 2026-01-01T12:00:00Z and, for milliseconds, a part of a second more.
const NOON: i64 = 1_767_268_800 * SECOND;
const PART: i64 = 123 * MILLISECOND;

/// The rows of a form, newest first: `lead` rows in units of their own, `tied` rows in one unit, then
/// `tail` rows in units of their own.
fn rows_with_tie(unit: i64, lead: usize, tied: usize, tail: usize) -> Vec<i64> {
    // Far enough apart that no cursor of the client is by chance one of the service.
    let apart = 10 * unit;
    let half = unit / 2 / MILLISECOND * MILLISECOND;
    let lead_rows = (0..lead).map(|n| start_of(unit) - to_i64(n) * apart + half);
    let tie = start_of(unit) - to_i64(lead) * apart;
    // A service of seconds shows different milliseconds within the second.
    let step = if unit == SECOND { MILLISECOND } else { 0 };
    let tied_rows = (0..tied).map(|n| tie + to_i64(tied - n) * step);
    let tail_rows = (1..=tail).map(|n| tie - to_i64(n) * apart + half);
    lead_rows.chain(tied_rows).chain(tail_rows).collect()
}

fn start_of(unit: i64) -> i64 {
    if unit == SECOND { NOON } else { NOON + PART }
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap()
}

/// A service that cuts its cursors to a unit and answers with rows of strictly older units.
fn cutting_service(unit: i64, rows: &[i64], quirk: Quirk) -> Arc<Fake> {
    let mut rows: Vec<(usize, i64)> = rows.iter().copied().enumerate().collect();
    let cut = move |time: i64| time - time.rem_euclid(unit);
    let print = move |time: i64| {
        let text = FormInstant::from_micros(cut(time)).to_cursor().as_str().to_owned();
        if unit == SECOND { text.replace(".000Z", "Z") } else { text }
    };
    let (mut requests, mut first_page) = (0, 0);
    Fake::rule(move |request| {
        requests += 1;
        let (mut limit, mut cursor) = (25, None);
        for (name, value) in url::form_urlencoded::parse(request.uri().query().unwrap().as_bytes())
        {
            match &*name {
                "limit" => limit = value.parse().unwrap(),
                _ => cursor = Some(value.into_owned()),
            }
        }
        if requests == 2 && quirk == Quirk::DeletesRow {
            rows.remove(first_page - 1);
        }
        let issued = cursor.as_ref().is_none_or(|c| rows.iter().any(|(_, at)| print(*at) == *c));
        match quirk {
            Quirk::RefusesForeignCursors if !issued => {
                return Answer::Status(400, Vec::new(), error("bad_request", "no such cursor"));
            }
            Quirk::IgnoresForeignCursors if !issued => cursor = None,
            _ => {}
        }
        let bound = cursor
            .map_or(i64::MAX, |cursor| cut(FormInstant::parse_cursor(&cursor).unwrap().micros()));
        let from = rows.partition_point(|(_, at)| cut(*at) >= bound);
        let to = rows.len().min(from + limit);
        if requests == 1 {
            first_page = to;
        }
        let next = rows[from..to].last().map(|(_, at)| print(*at));
        let shown = |at: i64| FormInstant::from_micros(at).to_timestamp().to_string();
        let page =
            rows[from..to].iter().map(|(n, at)| row_at(u32::try_from(*n).unwrap(), &shown(*at)));
        ok(page_of(&page.collect::<Vec<_>>(), next.as_deref(), to < rows.len()))
    })
}

const PAGE_SIZES: [u32; 5] = [1, 2, 7, 25, 100];
const TIES: [usize; 5] = [2, 7, 99, 100, 250];
/// Requests beyond one for each p − 1 rows: the known rows of the tie are requested twice, and a page
/// that lies in one unit is requested with two more cursors.
const EXTRA_REQUESTS: usize = 3;

/// Prints the table of requests with `--nocapture`.
#[tokio::test]
async fn ties_across_page_ends_are_complete_or_typed_error() {
    println!("| cursor | page size | rows in one unit | rows | requests | ⌈n/(p−1)⌉ | result |");
    println!("|---|---|---|---|---|---|---|");
    for (unit, name) in [(MILLISECOND, "millisecond"), (SECOND, "second")] {
        for page_size in PAGE_SIZES {
            for tied in TIES {
                let page = page_size as usize;
                // The first page ends within the tie.
                let lead = page - (tied / 2).min(page);
                let rows = rows_with_tie(unit, lead, tied, 2 * page + 3);
                let fake = cutting_service(unit, &rows, Quirk::None);
                let events = Events::default();
                let out = read(list(&fake, &events).page_size(page_size)).await;
                let (n, requests) = (rows.len(), fake.sent().len());
                let least = if page > 1 { n.div_ceil(page - 1).to_string() } else { "–".into() };
                let result = match &out.error {
                    None => "complete, proven".to_owned(),
                    Some(error) => error.to_string(),
                };
                println!("| {name} | {page} | {tied} | {n} | {requests} | {least} | {result} |");
                let expected: Vec<u32> = (0..u32::try_from(n).unwrap()).collect();
                if tied < page.max(2) {
                    assert_eq!(out.ids, expected);
                    assert!(out.error.is_none() && out.token.is_finished());
                    assert_eq!(out.completeness, Completeness::Proven);
                    let most = n.div_ceil((page - 1).max(1)) + EXTRA_REQUESTS;
                    assert!(requests <= most, "{requests} requests, at most {most}");
                } else {
                    let error = out.error.unwrap();
                    assert_eq!(error.kind(), ErrorKind::TieOverflow);
                    let text = error.to_string();
                    let start = FormInstant::from_micros(start_of(unit) - to_i64(lead) * 10 * unit);
                    assert!(
                        text.contains(&format!("the {name} `{}`", start.to_timestamp())),
                        "{text}"
                    );
                    assert!(expected.starts_with(&out.ids), "{:?}", out.ids);
                    let received = out.ids.len() - lead;
                    assert!(text.contains(&format!("{received} submission")), "{text}");
                }
            }
        }
    }
}

/// Prints its table with `--nocapture`.
#[tokio::test]
async fn ties_on_quirky_services_are_never_lost_silently() {
    println!(
        "| cursor | service | page size | rows in one unit | rows | yielded | requests | result |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (unit, name) in [(MILLISECOND, "millisecond"), (SECOND, "second")] {
        for quirk in [Quirk::RefusesForeignCursors, Quirk::IgnoresForeignCursors, Quirk::DeletesRow]
        {
            for (page_size, tied) in PAGE_SIZES.iter().flat_map(|p| TIES.map(|tied| (*p, tied))) {
                let page = page_size as usize;
                let lead = page - (tied / 2).min(page);
                let rows = rows_with_tie(unit, lead, tied, 2 * page + 3);
                let fake = cutting_service(unit, &rows, quirk);
                let events = Events::default();
                let out = read(list(&fake, &events).page_size(page_size)).await;
                let result = match &out.error {
                    None => out.completeness.to_string(),
                    Some(error) => error.to_string(),
                };
                println!(
                    "| {name} | {quirk:?} | {page} | {tied} | {} | {} | {} | {result} |",
                    rows.len(),
                    out.ids.len(),
                    fake.sent().len()
                );
                let once: BTreeSet<_> = out.ids.iter().collect();
                assert_eq!(once.len(), out.ids.len(), "a row is repeated");
                let events = events.lock().unwrap();
                match (&out.error, out.completeness) {
                    (Some(error), _) => assert_eq!(error.kind(), ErrorKind::TieOverflow),
                    (None, Completeness::Proven) => {
                        // The deleted row was on the first page.
                        assert_eq!(out.ids.len(), rows.len());
                        assert!(events.is_empty());
                    }
                    (None, completeness) => {
                        assert_eq!(completeness, Completeness::Unproven);
                        assert_eq!(events.len(), 1, "{events:?}");
                    }
                }
                if quirk != Quirk::DeletesRow && out.error.is_none() {
                    assert_eq!(out.completeness, Completeness::Unproven);
                }
            }
        }
    }
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
