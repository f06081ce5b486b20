//! `formsvc webhook events list`

use clap::Args;
use formsvc_workbench::record::DeliveryRecord;
use formsvc_workbench::store::CaptureQuery;

use super::super::args::FilterArgs;
use super::super::captures;
use super::super::fields::FIELDS;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::args::whole;

/// List recorded deliveries, newest first
///
/// The list contains what all your listeners on this machine stored. The status is that of the response to the sender.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events list\n  formsvc --demo webhook events list --status failed --json verdict,status\n  formsvc webhook events list --since 10m --grep example.org"
)]
pub(crate) struct List {
    #[command(flatten)]
    filter: FilterArgs,
    /// List at most N deliveries
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = whole::<usize>(1..=u32::MAX.into()))]
    limit: usize,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let filter = self.filter.resolve(cx)?;
        let is_filtered = !filter.is_empty();
        // One more, to find out whether there are more.
        let limit = Some(self.limit.saturating_add(1));
        let query = CaptureQuery { filter, limit, ..CaptureQuery::default() };
        let mut listed = match captures::open(cx).await? {
            Some(store) => store.list(query).await?,
            None => Vec::new(),
        };
        let has_more = listed.len() > self.limit;
        listed.truncate(self.limit);
        if listed.is_empty() {
            cx.progress.remark(&if is_filtered {
                "no captures match".to_owned()
            } else {
                captures::none_message(cx)
            });
        }
        for summary in &listed {
            listing.push(&DeliveryRecord::of_summary(summary, false));
        }
        cx.output.list(&listing)?;
        if has_more && cx.settings.terminal.stdout {
            cx.progress.remark("there are older captures: `--limit N` lists more");
        }
        Ok(())
    }
}
