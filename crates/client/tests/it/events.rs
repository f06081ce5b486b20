//! What a listener hears.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use formsvc_client::{Event, RateLimit};

use crate::support::bodies::{USER, last, page};
use crate::support::builder;
use crate::support::fake::{Fake, ok, throttled};

#[tokio::test(start_paused = true)]
async fn a_listener_hears_of_attempts_retries_waits_and_pages() {
    let answers = [throttled("2"), ok(page([0, 1], "c1")), ok(last([1, 2])), ok(USER)];
    let fake = Fake::script(answers);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let client = builder()
        .rate_limit(RateLimit::per_minute(NonZeroU32::new(3).unwrap()))
        .on_event(move |event| log.lock().unwrap().push(tell(event)))
        .transport(fake.wire())
        .build()
        .unwrap();
    let list = client.form("frm_1".parse().unwrap()).submissions();
    assert_eq!(list.items().try_collect_max(9).await.unwrap().len(), 3);
    client.me().await.unwrap();
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "submissions.list 1: Some(429) Some(Api)",
            "submissions.list after 1: 2s Status(429)",
            "submissions.list 2: Some(200) None",
            "Fallback { why: CursorNotTime }",
            "page of 2, 0 again, more true",
            "submissions.list 1: Some(200) None",
            "page of 1, 1 again, more false",
            "me waits 61s Limit",
            "me 1: Some(200) None",
        ]
    );
}

fn tell(event: &Event) -> String {
    match event {
        Event::Attempt { operation, attempt, status, failure, .. } => {
            let status = status.map(|status| status.as_u16());
            format!("{operation} {attempt}: {status:?} {failure:?}")
        }
        Event::RetryScheduled { operation, attempt, delay, why, .. } => {
            format!("{operation} after {attempt}: {}s {why:?}", delay.as_secs())
        }
        Event::RateLimited { operation, wait, why, .. } => {
            format!("{operation} waits {}s {why:?}", wait.as_secs_f64().round())
        }
        Event::PageFetched { rows, duplicates, has_more, .. } => {
            format!("page of {rows}, {duplicates} again, more {has_more}")
        }
        other => format!("{other:?}"),
    }
}
