//! Runs of `formsvc submissions sync`.

use std::time::Duration;

use clap::Args;
use formsvc_client::{Client, Completeness, PAGE_SIZE_MAX, Timestamp};
use formsvc_export::{PullOptions, PullProgress, SyncStore, SyncSummary, SyncTarget};
use tokio::time::{Instant, sleep_until};

use super::failure::Failure;
use super::report::{self, Report};
use super::{Target, find_form, known_forms, open};
use crate::base::when::{When, now};
use crate::cmd::submissions::export::{counted, incomplete};
use crate::cmd::submissions::range::place;
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::output::progress::Expected;
use crate::settings::Service;
use crate::settings::args::{duration, whole};

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
    ///
    /// Reports go to stderr; formats other than `--output table` are refused. A round that fails because
    /// of the network, the service or another run is reported, and the next one continues.
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
    /// Continue where more submissions share a second or a millisecond than a page can show, or one violates
    /// the API, and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Submissions per request, 1 to 100
    #[arg(long, value_name = "N", default_value_t = PAGE_SIZE_MAX, value_parser = whole::<u32>(1..=100), hide_short_help = true)]
    page_size: u32,
}

/// How submissions are requested.
pub(super) struct SyncOptions {
    pub(super) since: Option<Timestamp>,
    pub(super) page_size: u32,
    pub(super) allow_incomplete: bool,
    pub(super) deadline: Option<Instant>,
}

impl SyncOptions {
    /// Returns the options of a run that begins now.
    pub(super) fn pull(&self) -> PullOptions {
        PullOptions::default()
            .since(self.since.clone())
            .page_size(self.page_size)
            .allow_incomplete(self.allow_incomplete)
            .time_limit(remaining(self.deadline))
    }
}

impl Run {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let target = self.target.read()?;
        let since = place(cx, "--since", self.since.as_ref(), &now())?;
        let options = SyncOptions {
            since,
            page_size: self.page_size,
            allow_incomplete: self.allow_incomplete,
            deadline,
        };
        let mut listing = cx.output.listing(&report::FIELDS)?;
        if self.watch {
            if cx.output.is_requested() && !cx.output.is_for_reading() {
                let hint = "use `--output table`, or repeat the command without `--watch`";
                return Err(CliError::usage("`--watch` has no output on stdout").hint(hint));
            }
            cx.shutdown.run_until_stopped();
        }
        if matches!(cx.settings.service, Service::Demo) {
            cx.progress.warn(
                "each command with `--demo` creates its forms anew, so that another sync adds them as \
                 further forms; `formsvc sandbox --database PATH --port N` keeps them",
            );
        }
        cx.shutdown.set_saved("nothing new was stored; the same command continues".to_owned());
        let mut forms = Vec::new();
        loop {
            let began = Instant::now();
            let mut reports = Vec::new();
            let round = self.round(cx, &target, &options, &mut forms, &mut reports).await;
            if !self.watch {
                if !reports.is_empty() {
                    for report in &reports {
                        listing.push(report);
                    }
                    cx.output.list_if_requested(listing)?;
                }
                round?;
                return report::end(&reports);
            }
            match round {
                Err(failure) if failure.passes => cx.progress.warn(&failure.error.brief()),
                round => round?,
            }
            let next = began + self.interval.unwrap_or(INTERVAL);
            if options.deadline.is_some_and(|deadline| deadline <= next) {
                return Ok(());
            }
            sleep_until(next).await;
        }
    }

    /// Synchronizes all forms once, also after one has failed, and returns the first failure. `forms`
    /// are those that were found before.
    async fn round(
        &self,
        cx: &Context,
        target: &SyncTarget,
        options: &SyncOptions,
        forms: &mut Vec<FormMatch>,
        reports: &mut Vec<Report>,
    ) -> Result<(), Failure> {
        // Opened in each round, so that a lost connection ends no watch.
        let store = open(cx, &target.clone().time_limit(remaining(options.deadline))).await?;
        let client = cx.client().await?;
        if forms.len() < self.forms.len() {
            let known = known_forms(&store).await?;
            for name in &self.forms[forms.len()..] {
                forms.push(find_form(cx, client, &known, name).await?);
            }
        }
        let mut first = None;
        for form in &*forms {
            let synced = sync_form(cx, client, &store, form, options).await;
            let checked = synced.and_then(|summary| {
                check_complete(&summary, options)?;
                Ok(summary)
            });
            let summary = match checked {
                Ok(summary) => summary,
                Err(failure) => {
                    if first.is_some() || (self.watch && failure.passes) {
                        let error = failure.error.brief();
                        cx.progress.warn(&format!("{}: {error}", form.title));
                    } else {
                        first = Some(failure);
                    }
                    if options.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                        break;
                    }
                    continue;
                }
            };
            if !self.watch || summary.pull.new + summary.pull.replaced > 0 {
                cx.progress.remark(&report::describe(
                    form,
                    &summary,
                    target,
                    cx.progress.elapsed(),
                ));
            }
            report::remark_changes(cx, form, &summary.changes);
            report::remark_log(cx, summary.log.as_deref());
            reports.push(Report::new(form, summary));
        }
        first.map_or(Ok(()), Err)
    }
}

/// Synchronizes a form and shows its progress.
pub(super) async fn sync_form(
    cx: &Context,
    client: &Client,
    store: &SyncStore,
    form: &FormMatch,
    options: &SyncOptions,
) -> Result<SyncSummary, Failure> {
    cx.progress.begin();
    let mut stored = None;
    let on_page = |page: PullProgress<'_>| {
        if stored.is_none() {
            let created = form.listed.as_ref().map(|form| form.created_at.unix_micros());
            let since = options.since.as_ref().map(Timestamp::unix_micros);
            let saved = page.rows - page.new;
            cx.progress.expect(Expected {
                oldest: since.or(created),
                saved,
                ..Expected::default()
            });
        }
        stored = Some(page.new);
        let new = counted(page.new, "new submission");
        cx.shutdown.set_saved(format!("{new} stored; the same command continues"));
        cx.progress.submissions(page.rows, page.reached.as_str());
    };
    let synced = store.sync(client, &form.id, form.listed.as_ref(), &options.pull(), on_page).await;
    cx.progress.end();
    synced.map_err(|error| Failure::stopped(error, stored.unwrap_or_default()))
}

/// Returns an error if submissions are left out of the database, and this is not allowed.
fn check_complete(summary: &SyncSummary, options: &SyncOptions) -> Result<(), CliError> {
    if summary.pull.completeness != Completeness::Incomplete || options.allow_incomplete {
        return Ok(());
    }
    let hint = "`formsvc submissions sync verify` reads the whole list again, which completes the database \
                after the service is corrected";
    incomplete(&summary.pull.left_out).map_err(|error| error.hint(hint))
}
