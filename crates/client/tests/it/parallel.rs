//! Lists read by several walkers.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::{
    ClientBuilder, ErrorKind, Event, ListSubmissions, Parallel, RateLimit, ResumeToken, Timeouts,
};
use tokio::time::Instant;

use crate::support::bodies::{error, last, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};
use crate::support::slow::Slow;

const LATENCY: Duration = Duration::from_millis(100);
const SECOND: i64 = 1_000_000;

fn even(rows: i64) -> Vec<i64> {
    (0..rows).map(|n| n * 60 * SECOND).collect()
}

/// In two bursts, years apart.
fn bursts(rows: i64) -> Vec<i64> {
    (0..rows).map(|n| (n % 2) * 200_000_000 * SECOND + n * SECOND / 7).collect()
}

/// Working days, with nights between.
fn days(rows: i64) -> Vec<i64> {
    (0..rows).map(|n| (n / 300) * 86_400 * SECOND + (n * 7_919 % 300) * 96 * SECOND).collect()
}

fn patient(per_minute: Option<u32>) -> ClientBuilder {
    let limit = per_minute.and_then(NonZeroU32::new);
    builder()
        .rate_limit(limit.map_or(RateLimit::off(), RateLimit::per_minute))
        .timeouts(Timeouts::new().overall(None))
        .max_wait(Duration::from_secs(600))
}

fn list(slow: &Arc<Slow>, client: ClientBuilder) -> ListSubmissions {
    let client = client.transport(slow.wire()).build().unwrap();
    client.form("frm_1".parse().unwrap()).submissions()
}

async fn ids(list: ListSubmissions) -> Vec<String> {
    let (mut pages, mut ids) = (list.pages(), Vec::new());
    while let Some(page) = pages.try_next().await.unwrap() {
        ids.extend(page.rows().map(|row| row.id().to_owned()));
    }
    assert!(pages.resume_token().is_finished());
    ids
}

#[tokio::test(start_paused = true)]
async fn thirty_thousand_submissions_come_eight_times_as_fast_for_few_more_requests() {
    let one_by_one = 300 * LATENCY;
    for (rows, how) in [
        (even(30_000), Parallel::walkers(16)),
        (days(30_000), Parallel::walkers(16)),
        (bursts(30_000), Parallel::walkers(16).as_it_comes()),
    ] {
        let slow = Slow::new(rows, LATENCY, Some(1_000));
        let start = Instant::now();
        let mut read = ids(list(&slow, patient(None)).parallel(how.clone())).await;
        let (took, seen) = (start.elapsed(), slow.seen());
        if how != Parallel::walkers(16) {
            read.sort_unstable_by_key(|id| -id["sub_".len()..].parse::<i64>().unwrap());
        }
        assert_eq!(read, slow.ids());
        assert!(took * 8 <= one_by_one, "{took:?} of {one_by_one:?}, {seen:?}");
        assert!(seen.requests * 100 <= 300 * 115, "{seen:?}");
        assert!(seen.most <= 16 && seen.throttled == 0, "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_walker_takes_a_request_after_the_other() {
    let slow = Slow::new(even(3_000), LATENCY, None);
    let start = Instant::now();
    assert_eq!(ids(list(&slow, patient(None))).await, slow.ids());
    assert_eq!((start.elapsed(), slow.seen().requests), (30 * LATENCY, 30));
}

#[tokio::test(start_paused = true)]
async fn the_default_limit_holds_for_all_walkers_together() {
    let slow = Slow::new(even(33_000), LATENCY, Some(300));
    let list = list(&slow, patient(Some(300))).parallel(Parallel::walkers(32));
    assert_eq!(ids(list).await, slow.ids());
    let seen = slow.seen();
    assert!(seen.throttled == 0 && seen.requests > 330, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_walkers_hold_is_bounded_and_a_slow_consumer_stops_them() {
    let slow = Slow::new(even(30_000), LATENCY, None);
    let how = Parallel::walkers(8).max_pages_held(16);
    let mut pages = list(&slow, patient(None)).parallel(how).pages();
    for handed_on in 1..40 {
        pages.try_next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let seen = slow.seen();
        assert!(seen.requests <= handed_on + 16 + 5, "{seen:?} after {handed_on}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_lead_on_in_any_kind_of_list() {
    let slow = Slow::new(days(5_000), LATENCY, None);
    let mut read = Vec::new();
    let mut token: Option<ResumeToken> = None;
    for (turn, take) in [350, 1, 99, 1_234, 777, 9_999].into_iter().enumerate() {
        let mut list = list(&slow, patient(None)).tie_safe(turn % 3 == 1);
        if turn % 2 == 0 {
            list = list.parallel(Parallel::walkers(5));
        }
        if let Some(token) = token.take() {
            list = list.resume_from(token.to_string().parse().unwrap());
        }
        let mut items = list.items();
        for _ in 0..take {
            let Some(item) = items.try_next().await.unwrap() else { break };
            read.push(item.id.as_str().to_owned());
        }
        token = Some(items.resume_token());
    }
    assert_eq!(read, slow.ids());
    assert!(token.unwrap().is_finished());
}

#[tokio::test(start_paused = true)]
async fn bounds_end_a_parallel_list_too() {
    let slow = Slow::new(even(20_000), LATENCY, None);
    let all = slow.ids();
    let at =
        |row: i64| formsvc_protocol::FormInstant::from_micros(row * 60 * SECOND).to_timestamp();
    for how in [Parallel::walkers(8), Parallel::walkers(8).as_it_comes()] {
        let before = slow.seen().requests;
        let list = list(&slow, patient(None)).since(at(15_000)).until(at(19_000)).parallel(how);
        let mut read: Vec<_> = list.clone().items().try_collect_max(9_999).await.unwrap();
        read.sort_by_key(|item| -item.created_at.unix_micros());
        let read: Vec<_> = read.into_iter().map(|item| item.id.as_str().to_owned()).collect();
        assert_eq!(read, all[1_000..5_000]);
        assert!(slow.seen().requests - before <= 65, "{:?}", slow.seen());
    }
    let stop = all[700].clone();
    let list = list(&slow, patient(None)).stop_when(move |row| row.id() == stop);
    let mut items = list.parallel(Parallel::walkers(4)).items();
    assert_eq!(items.try_collect_max(9_999).await.unwrap().len(), 700);
    assert!(!items.resume_token().is_finished());
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let fake = Fake::script([]);
    let list = || {
        let client = builder().transport(fake.wire()).build().unwrap();
        client.form("frm_1".parse().unwrap()).submissions()
    };
    for (list, why) in [
        (list().parallel(Parallel::walkers(1)), "the number of walkers `1` is not in 2..=32"),
        (list().parallel(Parallel::walkers(33)), "the number of walkers `33` is not in 2..=32"),
        (list().parallel(Parallel::walkers(2)).max_pages(3), "exclude each other"),
        (list().parallel(Parallel::walkers(2).as_it_comes()).stop_when(|_| true), "the order"),
    ] {
        let error = list.items().try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_after_the_newer_pages_and_its_token_is_good() {
    let slow = Slow::new(even(3_000), LATENCY, None);
    let inner = slow.wire();
    let broken = Arc::new(Mutex::new(true));
    let breaks = broken.clone();
    let fake = Fake::rule(move |request| {
        let query = request.uri().query().unwrap().replace("%3A", ":");
        // The oldest third of the rows.
        let old = query.split_once("cursor=").is_some_and(|(_, at)| at < "1970-01-01T16");
        if old && *breaks.lock().unwrap() {
            return status(404);
        }
        let (code, body) = inner.answer_to(request);
        Answer::Status(code, Vec::new(), body)
    });
    let list = || {
        let client = patient(None).transport(fake.wire()).build().unwrap();
        let list = client.form("frm_1".parse().unwrap()).submissions();
        list.parallel(Parallel::walkers(6))
    };
    let mut items = list().items();
    let mut read = Vec::new();
    let error = loop {
        match items.try_next().await {
            Ok(item) => read.push(item.unwrap().id.as_str().to_owned()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Api);
    assert!(read.len() >= 1_900 && slow.ids().starts_with(&read), "{}", read.len());
    assert!(items.try_next().await.unwrap().is_none());
    *broken.lock().unwrap() = false;
    let rest = list().resume_from(items.resume_token()).items().try_collect_max(9_999).await;
    read.extend(rest.unwrap().into_iter().map(|item| item.id.as_str().to_owned()));
    assert_eq!(read, slow.ids());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_refuses_cursors_of_others_is_read_by_one() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let told = move |event: &Event| {
        if let Event::Fallback { why, .. } = event {
            log.lock().unwrap().push(format!("{why:?}"));
        }
    };
    let fake = Fake::script([
        ok(page_of(&[row(0), row(1)], Some("a"), true)),
        Answer::Status(400, Vec::new(), error("bad_request", "no such cursor")),
        ok(page_of(&[row(2)], Some("b"), true)),
        ok(last([3])),
    ]);
    let client = builder().on_event(told).transport(fake.wire()).build().unwrap();
    let list = client.form("frm_1".parse().unwrap()).submissions();
    assert_eq!(
        ids(list.parallel(Parallel::walkers(4))).await,
        ["sub_0", "sub_1", "sub_2", "sub_3"]
    );
    assert_eq!(*heard.lock().unwrap(), ["CursorRefused"]);
}

#[tokio::test(start_paused = true)]
async fn who_works_with_the_client_between_pages_is_not_held_up_by_walkers_that_wait() {
    let slow = Slow::new(even(30_000), LATENCY, None);
    let client = patient(Some(20)).transport(slow.wire()).build().unwrap();
    let form = client.form("frm_1".parse().unwrap());
    let mut pages = form.submissions().parallel(Parallel::walkers(8)).pages();
    for _ in 0..30 {
        pages.try_next().await.unwrap().unwrap();
        // The walkers wait for the limiter, and nobody polls them.
        let page = tokio::time::timeout(Duration::from_secs(130), form.submissions().page()).await;
        assert_eq!(page.expect("it has its turn").unwrap().len(), 100);
    }
}

#[tokio::test]
async fn no_page_held_is_an_error_not_a_guess() {
    let slow = Slow::new(even(10), LATENCY, None);
    let none = Parallel::walkers(2).max_pages_held(0);
    let error = list(&slow, patient(None)).parallel(none).pages().try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("pages held `0`"), "{error}");
    assert_eq!(slow.seen().requests, 0);
}
