//! Syncs: several runs that together yield every submission once.

use std::sync::{Arc, Mutex};

use formsvc_client::event::ClientEvent;
use formsvc_client::{Client, Completeness, Cursor, ErrorKind, RateLimit, SyncPoint};
use proptest::prelude::*;

use crate::support::bodies::page;
use crate::support::builder;
use crate::support::fake::{Fake, ok};
use crate::support::form::{Form, LATE, SECOND, Shared, system_time};

fn client(fake: &Arc<Fake>) -> Client {
    builder().rate_limit(RateLimit::off()).transport(fake.wire()).build().unwrap()
}

/// Returns a client with the clock of the form, or one that is behind.
fn client_at_form_time(form: &Shared) -> Client {
    client_of(form, &Form::serve(form))
}

fn client_of(form: &Shared, fake: &Arc<Fake>) -> Client {
    let form = form.clone();
    let clock = move || {
        let form = form.lock().unwrap();
        system_time(form.now - form.behind)
    };
    builder().rate_limit(RateLimit::off()).transport(fake.wire()).clock(clock).build().unwrap()
}

/// Returns the point as another process would read it.
fn carried(point: &SyncPoint) -> SyncPoint {
    point.to_string().parse().unwrap()
}

/// Reads at most `most` rows. Returns the point after them, and the error at the end.
async fn run(
    fake: &Arc<Fake>,
    point: &SyncPoint,
    most: usize,
    read: &mut Vec<u32>,
) -> (SyncPoint, Option<ErrorKind>) {
    let mut new = client(fake).form("frm_1").submissions().page_size(5).sync_from(point);
    for _ in 0..most {
        match new.try_next().await {
            Ok(Some(row)) => read.push(row.id.as_str()["sub_".len()..].parse().unwrap()),
            Ok(None) => break,
            Err(error) => return (new.sync_point(), Some(error.kind())),
        }
    }
    (new.sync_point(), None)
}

async fn run_all(fake: &Arc<Fake>, point: &SyncPoint) -> (Vec<u32>, SyncPoint) {
    let mut read = Vec::new();
    let (point, error) = run(fake, point, usize::MAX, &mut read).await;
    assert_eq!(error, None);
    (read, point)
}

#[tokio::test]
async fn pages_of_a_sync_have_their_sync_points() {
    let form = Form::new(1);
    (0..12).for_each(|_| form.lock().unwrap().commit(0));
    let fake = Form::serve(&form);
    let query = || client(&fake).form("frm_1").submissions().page_size(5);
    let ids = |page: &formsvc_client::list::NewSubmissionPage| -> Vec<_> {
        page.iter().map(|row| row.id.clone()).collect()
    };
    let mut pages = query().sync_from(&SyncPoint::new()).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!((first.len(), pages.is_finished()), (5, false));
    // Another process continues after the first page.
    let point = carried(first.sync_point());
    let mut seen = ids(&first);
    let mut pages = query().sync_from(&point).pages();
    let mut last = point;
    while let Some(page) = pages.try_next().await.unwrap() {
        seen.extend(ids(&page));
        last = page.sync_point().clone();
    }
    assert!(pages.is_finished() && pages.completeness() == Some(Completeness::Proven));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 12);
    assert!(last.is_unfinished(), "the walk ended after its last page");
    let (new, _) = run_all(&fake, &pages.sync_point()).await;
    assert_eq!(new, [] as [u32; 0]);
}

#[tokio::test]
async fn sync_point_of_5000_rows_is_short_and_moves() {
    let form = Form::new(1);
    (0..5_000).for_each(|_| form.lock().unwrap().commit(0));
    let fake = Form::serve(&form);
    let mut all = client(&fake).form("frm_1").submissions().sync_from(&SyncPoint::new());
    while all.try_next().await.unwrap().is_some() {}
    let point = all.sync_point();
    let len = point.to_string().len();
    assert!(len < 150_000, "{len}");
    let url = "https://moved.example";
    let moved = builder().base_url(url).transport(fake.wire()).build().unwrap();
    let query = || moved.form("frm_1").submissions();
    assert!(query().sync_from(&point).try_next().await.is_err());
    let mut new = query().sync_from(&point.rebind(&moved));
    assert!(new.try_next().await.unwrap().is_none());
}

/// One step of the model.
#[derive(Clone, Debug)]
enum Step {
    Commit {
        late_secs: i64,
    },
    Delete(usize),
    Advance {
        secs: i64,
    },
    /// Sets the client's clock back, or right again; also forward if responses have a `Date`.
    SetBack {
        secs: i64,
    },
    /// Reads this many rows of the current run.
    Read(usize),
    /// Stops the run and keeps only the text of its point.
    Stop,
    /// Makes the next request fail.
    Fail,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Commit { late_secs: 0 }),
        4 => (0_i64..=300).prop_map(|late_secs| Step::Commit { late_secs }),
        1 => Just(Step::Commit { late_secs: 300 }),
        1 => Just(Step::Commit { late_secs: -100_000 }),
        1 => (0_usize..8).prop_map(Step::Delete),
        3 => (0_i64..120).prop_map(|secs| Step::Advance { secs }),
        1 => (300_i64..4_000).prop_map(|secs| Step::Advance { secs }),
        1 => prop::sample::select(vec![0, 100, 1_000, 100_000, -100_000])
            .prop_map(|secs| Step::SetBack { secs }),
        5 => (1_usize..12).prop_map(Step::Read),
        2 => Just(Step::Stop),
        1 => Just(Step::Fail),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn each_row_is_yielded_once_over_all_runs(
        unit in prop::sample::select(vec![1, 1_000, SECOND]),
        has_date in any::<bool>(),
        steps in steps(),
    ) {
        let form = Form::new(unit);
        form.lock().unwrap().has_date = has_date;
        let client = client_at_form_time(&form);
        let query = || client.form("frm_1").submissions().page_size(5);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (mut read, mut new) = (Vec::new(), query().sync_from(&SyncPoint::new()));
        let restart = |point: SyncPoint| query().sync_from(&carried(&point));
        for step in steps {
            match step {
                Step::Commit { late_secs } => form.lock().unwrap().commit(late_secs * SECOND),
                // With cursors of a unit, deleted rows make ties unproven; exact cursors lose nothing.
                Step::Delete(row) if unit == 1 => form.lock().unwrap().delete(row),
                Step::Delete(_) => {}
                Step::Advance { secs } => form.lock().unwrap().now += secs * SECOND,
                Step::SetBack { secs } if secs < 0 && !has_date => {}
                Step::SetBack { secs } => form.lock().unwrap().behind = secs * SECOND,
                Step::Fail => form.lock().unwrap().fail_next = true,
                Step::Stop => new = restart(new.sync_point()),
                Step::Read(rows) => {
                    for _ in 0..rows {
                        let Ok(Some(row)) = runtime.block_on(new.try_next()) else {
                            new = restart(new.sync_point());
                            break;
                        };
                        read.push(row.id.to_string());
                    }
                }
            }
        }
        form.lock().unwrap().fail_next = false;
        // The first run may finish an old walk; the second is then a whole one.
        for _ in 0..2 {
            while let Some(row) = runtime.block_on(new.try_next()).unwrap() {
                read.push(row.id.to_string());
            }
            new = restart(new.sync_point());
        }
        let mut once = read.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), read.len(), "a row is repeated: {:?}", read);
        for row in form.lock().unwrap().rows.values() {
            let id = format!("sub_{row}");
            prop_assert!(once.binary_search(&id).is_ok(), "{} is missing: {:?}", id, read);
        }
    }
}

fn form_with(rows: i64, apart_secs: i64) -> Shared {
    let form = Form::new(1_000);
    for _ in 0..rows {
        let mut form = form.lock().unwrap();
        form.now += apart_secs * SECOND;
        form.commit(0);
    }
    form
}

#[tokio::test]
async fn sync_with_nothing_new_sends_one_request() {
    let form = form_with(12, 120);
    let fake = Form::serve(&form);
    let (read, point) = run_all(&fake, &SyncPoint::new()).await;
    assert_eq!(read, (0..12).rev().collect::<Vec<_>>());
    let sent = fake.sent().len();
    let (read, again) = run_all(&fake, &point).await;
    assert!(read.is_empty());
    assert_eq!((fake.sent().len(), again), (sent + 1, point.clone()));
    form.lock().unwrap().now += 1;
    form.lock().unwrap().commit(0);
    let (read, _) = run_all(&fake, &point).await;
    assert_eq!((read, fake.sent().len()), (vec![12], sent + 2));
}

/// Runs a sync with pages of 100 rows. Returns how many rows it yields, its requests, and its point.
async fn count_run(
    fake: &Arc<Fake>,
    client: &Client,
    point: &SyncPoint,
) -> (usize, usize, SyncPoint) {
    let sent = fake.sent().len();
    let mut new = client.form("frm_1").submissions().sync_from(&carried(point));
    let mut rows = 0;
    while new.try_next().await.unwrap().is_some() {
        rows += 1;
    }
    (rows, fake.sent().len() - sent, new.sync_point())
}

/// A form with a burst of rows, 2,000 per second.
fn form_with_burst(rows: i64) -> Shared {
    let form = Form::new(1);
    for _ in 0..rows {
        let mut form = form.lock().unwrap();
        form.now += 500;
        form.commit(0);
    }
    form
}

#[tokio::test]
async fn burst_within_the_overlap_is_read_again_once() {
    let form = form_with_burst(1_000);
    let fake = Form::serve(&form);
    let mut point = SyncPoint::new();
    // The second run reads the burst when it is 6 minutes old.
    for expected in [(1_000, 11), (0, 11), (0, 1), (0, 1)] {
        let (rows, requests, next) = count_run(&fake, &client(&fake), &point).await;
        assert_eq!((rows, requests), expected);
        form.lock().unwrap().now += 6 * 60 * SECOND;
        point = next;
    }
}

#[tokio::test]
async fn burst_older_than_the_overlap_is_not_read_again() {
    for has_date in [true, false] {
        let form = form_with_burst(1_000);
        form.lock().unwrap().has_date = has_date;
        form.lock().unwrap().now += LATE + 10 * SECOND;
        let fake = Form::serve(&form);
        let client = client_of(&form, &fake);
        let mut point = SyncPoint::new();
        for expected in [(1_000, 11), (0, 1), (0, 1)] {
            let (rows, requests, next) = count_run(&fake, &client, &point).await;
            assert_eq!((rows, requests), expected);
            point = next;
        }
    }
}

#[tokio::test]
async fn clock_years_behind_repeats_no_row() {
    let form = form_with_burst(10_050);
    form.lock().unwrap().now += 3_600 * SECOND;
    form.lock().unwrap().behind = 20 * 365 * 86_400 * SECOND;
    let fake = Form::serve(&form);
    let client = client_of(&form, &fake);
    let (rows, _, point) = count_run(&fake, &client, &SyncPoint::new()).await;
    assert_eq!(rows, 10_050);
    let (rows, requests, _) = count_run(&fake, &client, &point).await;
    assert_eq!((rows, requests), (0, 1));
}

#[tokio::test]
async fn row_of_the_future_does_not_hide_later_rows() {
    let form = form_with(3, 90);
    form.lock().unwrap().commit(-LATE * 100_000);
    let client = client_at_form_time(&form);
    let sync = async |point: &SyncPoint| {
        let mut new = client.form("frm_1").submissions().sync_from(point);
        let mut read = Vec::new();
        while let Some(row) = new.try_next().await.unwrap() {
            read.push(row.id.to_string());
        }
        (read, new.sync_point())
    };
    let (read, point) = sync(&SyncPoint::new()).await;
    assert_eq!(read, ["sub_3", "sub_2", "sub_1", "sub_0"]);
    form.lock().unwrap().now += LATE * 10;
    form.lock().unwrap().commit(0);
    let (read, point) = sync(&point).await;
    assert_eq!(read, ["sub_4"]);
    assert!(sync(&point).await.0.is_empty());
}

#[tokio::test]
async fn interrupted_unproven_sync_stays_unproven() {
    let fake = Fake::script([ok(page([0, 1], "a"))]);
    let list = || client(&fake).form("frm_1").submissions();
    let mut new = list().sync_from(&SyncPoint::new());
    for _ in 0..2 {
        new.try_next().await.unwrap();
    }
    assert_eq!(new.completeness_so_far(), Completeness::Unproven);
    let new = list().sync_from(&carried(&new.sync_point()));
    assert_eq!(new.completeness_so_far(), Completeness::Unproven);
}

#[tokio::test]
async fn deleted_rows_do_not_extend_the_sync() {
    let form = form_with(40, 90);
    let fake = Form::serve(&form);
    let (_, point) = run_all(&fake, &SyncPoint::new()).await;
    for _ in 0..4 {
        form.lock().unwrap().delete(0);
    }
    let sent = fake.sent().len();
    let (read, again) = run_all(&fake, &point).await;
    assert_eq!((read.len(), fake.sent().len()), (0, sent + 1));
    assert_eq!(again, point);
}

#[tokio::test]
async fn interrupted_sync_continues_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contact.sync");
    let form = form_with(12, 90);
    let fake = Form::serve(&form);
    let mut read = Vec::new();
    let (point, _) = run(&fake, &SyncPoint::new(), 7, &mut read).await;
    assert!(point.is_unfinished());
    form.lock().unwrap().commit(-SECOND);
    assert!(SyncPoint::load_if_exists(&path).unwrap().is_none());
    point.save(&path).unwrap();
    let point = SyncPoint::load_if_exists(&path).unwrap().unwrap();
    assert_eq!(point.form_id().unwrap(), &"frm_1");
    let (rest, point) = run_all(&fake, &point).await;
    assert!(!point.is_unfinished());
    read.extend(rest);
    // The old walk is finished first; then the same run reads the new row.
    assert_eq!(read, (0..12).rev().chain([12]).collect::<Vec<_>>());

    std::fs::write(&path, &point.to_string()[..40]).unwrap();
    let error = SyncPoint::load_if_exists(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    let text = format!("`{}`: sync point is damaged", path.display());
    assert!(error.to_string().contains(&text), "{error}");
}

#[tokio::test]
async fn failed_sync_keeps_the_yielded_rows() {
    let form = form_with(12, 90);
    let fake = Form::serve(&form);
    let client = client(&fake);
    let mut new = client.form("frm_1").submissions().page_size(5).sync_from(&SyncPoint::new());
    for _ in 0..5 {
        new.try_next().await.unwrap().unwrap();
    }
    form.lock().unwrap().fail_next = true;
    assert_eq!(new.try_next().await.unwrap_err().kind(), ErrorKind::Api);
    assert!(new.try_next().await.unwrap().is_none());
    assert!(new.completeness().is_none() && !new.is_finished());
    let (rest, _) = run_all(&fake, &carried(&new.sync_point())).await;
    assert_eq!(rest, (0..7).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn sync_point_of_another_list_is_refused() {
    let fake = Form::serve(&form_with(2, 90));
    let (_, point) = run_all(&fake, &SyncPoint::new()).await;
    let sent = fake.sent().len();
    let other = builder().base_url("http://localhost:1").transport(fake.wire()).build().unwrap();
    for (query, named) in [
        (client(&fake).form("frm_2").submissions(), "is for form `frm_1`, not `frm_2`"),
        (
            other.form("frm_1").submissions(),
            "is for `https://forms.example/base`, not `http://localhost:1`",
        ),
    ] {
        let mut new = query.sync_from(&point);
        let error = new.try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().ends_with(named), "{error}");
        assert_eq!(new.sync_point(), point);
        assert!(new.try_next().await.unwrap().is_none());
    }
    assert_eq!(fake.sent().len(), sent);
}

#[tokio::test]
async fn sync_with_other_bounds_is_config_error() {
    let fake = Fake::script([]);
    let client = client(&fake);
    let query = || client.form("frm_1").submissions();
    let time = || "2026-01-01T00:00:00Z".parse().unwrap();
    for (query, name) in [
        (query().start_at(Cursor::new("c")), "start_at"),
        (query().resume_from(query().items().resume_token()), "resume_from"),
        (query().since(time()), "since"),
        (query().until(time()), "until"),
        (query().stop_when(|_| true), "stop_when"),
        (query().max_pages(1), "max_pages"),
        (client.form("").submissions(), "form id"),
    ] {
        let error = query.sync_from(&SyncPoint::new()).try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[tokio::test]
async fn overlap_over_10_000_rows_is_shortened_and_reported() {
    let form = Form::new(1_000);
    for _ in 0..10_050 {
        let mut form = form.lock().unwrap();
        form.now += 1_000;
        form.commit(0);
    }
    let fake = Form::serve(&form);
    let events = Arc::new(Mutex::new(0));
    let count = events.clone();
    let client = builder()
        .rate_limit(RateLimit::off())
        .transport(fake.wire())
        .on_event(move |event| {
            *count.lock().unwrap() +=
                u32::from(matches!(event, ClientEvent::SyncOverlapShortened { .. }));
        })
        .build()
        .unwrap();
    let mut new = client.form("frm_1").submissions().sync_from(&SyncPoint::new());
    let mut read = 0;
    while new.try_next().await.unwrap().is_some() {
        read += 1;
    }
    assert_eq!((read, *events.lock().unwrap()), (10_050, 1));
    let point = carried(&new.sync_point());
    let mut new = client.form("frm_1").submissions().sync_from(&point);
    assert!(new.try_next().await.unwrap().is_none(), "known rows are not repeated");
}
