//! Runs of `formsvc submissions sync`.

use std::time::Duration;

use clap::Args;
use formsvc_client::{Client, Completeness};
use formsvc_export::{LeftOut, PullOptions, PullProgress, SyncStore, SyncSummary, SyncTarget};
use tokio::time::{Instant, sleep_until};

use super::{RequestFlags, Target, find_form, open_store, report};
use crate::base::when::{When, now};
use crate::cmd::submissions::export::explain_stopped;
use crate::cmd::submissions::range::place;
use crate::cmd::submissions::{counted, incomplete};
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::settings::Service;
use crate::settings::args::duration;

/// Time between two rounds of `--watch`.
const INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(super) struct Run {
    /// The forms: id, public id, exact title, or the beginning of either id
    #[arg(value_name = "FORM", required_unless_present = "all")]
    forms: Vec<String>,
    /// Copy every form that the key can read. With `--watch`, new forms are added in the next round
    #[arg(long, conflicts_with = "forms")]
    all: bool,
    #[command(flatten)]
    target: Target,
    /// Keep running, and look for new submissions every `--interval`
    ///
    /// Reports go to stderr, and nothing to stdout: `--output json` and similar flags are refused. A round
    /// that fails because of the network, the service or another run is reported, and the next one continues.
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
    #[command(flatten)]
    requests: RequestFlags,
}

impl Run {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.requests.max_time);
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(&self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let target = self.target.read()?;
        let since = place(cx, "--since", self.since.as_ref(), &now())?;
        let mut listing = cx.output.listing(&report::FIELDS)?;
        if self.watch {
            if cx.output.is_requested() && !cx.output.is_for_reading() {
                let hint = "use `--output table`, or repeat the command without `--watch`";
                return Err(CliError::usage("`--watch` has no output on stdout").hint(hint));
            }
            cx.progress.remark(&format!("looking for new submissions → {target}; Ctrl-C stops it"));
        }
        if matches!(cx.settings.service, Service::Demo) {
            cx.progress.warn(
                "each command with `--demo` creates its forms anew, so that another sync adds them as \
                 further forms; `formsvc sandbox --database PATH --port N` keeps them",
            );
        }
        cx.shutdown.set_saved("nothing new was stored; the same command continues".to_owned());
        let (mut forms, mut rounds, mut new) = (Vec::new(), 0, 0);
        loop {
            let began = Instant::now();
            let mut done = Vec::new();
            let options = self.requests.pull(deadline).since(since.clone());
            let target = target.clone().time_limit(remaining(deadline));
            let round = self.round(cx, &target, &options, &mut forms, &mut done, &mut new).await;
            if !self.watch {
                let mut left_out = LeftOut::default();
                for (form, summary) in &done {
                    listing.push(&report::item(form, summary));
                    left_out.add(&form.title, &summary.pull.left_out);
                }
                if !done.is_empty() {
                    cx.output.list_if_requested(&listing)?;
                }
                round?;
                return incomplete(&left_out);
            }
            match round {
                Err(error) if error.may_pass() => cx.progress.warn(&error.brief()),
                round => round?,
            }
            rounds += 1;
            let (all, stored) = (counted(rounds, "round"), counted(new, "new submission"));
            let end = format!("stopped after {all} with {stored}; the same command continues");
            let next = began + self.interval.unwrap_or(INTERVAL);
            if deadline.is_some_and(|deadline| deadline <= next) {
                cx.progress.remark(&end);
                return Ok(());
            }
            cx.shutdown.set_saved(end);
            sleep_until(next).await;
        }
    }

    /// Synchronizes all forms once, also after one has failed, and returns the first failure. `forms`
    /// are those that were found before; with `--all`, the forms are listed in each round. `new` counts the new
    /// submissions of the run.
    async fn round(
        &self,
        cx: &Context,
        target: &SyncTarget,
        options: &PullOptions,
        forms: &mut Vec<FormMatch>,
        done: &mut Vec<(FormMatch, SyncSummary)>,
        new: &mut u64,
    ) -> Result<(), CliError> {
        // Opened in each round, so that a lost connection does not end `--watch`.
        let store = open_store(cx, target).await?;
        let client = cx.client().await?;
        if self.all {
            (*forms, _) = form_ref::all(&cx.forms().await?);
        }
        for name in &self.forms[forms.len().min(self.forms.len())..] {
            forms.push(find_form(cx, client, &store, name).await?);
        }
        let mut first = None;
        for form in &*forms {
            let synced = sync_form(cx, client, &store, form, options, new).await;
            match synced.and_then(|summary| self.check_completeness(summary)) {
                Ok(summary) => {
                    if !self.watch || summary.pull.new + summary.pull.replaced > 0 {
                        let times = (cx.progress.elapsed(), cx.progress.waited());
                        cx.progress.remark(&report::describe(form, &summary, target, times));
                    }
                    report::remark_changes(cx, form, &summary.changes);
                    report::remark_log(cx, summary.log.as_deref());
                    done.push((form.clone(), summary));
                }
                Err(error) if error.exit == Exit::Incomplete => {
                    // No time is left for the other forms.
                    return Err(first.unwrap_or(error));
                }
                Err(error) if first.is_some() || (self.watch && error.may_pass()) => {
                    cx.progress.warn(&format!("{}: {}", form.title, error.brief()));
                }
                Err(error) => first = Some(error),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Returns the summary, or an error if submissions are left out and this is not allowed.
    fn check_completeness(&self, summary: SyncSummary) -> Result<SyncSummary, CliError> {
        let is_incomplete = summary.pull.completeness == Completeness::Incomplete;
        if is_incomplete && !self.requests.allow_incomplete {
            let hint = "`formsvc submissions sync verify` reads the whole list again, which completes the \
                        database after the service is corrected";
            incomplete(&summary.pull.left_out).map_err(|error| error.hint(hint))?;
        }
        Ok(summary)
    }
}

/// Synchronizes a form and shows its progress. Adds the new submissions to `new`, the number of those that the run has
/// stored, also if the form fails after some pages.
pub(super) async fn sync_form(
    cx: &Context,
    client: &Client,
    store: &SyncStore,
    form: &FormMatch,
    options: &PullOptions,
    new: &mut u64,
) -> Result<SyncSummary, CliError> {
    cx.progress.begin();
    let before = *new;
    let on_page = |page: PullProgress<'_>| {
        *new = before + page.new;
        if page.new > 0 {
            let new = counted(*new, "new submission");
            cx.shutdown.set_saved(format!("{new} stored; the same command continues"));
        }
        cx.progress.submissions(page.rows, None, page.reached.as_str());
    };
    let synced = store.sync(client, &form.id, form.listed.as_ref(), options, on_page).await;
    cx.progress.end();
    synced.map_err(|error| explain_stopped(error, *new, "continues"))
}
