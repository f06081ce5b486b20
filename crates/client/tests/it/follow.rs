//! Following a form: each new submission once, oldest first, through outages and cancellations.

mod model;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::event::ClientEvent;
use formsvc_client::list::{Follow, FollowQuery};
use formsvc_client::transport::{
    AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind,
};
use formsvc_client::{Client, ClientBuilder, ErrorKind, RateLimit, RetryPolicy, SyncPoint};
use http::{Request, Response};
use tokio::time::{Instant, sleep, timeout};

use crate::support::bodies::{last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, Wire, ok, status, throttled};
use crate::support::form::{Form, SECOND, Shared};

fn no_retry() -> ClientBuilder {
    builder().rate_limit(RateLimit::off()).retry(RetryPolicy::none())
}

fn client(fake: &Arc<Fake>) -> Client {
    no_retry().transport(fake.wire()).build().unwrap()
}

fn follow(fake: &Arc<Fake>) -> FollowQuery {
    client(fake).form("frm_1").follow().interval(Duration::from_secs(1))
}

/// Answers after 100 ms, so that a shorter time limit cancels each call while a request is in flight.
struct Slow(Wire);

impl Transport for Slow {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let answer = self.0.send(request, context);
        Box::pin(async {
            sleep(Duration::from_millis(100)).await;
            answer.await
        })
    }
}

/// Returns the number of a row, if one comes within the time.
async fn next_within(follow: &mut Follow, millis: u64) -> Option<u32> {
    let row = timeout(Duration::from_millis(millis), follow.try_next()).await.ok()?;
    let row = row.unwrap().expect("a follow has no end");
    Some(row.id.as_str()["sub_".len()..].parse().unwrap())
}

/// Reads until no row comes for 3 s, which is longer than the interval.
async fn read(follow: &mut Follow) -> Vec<u32> {
    let mut rows = Vec::new();
    while let Some(row) = next_within(follow, 3_000).await {
        rows.push(row);
    }
    rows
}

/// Commits rows a second apart.
fn commit(form: &Shared, rows: usize) {
    for _ in 0..rows {
        let mut form = form.lock().unwrap();
        form.now += SECOND;
        form.commit(0);
    }
}

fn carried(point: &SyncPoint) -> SyncPoint {
    point.to_string().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn follow_yields_new_rows_once_oldest_first() {
    for unit in [1, 1_000, SECOND] {
        let form = Form::new(unit);
        commit(&form, 150);
        let fake = Form::serve(&form);
        let mut now = follow(&fake).items();
        let mut last_3 = follow(&fake).last(3).items();
        let mut all = follow(&fake).sync_from(&SyncPoint::new()).items();
        assert_eq!(read(&mut now).await, [] as [u32; 0]);
        assert_eq!(read(&mut last_3).await, [147, 148, 149]);
        assert_eq!(read(&mut all).await, (0..150).collect::<Vec<_>>());
        commit(&form, 130);
        for follow in [&mut now, &mut last_3, &mut all] {
            assert_eq!(read(follow).await, (150..280).collect::<Vec<_>>());
            assert_eq!(read(follow).await, [] as [u32; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn follow_of_an_empty_form_yields_its_first_row() {
    let form = Form::new(1);
    let fake = Form::serve(&form);
    let mut follow = follow(&fake).items();
    assert_eq!(read(&mut follow).await, [] as [u32; 0]);
    commit(&form, 1);
    assert_eq!(read(&mut follow).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn interval_of_any_length_is_accepted() {
    let form = Form::new(1);
    commit(&form, 2);
    let fake = Form::serve(&form);
    for interval in [Duration::ZERO, Duration::MAX] {
        let mut follow = follow(&fake).interval(interval).last(1).items();
        assert_eq!(next_within(&mut follow, 1).await, Some(1));
        let sent = fake.sent().len();
        assert_eq!(next_within(&mut follow, 10).await, None);
        assert!(fake.sent().len() - sent <= 11, "a follow waits between two requests");
    }
}

#[tokio::test(start_paused = true)]
async fn follow_starts_at_a_time_or_after_a_row() {
    let form = Form::new(1);
    commit(&form, 200);
    let fake = Form::serve(&form);
    let list = client(&fake).form("frm_1").submissions().items().try_collect_max(999).await;
    let rows = list.unwrap();
    // Newest first: the row at this position is number 149.
    let (time, id) = (rows[50].created_at.clone(), rows[50].id.clone());
    let mut since = follow(&fake).since(&time).items();
    assert_eq!(read(&mut since).await, (149..200).collect::<Vec<_>>());
    let mut after = follow(&fake).after(&time, &id).items();
    assert_eq!(read(&mut after).await, (150..200).collect::<Vec<_>>());
    let mut after_deleted = follow(&fake).after(&time, &"sub_gone".parse().unwrap()).items();
    assert_eq!(read(&mut after_deleted).await, (149..200).collect::<Vec<_>>());
    commit(&form, 1);
    form.lock().unwrap().commit(3 * SECOND);
    for follow in [&mut since, &mut after, &mut after_deleted] {
        assert_eq!(read(follow).await, [201, 200]);
    }
}

#[tokio::test(start_paused = true)]
async fn follow_canceled_at_every_await_loses_no_row() {
    let form = Form::new(1_000);
    commit(&form, 160);
    let fake = Form::serve(&form);
    let client = no_retry().transport(Slow(fake.wire())).build().unwrap();
    let mut follow = client.form("frm_1").follow().sync_from(&SyncPoint::new()).items();
    let (mut rows, mut canceled) = (Vec::new(), 0);
    let started = Instant::now();
    let mut failed = false;
    while started.elapsed() < Duration::from_secs(30) {
        match next_within(&mut follow, 30).await {
            Some(row) => rows.push(row),
            None => canceled += 1,
        }
        // An outage, so that the pause is canceled too.
        if rows.len() == 160 && !failed {
            failed = true;
            form.lock().unwrap().is_busy = true;
            commit(&form, 40);
        }
    }
    assert_eq!(rows, (0..200).collect::<Vec<_>>());
    assert!(canceled > 500, "{canceled}");
    // No request was sent twice: with the pauses, 30 s have room for few.
    assert!(fake.sent().len() < 25, "{:#?}", fake.sent());
}

#[tokio::test(start_paused = true)]
async fn outage_is_retried_and_reported_once() {
    let answers = [
        ok(last([2, 3])),
        status(503),
        throttled("7"),
        Answer::Fails(TransportErrorKind::Connect),
        ok(last([1, 2, 3])),
        status(501),
        ok(last([0, 1, 2, 3])),
        status(403),
    ];
    let fake = Fake::script(answers);
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = events.clone();
    let client = no_retry().transport(fake.wire()).on_event(move |event| match event {
        ClientEvent::FollowInterrupted { form, kind, status, error, delay, .. } => {
            let status = status.map(|status| status.as_u16());
            assert!(error.contains("503") || error.contains("501"), "{error}");
            log.lock().unwrap().push(format!("{form} {kind} {status:?} {delay:?}"));
        }
        ClientEvent::FollowResumed { elapsed, .. } => {
            log.lock().unwrap().push(format!("resumed after {elapsed:?}"));
        }
        _ => {}
    });
    let mut follow = client.build().unwrap().form("frm_1").follow().last(1).items();
    let mut rows = Vec::new();
    let error = loop {
        match follow.try_next().await {
            Ok(row) => rows.push(row.unwrap().id.to_string()),
            Err(error) => break error,
        }
    };
    assert_eq!(rows, ["sub_2", "sub_1", "sub_0"]);
    assert_eq!(error.status().unwrap(), 403);
    assert!(follow.try_next().await.unwrap().is_none() && !follow.is_interrupted());
    // Pauses of 1, 7 and 4 s: half of 2 s, as the service asks, half of 8 s.
    let (first, second) = ("frm_1 api Some(503) 1s", "frm_1 api Some(501) 1s");
    let expected = [first, "resumed after 12s", second, "resumed after 1s"];
    assert_eq!(*events.lock().unwrap(), expected);
    // The point is valid after the error.
    let fake = Fake::script([ok(last([0, 1, 2, 3])), status(403)]);
    let mut again = self::follow(&fake).sync_from(&follow.sync_point()).items();
    assert_eq!(again.try_next().await.unwrap_err().status().unwrap(), 403);
}

#[tokio::test(start_paused = true)]
async fn pass_cut_short_by_an_outage_continues_where_it_was() {
    let form = Form::new(1);
    commit(&form, 300);
    let busy = form.clone();
    let requests = Mutex::new(0);
    let fake = Form::serve(&form);
    let client = no_retry()
        .transport(fake.wire())
        .on_event(move |event| {
            if matches!(event, ClientEvent::PageFetched { .. }) {
                let mut requests = requests.lock().unwrap();
                *requests += 1;
                busy.lock().unwrap().is_busy = *requests < 4;
            }
        })
        .build()
        .unwrap();
    let mut follow = client.form("frm_1").follow().sync_from(&SyncPoint::new()).items();
    for expected in 0..300 {
        assert_eq!(next_within(&mut follow, 60_000).await, Some(expected));
    }
    // Three requests failed. Every other one brought new rows.
    let sent = fake.sent();
    assert_eq!(sent.len(), 4 + 3, "{sent:#?}");
    assert!(sent[2].contains("&cursor=") && sent[1..].windows(2).any(|pair| pair[0] == pair[1]));
}

#[tokio::test(start_paused = true)]
async fn killed_follow_continues_from_its_sync_point() {
    let form = Form::new(1_000);
    commit(&form, 30);
    // Rows that share a time, and rows older than the overlap.
    form.lock().unwrap().now += 1_000 * SECOND;
    (0..3).for_each(|_| form.lock().unwrap().commit(0));
    commit(&form, 10);
    let fake = Form::serve(&form);
    for killed_after in 0..43 {
        let mut rows = Vec::new();
        let mut first = follow(&fake).sync_from(&SyncPoint::new()).items();
        for _ in 0..killed_after {
            rows.extend(next_within(&mut first, 3_000).await);
        }
        let point = carried(&first.sync_point());
        drop(first);
        let mut second = follow(&fake).sync_from(&point).items();
        rows.extend(read(&mut second).await);
        assert_eq!(rows.len(), 43, "{rows:?}");
        assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 43);
        assert!(rows[..30].is_sorted() && rows[33..].is_sorted());
    }
}

#[tokio::test(start_paused = true)]
async fn follow_continues_an_interrupted_sync() {
    let form = Form::new(1);
    commit(&form, 220);
    let fake = Form::serve(&form);
    let mut sync = client(&fake).form("frm_1").submissions().sync_from(&SyncPoint::new());
    for _ in 0..120 {
        sync.try_next().await.unwrap().unwrap();
    }
    commit(&form, 5);
    let point = carried(&sync.sync_point());
    assert!(point.is_unfinished());
    let mut first = follow(&fake).sync_from(&point).items();
    let mut rows = Vec::new();
    for _ in 0..50 {
        rows.extend(next_within(&mut first, 3_000).await);
    }
    let point = carried(&first.sync_point());
    let mut second = follow(&fake).sync_from(&point).items();
    rows.extend(read(&mut second).await);
    assert_eq!(rows, (0..100).chain(220..225).collect::<Vec<_>>());
    assert!(!second.sync_point().is_unfinished());
    // A sync continues where the follow is.
    commit(&form, 1);
    let mut sync = client(&fake).form("frm_1").submissions().sync_from(&second.sync_point());
    assert_eq!(sync.try_next().await.unwrap().unwrap().id, "sub_225");
    assert!(sync.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn late_commit_is_found_within_a_minute() {
    let form = Form::new(1);
    commit(&form, 400);
    let fake = Form::serve(&form);
    let mut follow = follow(&fake).items();
    assert_eq!(read(&mut follow).await, [] as [u32; 0]);
    form.lock().unwrap().commit(8 * SECOND);
    assert_eq!(next_within(&mut follow, 2_000).await, Some(400));
    let sent = fake.sent().len();
    assert_eq!(read(&mut follow).await, [] as [u32; 0]);
    // A poll with nothing new reads a short overlap.
    assert_eq!(fake.sent().len() - sent, 3);
    form.lock().unwrap().commit(290 * SECOND);
    assert_eq!(next_within(&mut follow, 60_000).await, Some(401));
    assert_eq!(read(&mut follow).await, [] as [u32; 0]);
}

#[tokio::test(start_paused = true)]
async fn late_commit_in_an_old_list_is_found() {
    let form = Form::new(1);
    commit(&form, 9);
    form.lock().unwrap().now += 86_400 * SECOND;
    let fake = Form::serve(&form);
    let mut follow = follow(&fake).last(9).items();
    assert_eq!(read(&mut follow).await, (0..9).collect::<Vec<_>>());
    // The newest row is a day old.
    form.lock().unwrap().commit(86_405 * SECOND);
    assert_eq!(read(&mut follow).await, [9]);
}

#[tokio::test(start_paused = true)]
async fn backlog_over_the_memory_bound_is_read_in_parts() {
    let form = Form::new(1);
    commit(&form, 400);
    form.lock().unwrap().padding = 50_000;
    let fake = Form::serve(&form);
    let mut follow = follow(&fake).sync_from(&SyncPoint::new()).items();
    let mut requests = Vec::new();
    for expected in 0..400 {
        // A row can need several requests, but no time.
        assert_eq!(next_within(&mut follow, 1).await, Some(expected));
        requests.push(fake.sent().len());
    }
    // 400 rows are 20 MB in 5 pages: 4 parts, the newest of the first two pages. The walk takes 5 requests.
    // A part is requested again, and with it the overlap of 5 minutes.
    requests.dedup();
    assert_eq!(requests, [5, 7, 9, 13]);
    assert_eq!(read(&mut follow).await, [] as [u32; 0]);
    commit(&form, 1);
    assert_eq!(read(&mut follow).await, [400]);
}

#[tokio::test(start_paused = true)]
async fn backlog_read_in_parts_survives_a_kill() {
    let form = Form::new(1);
    commit(&form, 400);
    form.lock().unwrap().padding = 50_000;
    let fake = Form::serve(&form);
    for killed_after in [100, 250] {
        let mut first = follow(&fake).last(390).items();
        let mut rows = Vec::new();
        for _ in 0..killed_after {
            rows.extend(next_within(&mut first, 1).await);
        }
        let mut second = follow(&fake).sync_from(&carried(&first.sync_point())).items();
        rows.extend(read(&mut second).await);
        assert_eq!(rows, (10..400).collect::<Vec<_>>(), "{killed_after}");
    }
}

#[tokio::test(start_paused = true)]
async fn overlap_of_a_follow_is_bounded() {
    let form = Form::new(1);
    for _ in 0..12_000 {
        let mut form = form.lock().unwrap();
        form.now += 1_000;
        form.commit(0);
    }
    let fake = Form::serve(&form);
    let mut follow = follow(&fake).sync_from(&SyncPoint::new()).items();
    for expected in 0..12_000 {
        assert_eq!(next_within(&mut follow, 1).await, Some(expected));
        let rows = expected % 1_000 == 0;
        assert!(!rows || follow.sync_point().to_string().len() < 350_000);
    }
    let point = carried(&follow.sync_point());
    let mut again = client(&fake).form("frm_1").follow().sync_from(&point).items();
    assert_eq!(read(&mut again).await, [] as [u32; 0]);
}

#[tokio::test(start_paused = true)]
async fn invalid_submission_is_reported_once() {
    let invalid = row(1).replace(r#"{"Number": 1.50}"#, "null");
    let page = |rows: &[String]| ok(page_of(rows, None, false));
    let fake = Fake::script([
        page(&[invalid.clone(), row(2)]),
        page(&[row(0), invalid.clone(), row(2)]),
        status(401),
    ]);
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = events.clone();
    let client = no_retry().transport(fake.wire()).on_event(move |event| {
        if let ClientEvent::FollowSkipped { item, .. } = event {
            log.lock().unwrap().push(item.id().unwrap().to_owned());
        }
    });
    let mut follow = client.build().unwrap().form("frm_1").follow().items();
    assert_eq!(follow.try_next().await.unwrap().unwrap().id, "sub_0");
    assert!(follow.try_next().await.unwrap_err().is_auth());
    assert_eq!(*events.lock().unwrap(), ["sub_1"]);
}

#[tokio::test]
async fn follow_of_another_form_is_config_error() {
    let form = Form::new(1);
    commit(&form, 1);
    let fake = Form::serve(&form);
    let mut first = follow(&fake).last(1).items();
    first.try_next().await.unwrap();
    let point = first.sync_point();
    let mut other = client(&fake).form("frm_2").follow().sync_from(&point).items();
    assert_eq!(other.try_next().await.unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(other.sync_point(), point);
    assert!(other.try_next().await.unwrap().is_none());
    let invalid = client(&fake).form("").follow().items().try_next().await;
    assert_eq!(invalid.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_listener_loses_no_row() {
    let form = Form::new(1);
    commit(&form, 60);
    let fake = Form::serve(&form);
    let pages = Mutex::new(0);
    let client = no_retry().transport(fake.wire()).on_event(move |event| {
        if matches!(event, ClientEvent::PageFetched { .. }) {
            let mut pages = pages.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *pages += 1;
            assert!(*pages != 2, "the listener fails");
        }
    });
    let client = client.build().unwrap();
    let follow = client.form("frm_1").follow().sync_from(&SyncPoint::new()).items();
    let follow = Arc::new(tokio::sync::Mutex::new(follow));
    let broken = follow.clone();
    let failed = tokio::spawn(async move { broken.lock().await.try_next().await }).await;
    assert!(failed.unwrap_err().is_panic());
    assert_eq!(read(&mut *follow.lock().await).await, (0..60).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn each_outage_within_a_backlog_is_reported() {
    let pages = |at: u32| page([at, at + 1], &format!("2026-01-31T23:{:02}:00.000001Z", 50 - at));
    let answers = [ok(pages(0)), status(503), ok(pages(2)), status(503), ok(last([4, 5]))];
    let fake = Fake::script(answers);
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = events.clone();
    let client = no_retry().transport(fake.wire()).on_event(move |event| {
        let name = match event {
            ClientEvent::FollowInterrupted { .. } => "interrupted",
            ClientEvent::FollowResumed { .. } => "resumed",
            _ => return,
        };
        log.lock().unwrap().push(name);
    });
    let mut follow =
        client.build().unwrap().form("frm_1").follow().sync_from(&SyncPoint::new()).items();
    for _ in 0..6 {
        follow.try_next().await.unwrap().unwrap();
        assert!(!follow.is_interrupted());
    }
    assert_eq!(*events.lock().unwrap(), ["interrupted", "resumed"].repeat(2));
}

#[tokio::test(start_paused = true)]
async fn list_that_is_not_proven_is_reported_once() {
    // The cursor is no time.
    let passes = [ok(page([2, 3], "a")), ok(last([4])), ok(page([1, 2], "a")), ok(last([3, 4]))];
    let fake = Fake::script(passes.into_iter().chain([status(401)]));
    let fallbacks = Arc::new(Mutex::new(0));
    let count = fallbacks.clone();
    let client = no_retry().transport(fake.wire()).on_event(move |event| {
        *count.lock().unwrap() += i32::from(matches!(event, ClientEvent::Fallback { .. }));
    });
    let client = client.build().unwrap();
    let mut follow = client.form("frm_1").follow().sync_from(&SyncPoint::new()).items();
    let mut ids = Vec::new();
    let error = loop {
        match follow.try_next().await {
            Ok(row) => ids.push(row.unwrap().id.to_string()),
            Err(error) => break error,
        }
    };
    assert!(error.is_auth());
    assert_eq!(ids, ["sub_4", "sub_3", "sub_2", "sub_1"]);
    assert_eq!(*fallbacks.lock().unwrap(), 1);
}
