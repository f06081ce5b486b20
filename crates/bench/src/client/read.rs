//! The child `read`: a program that reads a form with the client, to its end.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use formsvc_client::{Client, Event, ListSubmissions, RateLimit, SubmissionPage};
use http::StatusCode;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::args::Read;
use crate::error::BenchError;
use crate::{child, measure, pin};

/// How it reads; told on standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reader {
    pub(crate) way: Way,
    /// The core it stays on, with one thread; otherwise it has two, on any core.
    pub(crate) core: Option<usize>,
    pub(crate) prefetch: bool,
    /// How long the caller works on a page, in milliseconds; at least as long as it takes to read the
    /// answers.
    pub(crate) work_ms: u64,
    /// Submissions that there must be.
    pub(crate) rows: u64,
}

/// What the caller takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// Items, owned.
    Items,
    /// Items with their answers as maps.
    Maps,
    /// Rows that borrow from their page: id, time, answers as a whole and one by one.
    Rows,
    /// Pages, on which the caller works: it reads all answers as maps.
    Work,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Told {
    /// From the first request to the last row.
    pub(crate) seconds: f64,
    /// CPU seconds of the process.
    pub(crate) cpu: f64,
    /// Requests, and those of them that were answered with 429.
    pub(crate) requests: u64,
    pub(crate) refused: u64,
}

impl Reader {
    pub(crate) fn new(way: Way, rows: u64) -> Self {
        let core = Some(pin::CLIENT);
        Self { way, core, prefetch: false, work_ms: 0, rows }
    }
}

pub(crate) fn run(args: &Read) -> Result<(), BenchError> {
    let key = std::env::var("FORMSVC_API_KEY")
        .map_err(|why| BenchError::because("`FORMSVC_API_KEY`", why))?;
    let reader: Reader = serde_json::from_reader(std::io::stdin())
        .map_err(|why| BenchError::because("the reader is not understood", why))?;
    let mut runtime = match reader.core {
        Some(core) => {
            pin::to_core(core)?;
            tokio::runtime::Builder::new_current_thread()
        }
        None => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let counted = Arc::<Counted>::default();
    let since = Instant::now();
    let rows = runtime.block_on(read(args, key, &reader, &counted))?;
    let seconds = since.elapsed().as_secs_f64();
    if rows != reader.rows {
        return Err(BenchError::new(format!("{rows} submissions came of {}", reader.rows)));
    }
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|why| BenchError::because("cannot read what was used", why))?;
    child::print_json(&Told {
        seconds,
        cpu: measure::cpu_of(&usage),
        requests: counted.requests.load(Ordering::Relaxed),
        refused: counted.refused.load(Ordering::Relaxed),
    })
}

/// What the client tells while it works.
#[derive(Default)]
struct Counted {
    requests: AtomicU64,
    refused: AtomicU64,
}

impl Counted {
    fn hear(&self, event: &Event) {
        if let Event::Attempt { status, .. } = event {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let refused = *status == Some(StatusCode::TOO_MANY_REQUESTS);
            self.refused.fetch_add(u64::from(refused), Ordering::Relaxed);
        }
    }
}

/// Number of submissions.
async fn read(
    args: &Read,
    key: String,
    reader: &Reader,
    counted: &Arc<Counted>,
) -> Result<u64, BenchError> {
    let counted = Arc::clone(counted);
    let client = Client::builder().base_url(&args.base_url).api_key(key.into());
    let client = client.rate_limit(RateLimit::off()).on_event(move |event| counted.hear(event));
    let client = client.build().map_err(|why| failed(&why))?;
    let form = args.form.parse().map_err(|why| BenchError::because("no id of a form", why))?;
    let list = client.form(form).submissions().prefetch(reader.prefetch);
    match reader.way {
        Way::Items => items(list).await,
        Way::Maps => maps(list).await,
        Way::Rows => {
            let look = |page: &SubmissionPage| {
                look_at(page);
                Ok(())
            };
            pages(list, look).await
        }
        Way::Work => {
            let work = Duration::from_millis(reader.work_ms);
            pages(list, |page| work_on(page, work)).await
        }
    }
    .map_err(|why| failed(&why))
}

fn failed(why: &formsvc_client::Error) -> BenchError {
    BenchError::caused("the form cannot be read", why)
}

async fn items(list: ListSubmissions) -> Result<u64, formsvc_client::Error> {
    let (mut items, mut count) = (list.items(), 0);
    while let Some(item) = items.try_next().await? {
        black_box(item);
        count += 1;
    }
    Ok(count)
}

async fn maps(list: ListSubmissions) -> Result<u64, formsvc_client::Error> {
    let (mut items, mut count) = (list.items_as::<Map<String, Value>>(), 0);
    while let Some(item) = items.try_next().await? {
        black_box(item?);
        count += 1;
    }
    Ok(count)
}

async fn pages(
    list: ListSubmissions,
    mut work: impl FnMut(&SubmissionPage) -> Result<(), formsvc_client::AnswersError>,
) -> Result<u64, formsvc_client::Error> {
    let (mut pages, mut count) = (list.pages(), 0);
    while let Some(page) = pages.try_next().await? {
        work(&page)?;
        count += page.len() as u64;
    }
    Ok(count)
}

fn look_at(page: &SubmissionPage) {
    for row in page.rows() {
        black_box((row.id(), row.created_at(), row.data()));
        for answer in row.answers().iter() {
            black_box(answer);
        }
    }
}

/// Reads all answers, and is busy until the time is over.
fn work_on(page: &SubmissionPage, time: Duration) -> Result<(), formsvc_client::AnswersError> {
    let since = Instant::now();
    for item in page.submissions_as::<Map<String, Value>>() {
        black_box(item?);
    }
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
    Ok(())
}
