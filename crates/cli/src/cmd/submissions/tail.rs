//! `formsvc submissions tail`

use std::time::Duration;

use clap::Args;
use formsvc_client::list::Follow;
use formsvc_client::{RequestOptions, RetryPolicy, Submission, SubmissionId, Timestamp};

use super::list::FIELDS;
use super::range::place;
use crate::base::stdin;
use crate::base::when::{When, now};
use crate::context::{Context, wait_until};
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::output::{OutputFormat, Stream};
use crate::settings::Service;
use crate::settings::args::{Rate, duration, format_duration, whole};
use crate::settings::repeat_command::CommandLine;

/// Shortest default interval between two requests for new submissions.
const INTERVAL_MIN: Duration = Duration::from_secs(2);

/// Print new submissions as they arrive, oldest first
///
/// Starts with the newest existing submissions, or those since a time. Then prints each new one once, until
/// Ctrl-C. In a pipe, a line is a JSON object, written at once; on a terminal, it has the local time, the id
/// if it fits, and the answers. If the service cannot be reached or is busy later, the command retries and
/// loses nothing. `--jq` and `--template` get each submission separately; if they fail, a warning names the
/// submission.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions tail penguins -n 3 --count 3\n  formsvc --demo submissions tail anes96 --count 2 --jq .id\n  formsvc submissions tail contact --since 2h --interval 10s"
)]
pub(crate) struct Tail {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// Start with the newest N submissions
    #[arg(
        short = 'n',
        long = "last",
        value_name = "N",
        default_value_t = 10,
        value_parser = whole::<u64>(0..=u64::MAX),
        conflicts_with = "since"
    )]
    last: u64,
    /// Start with all submissions made at this time or later: 2026-03-01T09:30:00Z, 2026-03-01, yesterday,
    /// or 7d or 2h ago
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// With `--since`: only submissions that were made after this one
    #[arg(long, value_name = "ID", requires = "since")]
    after: Option<SubmissionId>,
    /// Time between two requests [default: 2s, or longer with a low `--max-rate`]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    interval: Option<Duration>,
    /// Stop after N submissions
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
}

impl Tail {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let stream = output.stream(&FIELDS)?;
        let since = place(cx, "--since", self.since.as_ref(), &now())?;
        // The follower retries by itself, and reports an outage only once.
        let no_retry = RequestOptions::new().retry(RetryPolicy::none());
        let deadline = cx.deadline(self.max_time);
        let interval = self.interval.unwrap_or_else(|| default_interval(cx.settings.max_rate));
        let start = async {
            let form = form_ref::resolve(cx, &self.form).await?;
            let client = cx.client().await?;
            // Without older submissions to print, the list continues after the newest submission, and the command
            // that continues after an interruption loses none.
            let newest = if self.last == 0 && since.is_none() {
                let list = client.form(&form.id).submissions().page_size(1);
                let newest = list.allow_incomplete(true).items().try_next().await?;
                Some(newest.as_ref().map_or_else(ListPosition::start, ListPosition::after))
            } else {
                None
            };
            let handle = client.with_options(no_retry)?.form(&form.id);
            Ok::<_, CliError>((form, handle, newest))
        };
        let (form, handle, newest) = tokio::select! {
            start = start => start?,
            () = stdin::gone() => return Ok(()),
            () = wait_until(deadline) => return Err(CliError::new(Exit::Incomplete, NO_RESPONSE)),
        };
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let query = handle.follow().interval(interval);
        let after = self.after.clone();
        let position = since.map(|since| ListPosition { created_at: since, id: after }).or(newest);
        let query = match &position {
            Some(ListPosition { created_at, id: Some(id) }) => query.after(created_at, id),
            Some(ListPosition { created_at, id: None }) => query.since(created_at),
            None => query.last(self.last),
        };
        let mut follower = Follower {
            cx,
            stream,
            items: query.items(),
            form,
            remaining: self.count,
            position,
            args: self,
        };
        cx.shutdown.set_continuation(follower.command());
        tokio::select! {
            ended = follower.follow() => ended,
            // The reader of the output has closed it.
            () = stdin::gone() => Ok(()),
            () = wait_until(deadline) => follower.end_of_time(),
        }
    }
}

/// Returns the default interval: 2 s, or the time of two requests at the rate of `--max-rate`, which leaves
/// requests for other programs with the same key.
pub(in crate::cmd) fn default_interval(max_rate: Option<Rate>) -> Duration {
    match max_rate {
        Some(Rate::PerMinute(rate)) => (Duration::from_secs(120) / rate.get()).max(INTERVAL_MIN),
        Some(Rate::Off) | None => INTERVAL_MIN,
    }
}

/// A position in the list: all submissions up to it were printed or skipped.
struct ListPosition {
    created_at: Timestamp,
    id: Option<SubmissionId>,
}

impl ListPosition {
    /// Returns the position before all submissions.
    fn start() -> Self {
        Self { created_at: "1970-01-01T00:00:00Z".parse().expect("it is a time"), id: None }
    }

    fn after(submission: &Submission) -> Self {
        Self { created_at: submission.created_at.clone(), id: Some(submission.id.clone()) }
    }
}

/// Prints the submissions of a form as they arrive.
struct Follower<'a> {
    cx: &'a Context,
    args: Tail,
    stream: Stream<'a>,
    form: FormMatch,
    items: Follow,
    /// Number of submissions to print until the end.
    remaining: Option<u64>,
    position: Option<ListPosition>,
}

/// The error if the time limit ends during an outage.
const NO_RESPONSE: &str = "the service did not respond within the time limit";

impl Follower<'_> {
    async fn follow(&mut self) -> Result<(), CliError> {
        while self.remaining != Some(0) {
            match self.items.try_next().await {
                Ok(Some(submission)) => self.print(&submission)?,
                Ok(None) => break,
                Err(error) => return Err(CliError::from(error).continued_by(self.command())),
            }
        }
        Ok(())
    }

    fn print(&mut self, submission: &Submission) -> Result<(), CliError> {
        let item = format!("submission {}", submission.id);
        self.stream
            .show(submission)
            .or_else(|error| self.cx.progress.warn_of_item(&item, error))?;
        self.remaining = self.remaining.map(|remaining| remaining - 1);
        // A submission that was committed late is older than the one before it.
        if self.position.as_ref().is_none_or(|known| known.created_at <= submission.created_at) {
            self.position = Some(ListPosition::after(submission));
        }
        self.cx.shutdown.set_continuation(self.command());
        Ok(())
    }

    /// Returns the command that prints the following submissions; `None` for a service that ends with this
    /// command.
    fn command(&self) -> Option<String> {
        let (position, settings) = (self.position.as_ref()?, &self.cx.settings);
        if matches!(settings.service, Service::Demo) {
            return None;
        }
        let mut line = CommandLine::new(settings, &["submissions", "tail", self.form.name()]);
        line.flag("--since", position.created_at.as_str());
        line.maybe("--after", position.id.as_ref().map(SubmissionId::as_str));
        line.maybe("--interval", self.args.interval.map(format_duration).as_deref());
        line.maybe("--count", self.remaining.map(|count| count.to_string()).as_deref());
        line.maybe("--max-time", self.args.max_time.map(format_duration).as_deref());
        line.shown()
    }

    /// Returns the result at the end of `--max-time`.
    fn end_of_time(&self) -> Result<(), CliError> {
        let what = match (self.items.is_interrupted(), self.remaining) {
            (true, _) => NO_RESPONSE.to_owned(),
            (false, Some(count)) => format!("the time limit ended before {count} more arrived"),
            (false, None) => return Ok(()),
        };
        Err(CliError::new(Exit::Incomplete, what).continued_by(self.command()))
    }
}
