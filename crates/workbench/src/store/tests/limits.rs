//! The limits of bytes and age.

use super::*;

#[tokio::test]
async fn byte_limit_removes_oldest_captures() {
    let home = Home::new();
    let limits = StoreLimits { bytes: 1 << 20, ..LIMITS };
    let store = home.open_with(limits);
    for _ in 0..20 {
        insert(&store, &delivery(vec![b'x'; 2_000]), 50).await;
    }
    let left = all_numbers(&store).await;
    assert!(left.len() > 200 && left[0] == 1_000, "{} are left", left.len());
    assert!(left.is_sorted_by(|newer, older| *newer == *older + 1), "the oldest are removed");
    insert(&store, &delivery(vec![b'x'; 1_000_000]), 1).await;
    insert(&store, &delivery(""), 8).await;
    wait_until(&store, |left| left.len() < 20).await;
    assert!(all_numbers(&store).await.contains(&1_001));
    store.close().await;
    let size = || home.path().metadata().unwrap().len();
    assert!(size() < 3 << 20, "{} bytes", size());
    // A lower limit removes captures when the store is opened, and shrinks the file.
    let store = home.open_with(StoreLimits { bytes: 256 << 10, ..LIMITS });
    wait_until(&store, |left| !left.contains(&1_001)).await;
    assert_eq!(all_numbers(&store).await[0], 1_009);
    store.close().await;
    assert!(size() < 3 << 20, "{} bytes", size());
}

#[tokio::test]
async fn untrusted_captures_use_half_of_byte_limit() {
    let home = Home::new();
    let store = home.open_with(StoreLimits { bytes: 4 << 20, ..LIMITS });
    insert(&store, &delivery(vec![b'x'; 100_000]), 60).await;
    for _ in 0..20 {
        insert(&store, &untrusted(vec![b'x'; 400_000]), 2).await;
        insert(&store, &untrusted(""), 20).await;
    }
    let left = all_numbers(&store).await;
    let genuine = left.iter().filter(|number| **number <= 60).count();
    assert!((19..30).contains(&genuine), "{genuine} of 100 kB in 2 MiB or more");
    assert!(left.len() - genuine > 40, "{left:?}");
    insert(&store, &delivery(vec![b'x'; 100_000]), 60).await;
    wait_until(&store, |left| left.iter().all(|number| *number > 500)).await;
    assert!(all_numbers(&store).await.len() >= 30, "the oldest of all are removed");
    store.close().await;
    let size = home.path().metadata().unwrap().len();
    assert!(size < 6 << 20, "{size} bytes");
}

#[tokio::test]
async fn large_captures_after_many_small_stay_within_limits() {
    const LARGE: usize = 40;
    let limits = StoreLimits { bytes: 4 << 20, ..LIMITS };
    for (sample, small, max) in
        [(untrusted as fn(Vec<u8>) -> Delivery, 600, 2 << 20), (delivery, 5_000, 4 << 20)]
    {
        let store = CaptureStore::in_memory(limits).unwrap();
        insert(&store, &sample(Vec::new()), small).await;
        let large = sample(vec![b'x'; 500_000]);
        // The writer does not become idle between these inserts.
        let usage = while_blocked(&store, LARGE + 1, async {
            let inserts = insert(&store, &large, LARGE);
            let usage = store.run(|db| {
                let pages = "SELECT (page_count - freelist_count) * page_size
                     FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
                let sql = format!("SELECT max((SELECT bytes FROM untrusted), ({pages}))");
                Ok(db.query_row(&sql, [], |row| row.get::<_, i64>(0))?)
            });
            tokio::join!(inserts, usage).1.unwrap()
        });
        let usage = usage.await;
        assert!(usage <= max, "{usage} bytes of {max}");
    }
}

#[tokio::test]
async fn forwards_count_as_bytes_of_untrusted_captures() {
    let store = CaptureStore::in_memory(StoreLimits { bytes: 4 << 20, ..LIMITS }).unwrap();
    let usage = || {
        let read = |db: &mut Connection| {
            Ok(db.query_row("SELECT bytes FROM untrusted", [], |row| row.get::<_, i64>(0))?)
        };
        store.run(read)
    };
    let response = TargetResponse {
        status: 200,
        headers: HeaderMap::new(),
        body: vec![b'x'; 500_000].into(),
        is_truncated: false,
    };
    for sample in [delivery as fn(&'static str) -> Delivery, untrusted] {
        for _ in 0..10 {
            let number = store.insert(sample("").into()).await.unwrap();
            let mut answered = answered(sample(""), number, 200);
            let result = Ok(response.clone());
            let (url, took) = ("http://a.test/".to_owned(), Duration::ZERO);
            answered.forwards = vec![Forward { url, result, took }];
            store.set_outcome(number, answered.into()).await.unwrap();
        }
        let is_counted = usage().await.unwrap() > 500_000;
        assert_eq!(is_counted, sample("").summary.verdict.code != VerdictCode::Valid);
    }
    let bytes = usage().await.unwrap();
    assert!((1_500_000..=2 << 20).contains(&bytes), "{bytes}");
    store.prune(None, false).await.unwrap();
    assert_eq!(usage().await.unwrap(), 0);
}

#[tokio::test]
async fn capture_larger_than_its_share_is_an_error() {
    let store = CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, ..LIMITS }).unwrap();
    insert(&store, &delivery("genuine"), 1).await;
    let body = vec![b'x'; 600_000];
    let error = store.insert(untrusted(body.clone()).into()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { size: 600_000.., max: 524_288 }), "{error}");
    insert(&store, &delivery(body), 1).await;
    let error = store.insert(delivery(vec![b'x'; 1 << 20]).into()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { max: 1_048_576, .. }), "{error}");
    assert_eq!(all_numbers(&store).await, [2, 1]);
}

#[tokio::test]
async fn age_limit_removes_expired_captures() {
    let home = Home::new();
    let store = home.open();
    let mut recent = delivery("");
    recent.summary.received_at = Timestamp::now();
    insert(&store, &delivery(""), 2).await;
    insert(&store, &recent, 1).await;
    store.close().await;
    let store = home.open_with(StoreLimits { age: Duration::from_secs(3_600), ..LIMITS });
    // The expired captures are removed before or after this insert.
    insert(&store, &recent, 1).await;
    assert_eq!(all_numbers(&store).await, [4, 3]);
    insert(&store, &delivery(""), 1).await;
    assert_eq!(all_numbers(&store).await, [4, 3]);
    store.close().await;
    let store = CaptureStore::open_existing(&home.folder()).unwrap().unwrap();
    insert(&store, &delivery(""), 1).await;
    assert_eq!(all_numbers(&store).await, [6, 4, 3], "without limits");
}
