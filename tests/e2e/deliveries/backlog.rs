//! One endpoint with a long backlog and a slow receiver, and ten endpoints without.

use std::time::Duration;

use formsvc_protocol::EndpointId;
use formsvc_tests::receiver::Receiver;
use formsvc_tests::scale::scaled;
use formsvc_tests::site::form_url;
use formsvc_tests::visitor::Visitors;

use super::ledgers::{MEMORY_MAX_KIB, PATIENCE, Story, UNLIMITED, lag_max};

const OTHERS: usize = 10;
/// Submissions a second: 200 deliveries a second to the ten endpoints.
const PER_SECOND: f64 = 20.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_endpoint_backlog_delays_no_other_endpoint() {
    let story = Story::new(OTHERS).await;
    let slow = Receiver::start("whe_slow").await;
    slow.pause(Duration::from_millis(20));
    let site_store = story.site.open_store();
    let backlog = scaled(5_000, 100_000);
    let form = site_store.add_form("Archive").await;
    site_store.register(&form, &slow.id, &slow.url(), &slow.secret()).await;
    let waiting = site_store.fill(&form, backlog).await;
    let id = EndpointId::new(&slow.id).unwrap();
    site_store.store.set_endpoint_enabled(&id, false).await.unwrap();
    // Four times the default, so that the backlog is delivered in time.
    let arguments = [&UNLIMITED[..], &["--endpoint-slots", "16"]].concat();
    let server = story.site.serve(&arguments).await;
    site_store.store.set_endpoint_enabled(&id, true).await.unwrap();
    slow.wait_for(1).await;

    let visitors =
        Visitors::paced(4, PER_SECOND, &form_url(&server.base_url, story.form()), &story.intake);
    story.intake.wait_for(scaled(60, 1_200)).await;
    visitors.stop().await;
    let meanwhile = slow.arrivals().len();
    assert!(
        meanwhile < waiting.len(),
        "the backlog was delivered too early to delay other endpoints"
    );
    let shown = story.compare_shown(&server.base_url).await;
    story.until_arrived(&shown).await;
    // Delivers the rest without a delay.
    slow.pause(Duration::ZERO);
    let patience = scaled(PATIENCE, 10 * PATIENCE);
    let missing = slow.wait_for_all(waiting.iter().map(|(_, id)| id), patience).await.err();
    assert_eq!(missing.map(|missing| missing.len()), None, "not delivered");
    let memory = server.memory_peak_kib().unwrap_or_default();
    story.stop(server).await;
    site_store.close().await;
    story.compare_arrived(&shown);
    let arrivals: u32 = slow.arrivals().values().map(|arrival| arrival.count).sum();
    assert_eq!(arrivals as usize, waiting.len(), "each delivery of the backlog arrives once");
    assert_eq!(slow.bad(), 0);

    let figures = story
        .figures("a backlog at one slow endpoint beside 10 others")
        .with("backlog", waiting.len())
        .with("delivered during the load", meanwhile)
        .with("peak memory of the server in KiB", memory);
    println!("{figures}");
    assert_eq!(figures.duplicates, 0);
    assert!(figures.lag(99) < lag_max(), "{figures}");
    assert!(memory < MEMORY_MAX_KIB, "{figures}");
}
