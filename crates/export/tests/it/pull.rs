//! Pulls from a service in memory into a database.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use formsvc_client::test_util::{Fault, MockService, form, generate, submission};
use formsvc_client::{Client, Completeness, ErrorCode, ErrorKind, FormId, Timestamp};
use formsvc_export::{
    ExportError, PullOptions, PullSummary, RowRange, RowSource, SpoolFolder, SyncStatus, SyncStore,
    SyncTarget,
};
use proptest::prelude::*;

use crate::limited::limited;
use crate::spoiled::spoiled;

const FORM: &str = "frm_1";

const REVOKED: Fault = Fault::Error(ErrorCode::KeyRevoked);

struct Target {
    folder: tempfile::TempDir,
    store: SyncStore,
}

impl Target {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = SyncTarget::sqlite(folder.path().join("rows.sqlite"));
        Self { store: target.open().await.unwrap(), folder }
    }

    async fn pull(
        &mut self,
        service: &MockService,
        options: &PullOptions,
    ) -> Result<PullSummary, ExportError> {
        self.pull_by(&service.client(), options).await
    }

    async fn pull_by(
        &mut self,
        client: &Client,
        options: &PullOptions,
    ) -> Result<PullSummary, ExportError> {
        let form = FormId::new(FORM).unwrap();
        Ok(self.store.sync(client, &form, None, options, |_| {}).await?.pull)
    }

    async fn status(&self) -> SyncStatus {
        self.store.status().await.unwrap().remove(0)
    }

    /// The ids of the stored rows; none before the first pull.
    async fn ids(&self, range: RowRange) -> Vec<String> {
        if !self.folder.path().join("rows.sqlite").exists() {
            return Vec::new();
        }
        let temporary = SpoolFolder::new(self.folder.path());
        let rows = self.store.rows(&self.status().await, range, &temporary).await.unwrap();
        let mut ids = Vec::new();
        rows.for_each(&mut |row| {
            ids.push(row.id.to_owned());
            Ok(())
        })
        .unwrap();
        ids
    }
}

fn service(rows: u32) -> MockService {
    MockService::new().form(form(FORM, "Survey")).submissions(FORM, generate(rows))
}

fn all() -> PullOptions {
    PullOptions::default()
}

/// A time in microseconds since 1970.
fn time(micros: i64) -> Timestamp {
    Timestamp::from_unix_nanos(i128::from(micros) * 1_000).unwrap()
}

#[tokio::test]
async fn pull_stores_every_row_with_few_requests() {
    for rows in [0, 1, 99, 100, 101, 1_000] {
        let (service, mut target) = (service(rows), Target::new().await);
        let summary = target.pull(&service, &all()).await.unwrap();
        assert_eq!(summary.rows, u64::from(rows));
        assert_eq!(target.ids(RowRange::default()).await.len(), rows as usize);
        let most = rows.div_ceil(99) as usize + 1;
        assert!(service.requests().len() <= most, "{} for {rows}", service.requests().len());
        assert_eq!(summary.requests, service.requests().len() as u64);
        assert!(target.status().await.coverage.is_complete_since(None));
    }
}

#[tokio::test]
async fn failed_pull_is_continued_below_the_stored_rows() {
    let (service, mut target) = (service(3_000), Target::new().await);
    let client = limited(&service, 15, REVOKED);
    let error = target.pull_by(&client, &all()).await.unwrap_err();
    assert!(matches!(error, ExportError::Service(_)), "{error}");
    assert_eq!(target.ids(RowRange::default()).await.len(), 1 + 15 * 99);
    let before = service.requests().len();
    let summary = target.pull(&service, &all()).await.unwrap();
    assert_eq!((summary.rows, summary.new), (3_000, 3_000 - 1_486));
    assert_eq!(target.ids(RowRange::default()).await.len(), 3_000);
    let requests = service.requests().len() - before;
    assert!(requests <= 16 + 2, "{requests}");
}

#[tokio::test]
async fn invalid_item_fails_the_pull_after_the_rows_before_it() {
    let (service, mut target) = (service(2_000), Target::new().await);
    let client = spoiled(&service, &[1_000]);
    for new in [1_000, 0] {
        let before = target.ids(RowRange::default()).await.len();
        let error = target.pull_by(&client, &all()).await.unwrap_err();
        let ExportError::Service(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), ErrorKind::InvalidItem);
        assert!(error.to_string().contains("`sub_1000`"), "{error}");
        assert_eq!(target.ids(RowRange::default()).await.len(), before + new);
    }
    assert!(!target.status().await.coverage.is_complete_since(None));
    // The service has corrected the submission.
    let summary = target.pull(&service, &all()).await.unwrap();
    assert_eq!((summary.rows, summary.completeness), (2_000, Completeness::Proven));
}

#[tokio::test]
async fn allowed_invalid_items_make_the_coverage_incomplete() {
    let (service, mut target) = (service(2_000), Target::new().await);
    let client = spoiled(&service, &[1_000, 1_001, 3]);
    target.pull_by(&client, &all()).await.unwrap_err();
    let summary = target.pull_by(&client, &all().allow_incomplete(true)).await.unwrap();
    assert_eq!((summary.rows, summary.completeness), (1_997, Completeness::Incomplete));
    assert_eq!((summary.left_out.items, summary.left_out.units.len()), (3, 0));
    let described = &summary.left_out.described_items;
    assert!(described[0].starts_with("`sub_1001` at `data["), "{described:?}");
    let coverage = target.status().await.coverage;
    assert!(coverage.is_complete_since(None));
    assert_eq!(coverage.intervals()[0].completeness(), Completeness::Incomplete);
    // A later pull reads only the newest 5 minutes, and reports the same.
    let before = service.requests().len();
    let again = target.pull_by(&client, &all()).await.unwrap();
    assert!(service.requests().len() - before <= 5);
    assert_eq!((again.completeness, again.left_out), (Completeness::Incomplete, summary.left_out));
}

#[tokio::test]
async fn since_is_moved_down_and_up() {
    let (service, mut target) = (service(2_000), Target::new().await);
    let newest = generate(1)[0].created_at.unix_micros();
    let since = |seconds: i64| newest - seconds * 1_000_000;
    let pull_since = async |target: &mut Target, seconds| {
        let before = service.requests().len();
        target.pull(&service, &all().since(time(since(seconds)))).await.unwrap();
        let range = RowRange::default().since(time(since(seconds)));
        let ids = target.ids(range).await.len();
        assert_eq!(ids, usize::try_from(seconds).unwrap() + 1, "rows of {seconds} s");
        service.requests().len() - before
    };
    assert!(pull_since(&mut target, 500).await <= 7);
    assert!(pull_since(&mut target, 1_000).await <= 7, "the newest page, 5 below");
    assert!(pull_since(&mut target, 100).await <= 1);
    assert!(pull_since(&mut target, 900).await <= 1);
}

#[tokio::test]
async fn limit_stops_when_the_newest_rows_of_the_range_are_stored() {
    let (service, mut target) = (service(2_000), Target::new().await);
    let until = generate(1)[0].created_at.unix_micros() - 49_000_000;
    let limited = all().limit(60).until(time(until));
    target.pull(&service, &limited).await.unwrap();
    assert_eq!(service.requests().len(), 2);
    let range = RowRange::default().until(time(until));
    assert!(target.ids(range).await.len() >= 60);
    target.pull(&service, &limited).await.unwrap();
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_the_pull_and_keeps_its_rows() {
    let (service, mut target) = (service(500), Target::new().await);
    let client = limited(&service, 1, Fault::Silent);
    let error = target.pull_by(&client, &all().time_limit(Duration::from_secs(10))).await;
    assert!(matches!(error, Err(ExportError::TimeLimit)), "{error:?}");
    assert_eq!(target.ids(RowRange::default()).await.len(), 100);
    assert_eq!(target.pull(&service, &all()).await.unwrap().rows, 500);
}

#[tokio::test]
async fn nothing_new_costs_one_request() {
    let spread = (0..300).map(|n| {
        submission(
            &format!("sub_{n}"),
            "{}",
            &format!("2026-01-{:02}T{:02}:00:00Z", 30 - n / 24, 23 - n % 24),
        )
    });
    let service = MockService::new().form(form(FORM, "Survey")).submissions(FORM, spread);
    let mut target = Target::new().await;
    target.pull(&service, &all()).await.unwrap();
    let before = service.requests().len();
    assert_eq!(target.pull(&service, &all()).await.unwrap().new, 0);
    assert_eq!(service.requests().len(), before + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Random rows that share times, arrive between runs and late, with failures after any page.
    #[test]
    fn last_pull_has_every_row(
        steps in prop::collection::vec((
            // Rows: seconds since the last one, and how many share the time.
            prop::collection::vec((0_i64..400, 1_u32..5), 0..12),
            // Rows that are committed late, by their age in seconds.
            prop::collection::vec(0_i64..300, 0..3),
            // Pages before the failure, and the oldest wanted time.
            0_u32..6, prop::option::of(0_i64..3_000),
        ), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let service = MockService::new().form(form(FORM, "Survey"));
            let mut target = Target::new().await;
            let (mut now, mut ids) = (1_700_000_000_i64, BTreeSet::new());
            let submit = |at: i64, ids: &mut BTreeSet<String>| {
                let id = format!("sub_{}", ids.len());
                let time = Timestamp::from_unix_nanos(i128::from(at) * 1_000_000_000);
                service.submit(FORM, submission(&id, "{}", time.unwrap().as_str()));
                ids.insert(id);
            };
            for (rows, late, pages, since) in steps {
                for (pause, share) in rows {
                    now += pause;
                    (0..share).for_each(|_| submit(now, &mut ids));
                }
                for age in late {
                    submit(now - age, &mut ids);
                }
                let at = u64::try_from(now).unwrap();
                service.set_date(SystemTime::UNIX_EPOCH + Duration::from_secs(at));
                let client = limited(&service, pages, REVOKED);
                let since = since.map(|age| time((now - age) * 1_000_000));
                let options = all().page_size(10).since(since);
                let _ = target.pull_by(&client, &options).await;
            }
            target.pull(&service, &all().page_size(10)).await.unwrap();
            let stored: BTreeSet<String> = target.ids(RowRange::default()).await.into_iter().collect();
            prop_assert_eq!(stored, ids);
            let coverage = target.status().await.coverage;
            prop_assert!(coverage.intervals().len() <= 1);
            Ok(())
        })?;
    }
}
