//! `formsvc webhook events list`

use clap::Args;

use crate::again::Line;
use crate::args::whole;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::capture::CaptureNumber;
use crate::webhook::kept::{FIELDS, FilterArgs, Item, captures, nothing, number};
use crate::webhook::store::Query;

/// List recorded deliveries, newest first
///
/// What listeners on this machine received and kept. The status is what the sender was answered with.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events list\n  formsvc --demo webhook events list --status failed --json verdict,status\n  formsvc webhook events list --since 10m --grep example.org"
)]
pub(crate) struct List {
    #[command(flatten)]
    filter: FilterArgs,
    /// How many at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = LIMIT, value_parser = whole::<usize>(1..=u32::MAX.into()))]
    limit: usize,
    /// Only those before this one
    #[arg(long, value_name = "N", value_parser = number)]
    before: Option<CaptureNumber>,
}

/// How many there are at most, unless somebody says otherwise.
const LIMIT: usize = 30;

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        // One more, to know whether there are.
        let query = Query {
            limit: Some(self.limit.saturating_add(1)),
            before: self.before,
            ..self.filter.query(cx)?
        };
        let mut listed = match captures(cx).await? {
            Some(captures) => captures.list(query.clone()).await?,
            None => Vec::new(),
        };
        let more = listed.len() > self.limit;
        listed.truncate(self.limit);
        if listed.is_empty() {
            let nothing = if self.filter.is_given() {
                "no captures like that".to_owned()
            } else {
                nothing(cx)
            };
            cx.progress.remark(&nothing);
        }
        for capture in &listed {
            listing.push(&Item::of(capture, false));
        }
        cx.output.list(listing)?;
        let last = listed.last().and_then(|last| last.number).filter(|_| more);
        if let Some(last) = last.filter(|_| cx.settings.terminal.stdout) {
            let mut line = Line::of(&cx.settings, &["webhook", "events", "list"]);
            self.filter.say_again(&query, &mut line);
            line.flag("--limit", &self.limit.to_string()).flag("--before", &last.to_string());
            if let Some(more) = line.shown() {
                cx.progress.command("more", &more);
            }
        }
        Ok(())
    }
}
