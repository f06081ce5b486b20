//! Measures how long an export blocks the runtime of its caller, and how soon a timeout ends it. Arguments:
//! the number of submissions, 60,000 by default.
//!
//! `cargo run --release -p formsvc-export --example responsiveness`

#![expect(clippy::print_stdout, reason = "a program that prints measurements")]

use std::time::{Duration, Instant};

use formsvc_client::test_util::{MockService, form, generate};
use formsvc_export::{Destination, Existing, Export, Format};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(60_000), |rows| rows.parse())?;
    let service = MockService::new().form(form("frm_1", "Survey"));
    let service = service.submissions("frm_1", generate(rows));
    let folder = tempfile::tempdir()?;
    for format in [Format::Csv, Format::Xlsx] {
        let path = folder.path().join(format.name());
        let destination = || Destination::file(&path, Existing::Replace);
        let export = Export::new(service.client(), "frm_1".parse()?);
        let began = Instant::now();
        let ticks = tokio::spawn(longest_gap());
        let exported = export.clone().run(format, destination()?).await?;
        ticks.abort();
        let name = format.name();
        println!("{name}: {} rows in {:.2?}", exported.rendered.rows, began.elapsed());
        let began = Instant::now();
        let timeout = Duration::from_millis(50);
        let ended = tokio::time::timeout(timeout, export.run(format, destination()?)).await;
        println!("{name}: timeout of 50 ms: {} after {:.2?}", ended.is_err(), began.elapsed());
    }
    Ok(())
}

/// Prints each new longest processor time of this thread between two turns of this task. The wall clock also
/// counts the time in which other programs have the processor.
async fn longest_gap() {
    let (mut longest, mut last) = (Duration::ZERO, processor_time());
    loop {
        tokio::task::yield_now().await;
        let now = processor_time();
        let blocked = now.saturating_sub(last);
        if blocked > longest {
            longest = blocked;
            println!("blocked for {longest:.2?}");
        }
        last = now;
    }
}

/// The processor time of this thread; zero where the system does not report it.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let used = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(used.unwrap_or_default())
}
