//! Servers that get SIGTERM under load.

use std::time::{Duration, Instant};

use formsvc_tests::scale::scaled;

use super::ledgers::Story;

const STOP_MAX: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_sigterm_under_load_loses_and_repeats_nothing() {
    let story = Story::new(3).await;
    let mut random = fastrand::Rng::with_seed(3);
    let (stops, mut longest) = (scaled(3, 50), Duration::ZERO);
    for _ in 0..stops {
        let server = story.serve().await;
        let mut visitors = story.visit(&server.base_url);
        story.intake.wait_for(story.intake.taken() + random.usize(1..100)).await;
        let began = Instant::now();
        server.terminate().await;
        let status = server.ended().await;
        longest = longest.max(began.elapsed());
        assert!(status.success(), "{status}: {}", story.site.log());
        visitors.ended().await;
        assert!(story.site.under_way().is_empty(), "deliveries have no outcome");
    }
    let figures = story.end("`SIGTERM` under load").await;
    let figures = figures.with("stops", stops).with("longest stop in ms", longest.as_millis());
    println!("{figures}");
    assert!(longest < STOP_MAX, "{longest:?}");
    assert_eq!(figures.duplicates, 0);
}
