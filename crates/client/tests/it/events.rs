//! The events that a listener receives.

use std::sync::{Arc, Mutex};

use formsvc_client::RateLimit;
use formsvc_client::event::ClientEvent;

use crate::support::bodies::{USER, last, page};
use crate::support::builder;
use crate::support::fake::{Fake, ok, throttled};

#[tokio::test(start_paused = true)]
async fn listener_receives_attempts_retries_waits_and_pages() {
    let answers = [throttled("2"), ok(page([0, 1], "c1")), ok(last([1, 2])), ok(USER)];
    let fake = Fake::script(answers);
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = received.clone();
    let client = builder()
        .rate_limit(RateLimit::per_minute(3))
        .on_event(move |event| log.lock().unwrap().push(describe(event)))
        .transport(fake.wire())
        .build()
        .unwrap();
    let list = client.form("frm_1").submissions();
    assert_eq!(list.items().try_collect_max(9).await.unwrap().len(), 3);
    client.me().await.unwrap();
    assert_eq!(
        *received.lock().unwrap(),
        [
            "submissions.list 1: Some(429) Some(Api)",
            "submissions.list after 1: 2s Status(429)",
            "submissions.list 2: Some(200) None",
            r#"Fallback { form: Some(FormId("frm_1")), reason: CursorNotTime }"#,
            "page of 2, 0 again, more true",
            "submissions.list 1: Some(200) None",
            "page of 1, 1 again, more false",
            "me waits 61s Limit",
            "me 1: Some(200) None",
        ]
    );
}

fn describe(event: &ClientEvent) -> String {
    match event {
        ClientEvent::Attempt { operation, attempt, status, failure, .. } => {
            let status = status.map(|status| status.as_u16());
            format!("{operation} {attempt}: {status:?} {failure:?}")
        }
        ClientEvent::RetryScheduled { operation, attempt, delay, reason, .. } => {
            format!("{operation} after {attempt}: {}s {reason:?}", delay.as_secs())
        }
        ClientEvent::RateLimited { operation, wait, reason, .. } => {
            format!("{operation} waits {}s {reason:?}", wait.as_secs_f64().round())
        }
        ClientEvent::PageFetched { rows, duplicates, has_more, .. } => {
            format!("page of {rows}, {duplicates} again, more {has_more}")
        }
        other => format!("{other:?}"),
    }
}
