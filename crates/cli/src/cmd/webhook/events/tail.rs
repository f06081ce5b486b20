//! `formsvc webhook events tail`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use formsvc_workbench::delivery::{CaptureNumber, DeliverySummary};
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::record::DeliveryRecord;
use formsvc_workbench::store::{CaptureQuery, CaptureStore};
use tokio::time::{Instant, MissedTickBehavior};

use super::super::args::FilterArgs;
use super::super::captures;
use super::super::fields::ALL_FIELDS;
use super::super::text::verdict_label;
use crate::base::stdin;
use crate::base::when::zone;
use crate::context::Context;
use crate::error::CliError;
use crate::output::OutputFormat;
use crate::output::{Column, Columns, ItemPrinter, TextStyle};
use crate::settings::args::{duration, whole};

/// Time between two reads of the store.
const INTERVAL: Duration = Duration::from_millis(150);
/// Longest time to wait for a response. It is longer than the time limit of targets.
const RESPONSE_MAX: Duration = Duration::from_secs(15);
/// Widest verdict: `✗ malformed signature`.
const VERDICT_WIDTH: usize = 21;

/// Print deliveries while listeners on this machine record them
///
/// Prints the newest deliveries, then each new delivery once it has a response, until Ctrl-C. In a pipe, each
/// delivery is one line of JSON with its body and responses.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events tail --count 3\n  formsvc --demo webhook events tail --count 2 --verdict invalid\n  formsvc webhook events tail --status failed"
)]
pub(crate) struct Tail {
    #[command(flatten)]
    filter: FilterArgs,
    /// Number of recorded deliveries to print first
    #[arg(short = 'n', long = "last", value_name = "N", default_value_t = 10, value_parser = whole::<usize>(0..=u32::MAX.into()))]
    last: usize,
    /// Stop after N deliveries
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Do not mask signatures and secrets. They allow others to replay the delivery
    #[arg(long)]
    reveal: bool,
}

impl Tail {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let printer = output.items(columns(), ALL_FIELDS)?;
        let filter = self.filter.resolve(cx)?;
        let deadline = cx.deadline(self.max_time);
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let mut follower = Follower {
            printer,
            all: filter.all,
            without_status: filter.without_status,
            last_seen: None,
            pending: BTreeMap::new(),
            left: self.count,
            reveal: self.reveal,
        };
        let end = async {
            match deadline {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            result = follow(cx, &mut follower, self.last) => result,
            // The reader of the pipe has what it wants.
            () = stdin::gone() => Ok(()),
            () = end => Ok(()),
        }
    }
}

/// Reads the store again and again, until the wanted number of deliveries is printed.
async fn follow(cx: &Context, follower: &mut Follower<'_>, last: usize) -> Result<(), CliError> {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut store = None;
    while follower.left != Some(0) {
        ticks.tick().await;
        if store.is_none() {
            store = captures::open(cx).await?;
        }
        match &store {
            Some(store) => follower.read(store, last).await?,
            // Every capture of a store that is created later is new.
            None if follower.last_seen.replace(0).is_none() => {
                cx.progress.remark(&captures::none_message(cx));
            }
            None => {}
        }
    }
    Ok(())
}

fn columns() -> Vec<Column> {
    vec![
        Column::numbers("CAPTURE", 1),
        Column::text("AT", 19, 19),
        Column::text("VERDICT", 17, VERDICT_WIDTH),
        Column::text("STATUS", 6, 6),
        Column::numbers("ATTEMPT", 1),
        Column::ids("SUBMISSION_ID").or_below(),
    ]
}

fn print_row(columns: &Columns<'_>, summary: &DeliverySummary) -> Result<(), CliError> {
    let status = summary.response.as_ref().and_then(|response| response.status);
    let at = summary.received_at.to_zoned(zone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let code = summary.verdict.code;
    columns.row(&[
        (TextStyle::Heading, &summary.number.map_or(String::new(), |number| number.to_string())),
        (TextStyle::Dim, &at),
        (TextStyle::for_verdict(code), verdict_label(code)),
        (
            TextStyle::for_status(status),
            &status.map_or("-".to_owned(), |status| status.to_string()),
        ),
        (TextStyle::Plain, &summary.attempt.number.to_string()),
        (TextStyle::Plain, summary.names.submission_id.as_deref().unwrap_or_default()),
    ])
}

/// Prints new captures of a store.
struct Follower<'a> {
    printer: ItemPrinter<'a>,
    all: DeliveryFilter,
    without_status: DeliveryFilter,
    /// The highest number when the store was last read. `None` before that.
    last_seen: Option<CaptureNumber>,
    /// Captures without a response, with the time of the first read.
    pending: BTreeMap<CaptureNumber, Instant>,
    /// Number of deliveries to print.
    left: Option<u64>,
    reveal: bool,
}

impl Follower<'_> {
    /// Prints new captures, and earlier ones that have a response now.
    async fn read(&mut self, store: &CaptureStore, last: usize) -> Result<(), CliError> {
        let newest = CaptureQuery { limit: Some(1), ..CaptureQuery::default() };
        let newest = store.list(newest).await?.first().and_then(|newest| newest.number);
        let newest = newest.unwrap_or(0).max(self.last_seen.unwrap_or(0));
        let before = newest.checked_add(1);
        let query = match self.last_seen {
            None => CaptureQuery {
                filter: self.all.clone(),
                before,
                limit: Some(last),
                ..CaptureQuery::default()
            },
            Some(seen) if seen == newest && self.pending.is_empty() => return Ok(()),
            // The status is checked once there is a response.
            Some(seen) => CaptureQuery {
                filter: self.without_status.clone(),
                before,
                after: Some(self.pending.keys().next().map_or(seen, |first| first - 1)),
                limit: None,
            },
        };
        let listed = store.list(query).await?;
        let seen = self.last_seen.replace(newest).unwrap_or(0);
        let mut pending = std::mem::take(&mut self.pending);
        let now = Instant::now();
        for summary in listed.iter().rev() {
            let Some(number) = summary.number else { continue };
            let since = pending.remove(&number);
            if number <= seen && since.is_none() {
                continue;
            }
            let since = since.unwrap_or(now);
            if summary.response.is_none() && now.duration_since(since) < RESPONSE_MAX {
                self.pending.insert(number, since);
            } else if self.left != Some(0) {
                self.print(store, number).await?;
            }
        }
        Ok(())
    }

    async fn print(&mut self, store: &CaptureStore, number: CaptureNumber) -> Result<(), CliError> {
        // It may have been removed meanwhile.
        let Some(delivery) = store.get(number).await? else { return Ok(()) };
        if !self.all.matches(&delivery) {
            return Ok(());
        }
        match &self.printer {
            ItemPrinter::Rows(columns) => print_row(columns, &delivery.summary)?,
            ItemPrinter::Json(stream) => {
                stream.show(&DeliveryRecord::of(&delivery, self.reveal))?;
            }
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }
}
