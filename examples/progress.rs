//! Prints the progress of a list, its retries and its pauses. The argument is the id of the form.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use formsvc_client::ClientBuilder;
use formsvc_client::event::ClientEvent;

static ROWS: AtomicUsize = AtomicUsize::new(0);

fn report(event: &ClientEvent) {
    match event {
        ClientEvent::PageFetched { rows, .. } => {
            eprintln!("{} rows", ROWS.fetch_add(*rows, Relaxed) + rows);
        }
        ClientEvent::RetryScheduled { delay, reason, .. } => {
            eprintln!("{reason}: retry in {delay:?}");
        }
        ClientEvent::RateLimited { wait, reason, .. } => eprintln!("{reason}: wait {wait:?}"),
        ClientEvent::Fallback { .. } => eprintln!("the list is not proven complete"),
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: progress FORM_ID")?;
    let client = ClientBuilder::from_env()?.on_event(report).build()?;
    let mut pages = client.form(form).submissions().pages();
    while pages.try_next().await?.is_some() {}
    Ok(())
}
