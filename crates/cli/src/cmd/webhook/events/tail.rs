//! `formsvc webhook events tail`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use formsvc_workbench::delivery::{CaptureNumber, DeliverySummary};
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::record::DeliveryRecord;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::{CaptureQuery, CaptureStore};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::args::FilterArgs;
use super::super::captures;
use super::super::fields::ALL_FIELDS;
use super::super::line::LineStyle;
use super::super::wait_until;
use crate::base::stdin;
use crate::base::when::zone;
use crate::context::Context;
use crate::error::CliError;
use crate::output::{ItemPrinter, OutputFormat};
use crate::settings::args::{duration, whole};

/// Time between two reads of the store.
const INTERVAL: Duration = Duration::from_millis(150);
/// Longest time to wait for a response. It exceeds the default time limit of targets.
const RESPONSE_MAX: Duration = Duration::from_secs(15);

/// Print deliveries while listeners on this machine record them
///
/// Prints the newest deliveries, then each new delivery once it has a response, or after 15 seconds without one,
/// until Ctrl-C. The lines are those
/// of `webhook listen`. In a pipe, each delivery is one line of JSON with its body and responses.
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
    /// Print N deliveries, then exit
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
        let printer = output.items(ALL_FIELDS)?;
        let filter = self.filter.resolve(cx)?;
        let deadline = cx.deadline(self.max_time);
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let left = self.count.unwrap_or(u64::MAX);
        let mut tail = Follower { printer, filter, pending: BTreeMap::new(), left, args: &self };
        tokio::select! {
            result = tail.follow(cx) => result,
            // The program that reads the pipe has ended.
            () = stdin::gone() => Ok(()),
            () = wait_until(deadline) => Ok(()),
        }
    }
}

/// Prints new deliveries of a store.
struct Follower<'a> {
    printer: ItemPrinter<'a>,
    filter: DeliveryFilter,
    /// Captures without a response, with the time of the first read.
    pending: BTreeMap<CaptureNumber, Instant>,
    /// Number of deliveries to print.
    left: u64,
    args: &'a Tail,
}

impl Follower<'_> {
    /// Reads the store again and again, until the wanted number of deliveries is printed.
    async fn follow(&mut self, cx: &Context) -> Result<(), CliError> {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut store = captures::open(cx).await?;
        let mut last_seen = 0;
        if let Some(store) = &store {
            last_seen = self.print_recorded(store).await?;
        } else {
            cx.progress.remark(&captures::none_message(cx));
        }
        while self.left > 0 {
            ticks.tick().await;
            if store.is_none() {
                store = captures::open(cx).await?;
            }
            if let Some(store) = &store {
                let oldest = self.pending.keys().next();
                let after = Some(oldest.map_or(last_seen, |oldest| oldest - 1));
                let query = CaptureQuery { after, ..CaptureQuery::default() };
                for summary in store.list(query).await?.iter().rev() {
                    let number = summary.number.unwrap_or_default();
                    if number > last_seen || self.pending.contains_key(&number) {
                        self.observe(store, summary).await?;
                    }
                    last_seen = last_seen.max(number);
                }
            }
        }
        Ok(())
    }

    /// Prints the newest captures that match. Returns the number of the newest capture.
    async fn print_recorded(&mut self, store: &CaptureStore) -> Result<CaptureNumber, CliError> {
        let newest = CaptureQuery { limit: Some(1), ..CaptureQuery::default() };
        let newest = store.list(newest).await?.first().and_then(|newest| newest.number);
        let newest = newest.unwrap_or_default();
        let (filter, limit) = (self.filter.clone(), Some(self.args.last));
        let before = newest.checked_add(1);
        let query = CaptureQuery { filter, before, limit, ..CaptureQuery::default() };
        for summary in store.list(query).await?.iter().rev() {
            self.observe(store, summary).await?;
        }
        Ok(newest)
    }

    /// Prints a capture if it has a response, or if the time to wait for one is over.
    async fn observe(
        &mut self,
        store: &CaptureStore,
        summary: &DeliverySummary,
    ) -> Result<(), CliError> {
        let Some(number) = summary.number.filter(|_| self.left > 0) else { return Ok(()) };
        let since = *self.pending.entry(number).or_insert_with(Instant::now);
        if summary.response.is_none() && since.elapsed() < RESPONSE_MAX {
            return Ok(());
        }
        self.pending.remove(&number);
        // It may have been removed meanwhile.
        let Some(delivery) = store.get(number).await? else { return Ok(()) };
        if !self.filter.matches(&delivery) {
            return Ok(());
        }
        self.left -= 1;
        match &self.printer {
            ItemPrinter::Lines(live) => {
                let style = LineStyle {
                    zone: zone(),
                    width: live.width(),
                    secrets: SigningSecrets::default(),
                    reveal: self.args.reveal,
                    several_targets: true,
                };
                let lines = style.delivery(&delivery);
                live.lines(lines.iter().map(Vec::as_slice))
            }
            ItemPrinter::Json(stream) => {
                stream.show(&DeliveryRecord::of(&delivery, self.args.reveal))
            }
        }
    }
}
