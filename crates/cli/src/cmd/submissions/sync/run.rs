//! Runs of `formsvc submissions sync`.

use std::time::Duration;

use clap::Args;
use formsvc_client::{Client, Completeness, PAGE_SIZE_MAX};
use formsvc_export::{PullOptions, PullProgress, SyncStore, SyncSummary, SyncTarget};
use tokio::time::{Instant, sleep_until};

use super::report::{self, Report};
use super::{Target, find_form, known_forms, new_title, open};
use crate::args::{duration, whole};
use crate::cmd::submissions::export::{explain_stopped, incomplete};
use crate::cmd::submissions::range::place;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::FormMatch;
use crate::progress::Expected;
use crate::when::{When, now};

/// Time between two rounds of `--watch`.
const INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(super) struct Run {
    /// The forms: id, public id, exact title, or the beginning of either id
    #[arg(value_name = "FORM", required = true)]
    forms: Vec<String>,
    #[command(flatten)]
    target: Target,
    /// Keep running, and look for new submissions every `--interval`
    #[arg(long)]
    watch: bool,
    /// Time between two rounds of `--watch` [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "watch")]
    interval: Option<Duration>,
    /// Read back to this time on the first run
    ///
    /// The last page is stored completely, with its older submissions. A later run without this option
    /// reads all older ones.
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Stop after this time; the next run continues. Exit 8 if submissions were left
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Continue where more submissions share a second or a millisecond than a page can show, and end with
    /// exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Submissions per request, 1 to 100
    #[arg(long, value_name = "N", default_value_t = PAGE_SIZE_MAX, value_parser = whole::<u32>(1..=100), hide_short_help = true)]
    page_size: u32,
}

impl Run {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let target = self.target.read()?;
        let since = place(cx, "--since", self.since.as_ref(), &now())?;
        let mut options = PullOptions::default();
        options.since = since.map_or(i64::MIN, |since| since.unix_micros());
        options.page_size = self.page_size;
        options.allow_incomplete = self.allow_incomplete;
        options.deadline = self.max_time.and_then(|time| Instant::now().checked_add(time));
        let mut listing = cx.output.listing(&report::FIELDS)?;
        if self.watch {
            cx.run_until_stopped();
        }
        let mut forms = Vec::new();
        loop {
            let began = Instant::now();
            let round = self.round(cx, &target, &options, &mut forms).await;
            match round {
                Ok(reports) if !self.watch => {
                    for report in &reports {
                        listing.push(report);
                    }
                    cx.output.list_if_requested(listing)?;
                    return report::end(&reports);
                }
                Ok(_) => {}
                Err(error) if self.watch && passes(&error) => cx.progress.warn(&error.brief()),
                Err(error) => return Err(error),
            }
            let next = began + self.interval.unwrap_or(INTERVAL);
            if options.deadline.is_some_and(|deadline| deadline <= next) {
                return Ok(());
            }
            sleep_until(next).await;
        }
    }

    /// Synchronizes all forms once. `forms` are those that were found before.
    async fn round(
        &self,
        cx: &Context,
        target: &SyncTarget,
        options: &PullOptions,
        forms: &mut Vec<FormMatch>,
    ) -> Result<Vec<Report>, CliError> {
        // Opened in each round, so that a lost connection ends no watch.
        let store = open(cx, target).await?;
        let client = cx.client().await?;
        if forms.len() < self.forms.len() {
            let known = known_forms(&store).await?;
            for name in &self.forms[forms.len()..] {
                forms.push(find_form(cx, client, &known, name).await?);
            }
        }
        let mut reports = Vec::new();
        for form in &*forms {
            let summary = sync_form(cx, client, &store, form, options).await?;
            if !self.watch || summary.pull.new + summary.pull.replaced > 0 {
                cx.progress.remark(&report::describe(
                    form,
                    &summary,
                    target,
                    cx.progress.elapsed(),
                ));
            }
            report::remark_changes(cx, form, &summary.changes);
            reports.push(Report::new(form, summary));
        }
        Ok(reports)
    }
}

/// Synchronizes a form and shows its progress.
pub(super) async fn sync_form(
    cx: &Context,
    client: &Client,
    store: &SyncStore,
    form: &FormMatch,
    options: &PullOptions,
) -> Result<SyncSummary, CliError> {
    cx.progress.begin();
    let mut stored = None;
    let on_page = |page: PullProgress<'_>| {
        if stored.is_none() {
            let created = form.listed.as_ref().map(|form| form.created_at.unix_micros());
            let since = Some(options.since).filter(|since| *since > i64::MIN);
            let saved = page.rows - page.new;
            cx.progress.expect(Expected {
                oldest: since.or(created),
                saved,
                ..Expected::default()
            });
        }
        stored = Some(page.new);
        cx.progress.submissions(page.rows, page.reached);
    };
    let synced = store.sync(client, &form.id, new_title(form), options, on_page).await;
    cx.progress.end();
    let summary = synced.map_err(|error| explain_stopped(error, stored.unwrap_or_default()))?;
    if summary.pull.completeness == Completeness::Incomplete && !options.allow_incomplete {
        incomplete(&summary.pull.overflows)?;
    }
    Ok(summary)
}

/// Returns true for an error that may pass by itself.
fn passes(error: &CliError) -> bool {
    matches!(error.exit, Exit::Service | Exit::Network | Exit::RateLimited)
}
