//! `formsvc webhook events tail`

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use formsvc_workbench::delivery::{CaptureNumber, Delivery};
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::record::DeliveryRecord;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::{CaptureQuery, CaptureStore};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{MissedTickBehavior, interval};

use super::super::args::FilterArgs;
use super::super::captures;
use super::super::fields::ALL_FIELDS;
use super::super::line::LineStyle;
use crate::base::stdin;
use crate::base::when::zone;
use crate::context::{Context, wait_until};
use crate::error::CliError;
use crate::output::{ItemPrinter, OutputFormat};
use crate::settings::args::{duration, whole};

/// Time between two reads of the store.
const INTERVAL: Duration = Duration::from_millis(150);
/// Longest time to wait for a response. It exceeds the default time limit of targets.
const RESPONSE_MAX: SignedDuration = SignedDuration::from_secs(15);

/// Print deliveries while listeners on this machine record them
///
/// Prints the newest deliveries, then each new delivery once it has a response, or after 15 seconds without one,
/// until Ctrl-C. The lines are those of `webhook listen`. In a pipe, each delivery is one line of JSON with its
/// body and responses. If `--jq` or `--template` fails on a delivery, a warning names its capture.
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
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        cx.shutdown.run_until_stopped();
        tokio::select! {
            result = self.follow(cx, &printer, &filter) => result,
            // The program that reads the pipe has ended.
            () = stdin::gone() => Ok(()),
            () = wait_until(cx.deadline(self.max_time)) => Ok(()),
        }
    }

    /// Reads the store again and again, until the wanted number of deliveries is printed.
    async fn follow(
        &self,
        cx: &Context,
        printer: &ItemPrinter<'_>,
        filter: &DeliveryFilter,
    ) -> Result<(), CliError> {
        let mut store = captures::open(cx).await?;
        let mut after = 0;
        if let Some(store) = &store {
            after = self.number_before(store, filter).await?;
        } else {
            cx.progress.remark(&captures::none_message(cx));
        }
        // The numbers of handled deliveries that follow one without a response.
        let mut ahead = BTreeSet::new();
        let mut left = self.count.unwrap_or(u64::MAX);
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if store.is_none() {
                store = captures::open(cx).await?;
            }
            let Some(store) = &store else { continue };
            let query = CaptureQuery { after: Some(after), ..CaptureQuery::default() };
            let mut has_pending = false;
            for summary in store.list(query).await?.iter().rev() {
                let number = summary.number.unwrap_or_default();
                let age = Timestamp::now().duration_since(summary.received_at);
                // After the clock was set back, the age may be negative.
                let is_recent = (SignedDuration::ZERO..RESPONSE_MAX).contains(&age);
                let is_pending = summary.response.is_none() && is_recent;
                has_pending |= is_pending;
                if !has_pending {
                    after = number;
                }
                if is_pending || !ahead.insert(number) {
                    continue;
                }
                // It may have been removed meanwhile.
                let Some(delivery) = store.get(number).await? else { continue };
                if filter.matches(&delivery) {
                    let item = format!("capture {number}");
                    let shown = self.print(printer, &delivery);
                    shown.or_else(|error| cx.progress.warn_of_item(&item, error))?;
                    left -= 1;
                    if left == 0 {
                        return Ok(());
                    }
                }
            }
            ahead.retain(|number| *number > after);
        }
    }

    /// Returns the number before the first delivery to print.
    async fn number_before(
        &self,
        store: &CaptureStore,
        filter: &DeliveryFilter,
    ) -> Result<CaptureNumber, CliError> {
        let (filter, limit) = (filter.clone(), Some(self.last));
        let query = CaptureQuery { filter, limit, ..CaptureQuery::default() };
        let found = if self.last == 0 { Vec::new() } else { store.list(query).await? };
        match found.last().and_then(|oldest| oldest.number) {
            Some(oldest) => Ok(oldest - 1),
            None => Ok(captures::newest(store).await?.unwrap_or_default()),
        }
    }

    fn print(&self, printer: &ItemPrinter<'_>, delivery: &Delivery) -> Result<(), CliError> {
        match printer {
            ItemPrinter::Lines(live) => {
                let style = LineStyle {
                    zone: zone(),
                    width: live.width(),
                    secrets: SigningSecrets::default(),
                    reveal: self.reveal,
                    several_targets: true,
                };
                live.lines(style.delivery(delivery).iter().map(Vec::as_slice))
            }
            ItemPrinter::Json(stream) => stream.show(&DeliveryRecord::of(delivery, self.reveal)),
        }
    }
}
