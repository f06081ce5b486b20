//! Lists with a time range or a stop condition.

use std::sync::Arc;

use formsvc_client::test_util::{MockService, form, submission};
use formsvc_client::{
    Client, ErrorKind, RateLimit, ResumeToken, Submission, SubmissionQuery, Timestamp,
};
use formsvc_protocol::FormInstant;
use http::Request;
use proptest::prelude::*;

use crate::resume::seen_ids;
use crate::support::bodies::{last, page, page_of, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

/// A list of rows 0, 1, 2 …, newest first, in pages of three.
fn three_by_three(rows: u32) -> Arc<Fake> {
    Fake::rule(move |request| page_of_three(request, rows))
}

fn page_of_three(request: &Request<bytes::Bytes>, rows: u32) -> Answer {
    let query = request.uri().query().unwrap();
    let from: u32 = query.split_once("cursor=").map_or(0, |(_, at)| at.parse().unwrap());
    let to = from + 3;
    if to < rows { ok(page(from..to, &to.to_string())) } else { ok(last(from..rows)) }
}

fn list(fake: &Arc<Fake>) -> SubmissionQuery {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions()
}

fn at(row: u32) -> Timestamp {
    time(row).parse().unwrap()
}

fn number(id: &str) -> u32 {
    id["sub_".len()..].parse().unwrap()
}

async fn read(list: SubmissionQuery) -> Vec<u32> {
    let all = list.items().try_collect_max(99).await.unwrap();
    all.iter().map(|item| number(item.id.as_str())).collect()
}

#[tokio::test]
async fn since_is_inclusive_and_requests_nothing_older() {
    let fake = three_by_three(30);
    assert_eq!(read(list(&fake).since(at(3))).await, [0, 1, 2, 3]);
    assert_eq!(fake.sent().len(), 2);
    assert_eq!(read(list(&fake).since(at(29))).await.len(), 30);
}

#[tokio::test]
async fn until_is_exclusive_and_skips_newer_rows() {
    let fake = three_by_three(8);
    assert_eq!(read(list(&fake).until(at(4))).await, [5, 6, 7]);
    assert_eq!(fake.sent().len(), 3);
    assert_eq!(read(list(&fake).since(at(5)).until(at(1))).await, [2, 3, 4, 5]);
}

#[tokio::test]
async fn stop_when_ends_list_before_the_row() {
    let fake = three_by_three(30);
    let stop = |row: &Submission| row.id == "sub_4";
    assert_eq!(read(list(&fake).stop_when(stop)).await, [0, 1, 2, 3]);
    assert_eq!(fake.sent().len(), 2);
    // It also applies to rows that `until` leaves out.
    assert!(read(list(&fake).stop_when(stop).until(at(7))).await.is_empty());
    assert_eq!(fake.sent().len(), 4);
}

#[tokio::test]
async fn bounds_apply_to_pages() {
    let fake = three_by_three(30);
    let mut pages = list(&fake).since(at(6)).until(at(0)).pages();
    let mut rows = Vec::new();
    while let Some(page) = pages.try_next().await.unwrap() {
        rows.push(page.submissions().iter().map(|row| number(row.id.as_str())).collect::<Vec<_>>());
    }
    assert_eq!(rows, [vec![1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(fake.sent().len(), 3);
    assert!(!pages.resume_token().is_finished());
    let fake = three_by_three(30);
    let one = list(&fake).since(at(1)).until(at(0)).page().await.unwrap();
    assert_eq!(
        one.submissions().iter().map(|row| number(row.id.as_str())).collect::<Vec<_>>(),
        [1]
    );
}

#[tokio::test]
async fn token_of_bounded_list_continues_after_bounds() {
    let fake = three_by_three(8);
    let mut items = list(&fake).since(at(4)).items();
    assert_eq!(items.try_collect_max(99).await.unwrap().len(), 5);
    let token = items.resume_token();
    assert!(!token.is_finished());
    let sent = fake.sent().len();
    assert!(read(list(&fake).since(at(4)).resume_from(token.clone())).await.is_empty());
    assert_eq!(fake.sent().len(), sent + 1, "the same bounds end it at once");
    assert_eq!(read(list(&fake).resume_from(token)).await, [5, 6, 7]);
    // The end of the service's list ends it, with or without bounds.
    let mut items = list(&fake).since(at(59)).items();
    items.try_collect_max(99).await.unwrap();
    assert!(items.resume_token().is_finished());
}

#[tokio::test]
async fn rows_after_the_bounds_cause_no_error() {
    let fake = Fake::script([ok(page([0, 1, 5, 2], "a"))]);
    assert_eq!(read(list(&fake).since(at(1))).await, [0, 1]);
    let fake = Fake::script([ok(page([0, 1, 5], ""))]);
    assert_eq!(read(list(&fake).stop_when(|row| row.id == "sub_5")).await, [0, 1]);
}

#[tokio::test]
async fn empty_time_range_is_config_error() {
    for (since, until) in [(at(3), at(3)), (at(3), at(4))] {
        let fake = Fake::script([]);
        let list = list(&fake).since(since).until(until);
        let error = list.clone().items().try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("which is not before `until`"), "{error}");
        assert!(list.page().await.is_err());
    }
}

/// Rows of a few times, newest first, and the list that a mock serves of them.
fn tied(times: &[u32], apart_ms: u32) -> (Vec<Submission>, MockService) {
    let mut times = times.to_vec();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let time = |n: u32| nth(n, apart_ms).to_string();
    let row = |(n, at): (usize, &u32)| submission(&format!("sub_{n}"), "{}", &time(*at));
    let rows: Vec<_> = times.iter().enumerate().map(row).collect();
    let service = MockService::new().form(form("frm_1", "F")).submissions("frm_1", rows.clone());
    (rows, service)
}

fn nth(n: u32, apart_ms: u32) -> Timestamp {
    let new_year = 1_767_225_600_000;
    Timestamp::from_unix_nanos((new_year + i128::from(n * apart_ms)) * 1_000_000).unwrap()
}

/// The same rows on a service with cursors of milliseconds.
fn of_milliseconds(rows: &[Submission]) -> Client {
    let rows = rows.to_vec();
    let fake = Fake::rule(move |request| {
        let (mut limit, mut bound) = (25, i64::MAX);
        for (name, value) in url::form_urlencoded::parse(request.uri().query().unwrap().as_bytes())
        {
            match &*name {
                "limit" => limit = value.parse().unwrap(),
                _ => bound = FormInstant::parse_cursor(&value).unwrap().micros() / 1_000 * 1_000,
            }
        }
        let from = rows.partition_point(|row| row.created_at.unix_micros() >= bound);
        let to = rows.len().min(from + limit);
        let next = rows[from..to].last().map(|row| row.created_at.as_str());
        let number = |row: &Submission| number(row.id.as_str());
        let page = rows[from..to].iter().map(|row| row_at(number(row), row.created_at.as_str()));
        ok(page_of(&page.collect::<Vec<_>>(), next, to < rows.len()))
    });
    builder().rate_limit(RateLimit::off()).transport(fake.wire()).build().unwrap()
}

/// Reads the given numbers of rows one after another, each time from the token of the time before.
async fn read_in_turns(
    list: impl Fn() -> SubmissionQuery,
    turns: &[usize],
    mut look: impl FnMut(&ResumeToken),
) -> Vec<u32> {
    let (mut read, mut token) = (Vec::new(), None::<ResumeToken>);
    for rows in turns {
        let mut list = list();
        if let Some(token) = token {
            list = list.resume_from(token.to_string().parse().unwrap());
        }
        let mut items = list.items();
        for _ in 0..*rows {
            let Some(item) = items.try_next().await.unwrap() else { break };
            read.push(number(item.id.as_str()));
        }
        let next = items.resume_token();
        look(&next);
        token = Some(next);
    }
    read
}

#[tokio::test]
async fn token_within_tie_repeats_no_row() {
    let mut times = vec![115, 100, 99, 90, 87, 86, 86, 68, 68, 67, 67, 66];
    times.extend([34; 4].into_iter().chain([0; 3]));
    for apart_ms in [1, 1_000] {
        let (rows, service) = tied(&times, apart_ms);
        let client = service.client();
        let list = || {
            let list = client.form("frm_1").submissions();
            list.page_size(4)
        };
        for first in 0..rows.len() {
            let read = read_in_turns(list, &[first, 99], |_| {}).await;
            assert_eq!(read, (0..19).collect::<Vec<_>>());
        }
    }
}

#[tokio::test]
async fn page_fully_known_by_token_continues() {
    let mut times = vec![115, 115, 114, 105, 103, 73, 71, 71, 71, 69, 69, 69, 69, 52, 49];
    times.extend([48, 48, 48, 47, 47, 47, 42, 41, 41, 41, 41, 0, 0, 0, 0]);
    let (rows, _) = tied(&times, 1);
    let client = of_milliseconds(&rows);
    let list = || {
        let list = client.form("frm_1").submissions();
        list.page_size(5)
    };
    for first in 0..rows.len() {
        let read = read_in_turns(list, &[first, 99], |_| {}).await;
        assert_eq!(read, (0..30).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn token_stays_short_after_many_resumes() {
    for at_once in [3, 4, 5] {
        let fake = three_by_three(60);
        let look = |token: &ResumeToken| assert!(seen_ids(token).len() <= 6, "{token}");
        let turns: Vec<_> = std::iter::repeat_n(at_once, 21).collect();
        assert_eq!(read_in_turns(|| list(&fake), &turns, look).await, (0..60).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bounds_ties_and_tokens_combine(
        times in prop::collection::vec(0_u32..120, 0..90),
        size in 2_u32..7,
        since in prop::option::of(0_u32..60),
        until in prop::option::of(60_u32..120),
        stop in prop::option::of(0_usize..100),
        turns in prop::collection::vec(0_usize..30, 0..5),
        milliseconds in any::<bool>(),
        apart_ms in prop::sample::select(vec![1_u32, 1_000, 3_600_000]),
    ) {
        let (rows, service) = tied(&times, apart_ms);
        let time = |n: u32| nth(n, apart_ms);
        let most = rows.chunk_by(|a, b| a.created_at == b.created_at).map(<[_]>::len).max();
        let most = most.unwrap_or(0);
        // More rows in one millisecond than fit on a page are a tie overflow there.
        let client = if milliseconds && most < size as usize {
            of_milliseconds(&rows)
        } else {
            service.client()
        };
        let bounded = || {
            let mut list = client.form("frm_1").submissions().page_size(size);
            if let Some(n) = since { list = list.since(time(n)); }
            if let Some(n) = until { list = list.until(time(n)); }
            let stop = stop.map(|n| format!("sub_{n}"));
            list.stop_when(move |row| stop.as_deref() == Some(row.id.as_str()))
        };
        let end = |row: &&Submission| {
            since.is_none_or(|n| row.created_at >= time(n))
                && stop.is_none_or(|n| row.id.as_str() != format!("sub_{n}"))
        };
        let expected: Vec<_> = rows
            .iter()
            .take_while(end)
            .filter(|row| until.is_none_or(|n| row.created_at < time(n)))
            .map(|row| number(row.id.as_str()))
            .collect();
        let turns: Vec<_> = turns.into_iter().chain([99]).collect();
        // Of three pages, and twice those of a tie.
        let most_ids = 3 * size as usize + 2 * most;
        let look = |token: &ResumeToken| assert!(seen_ids(token).len() <= most_ids, "{token}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = runtime.block_on(read_in_turns(bounded, &turns, look));
        prop_assert_eq!(read, expected);
    }
}
