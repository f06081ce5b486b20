//! `formsvc submissions tail`

pub(in crate::cmd) mod lookup;
pub(in crate::cmd) mod patience;

use std::time::Duration;

use clap::Args;
use formsvc_client::list::Follow;
use formsvc_client::{RequestOptions, RetryPolicy, Submission, SubmissionId, Timestamp};
use tokio::time::{Instant, sleep_until};

use super::list::FIELDS;
use super::{hint_name, range};
use crate::base::stdin;
use crate::base::when::{When, now};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::FormMatch;
use crate::output::OutputFormat;
use crate::output::Stream;
use crate::settings::args::{duration, whole};
use crate::settings::repeat_command;
use crate::settings::{Service, written};
use lookup::{known_form, newest};
use patience::Patience;

/// Print new submissions as they arrive, oldest first
///
/// First the newest ones there are, or those since a time; then each new one, once, until Ctrl-C. In a
/// pipe it is one JSON object a line, written at once; on a terminal the time on the clock here, the id if
/// there is room, and the answers. A service that cannot be reached or is busy is
/// asked again until it answers, also at the start, and nothing is lost meanwhile. `--jq` and
/// `--template` see each submission by itself, as it comes.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions tail penguins -n 3 --count 3\n  formsvc --demo submissions tail anes96 --count 2 --jq .id\n  formsvc submissions tail contact --since 2h --interval 10s"
)]
pub(crate) struct Tail {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// How many of those that are there come first
    #[arg(
        short = 'n',
        long = "last",
        value_name = "N",
        default_value_t = 10,
        value_parser = whole::<u64>(0..=u64::MAX),
        conflicts_with = "since"
    )]
    last: u64,
    /// First all that were made at this time or later: 2026-03-01T09:30:00Z, 2026-03-01, yesterday, or 7d
    /// or 2h ago
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// With `--since`, only those that came after this one
    #[arg(long, value_name = "ID", requires = "since")]
    after: Option<SubmissionId>,
    /// How often to ask [default: 2s, or less often as `--max-rate` says]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    interval: Option<Duration>,
    /// End after so many submissions
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// End after so long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
}

impl Tail {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let stream = output.stream(&FIELDS)?;
        if stream.has_clock() {
            cx.check_zone();
        }
        let since = range::place(cx, "--since", self.since.as_ref(), &now())?;
        // The follow retries, and reports an outage only once.
        let patient = RequestOptions::new().retry(RetryPolicy::none());
        let ends_at = cx.deadline(self.max_time);
        let client = cx.until(ends_at, cx.client()).await?.with_options(patient)?;
        let interval = self.interval.unwrap_or_else(|| patience::interval(cx.settings.max_rate));
        let patience = Patience::new(cx, interval);
        let start = async {
            let form = known_form(cx, &client, &self.form, &patience).await?;
            let handle = client.form(&form.id);
            // Submissions that are made from now on come after the newest one.
            let is_from_now = self.last == 0 && since.is_none();
            let newest = if is_from_now { newest(&handle, &patience).await? } else { None };
            Ok::<_, CliError>((form, handle, newest.as_ref().map(Place::after)))
        };
        let (form, handle, newest) = tokio::select! {
            start = start => start?,
            () = stdin::gone() => return Ok(()),
            () = passed(ends_at) => return Err(CliError::new(Exit::Incomplete, NO_ANSWER)),
        };
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let query = handle.follow().interval(interval);
        let query = match (&since, &self.after, &newest) {
            (Some(since), Some(id), _) => query.after(since, id),
            (Some(since), None, _) => query.since(since),
            (None, _, Some(Place { created_at, id: Some(id) })) => query.after(created_at, id),
            (None, ..) => query.last(self.last),
        };
        let mut follower = Follower {
            cx,
            stream,
            items: query.items(),
            form,
            asked: Asked { interval: self.interval, max_time: self.max_time },
            left: self.count,
            place: since.map(|since| Place { created_at: since, id: None }).or(newest),
        };
        cx.shutdown.set_continuation(follower.go_on());
        tokio::select! {
            ended = follower.follow() => ended,
            // The reader of the output has what it wanted.
            () = stdin::gone() => Ok(()),
            () = passed(ends_at) => follower.time_is_up(),
        }
    }
}

/// A place in the list: everything up to it was shown, or not wanted.
struct Place {
    created_at: Timestamp,
    id: Option<SubmissionId>,
}

impl Place {
    fn after(submission: &Submission) -> Self {
        Self { created_at: submission.created_at.clone(), id: Some(submission.id.clone()) }
    }
}

async fn passed(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Flags as they were given, which the command that goes on has as well.
struct Asked {
    interval: Option<Duration>,
    max_time: Option<Duration>,
}

/// Follows a form.
struct Follower<'a> {
    cx: &'a Context,
    stream: Stream<'a>,
    form: FormMatch,
    items: Follow,
    asked: Asked,
    /// How many may still be shown.
    left: Option<u64>,
    /// Where to go on when this ends.
    place: Option<Place>,
}

/// What is said when the time is over while the service is not there.
const NO_ANSWER: &str = "the service did not answer before the time was over";

impl Follower<'_> {
    async fn follow(&mut self) -> Result<(), CliError> {
        while self.left != Some(0) {
            match self.items.try_next().await {
                Ok(Some(submission)) => self.show(&submission)?,
                Ok(None) => break,
                Err(error) => return Err(self.resumable(error.into())),
            }
        }
        Ok(())
    }

    fn show(&mut self, submission: &Submission) -> Result<(), CliError> {
        self.stream.show(submission)?;
        self.left = self.left.map(|left| left - 1);
        // A submission that was committed late is older than the one before it.
        if self.place.as_ref().is_none_or(|known| known.created_at <= submission.created_at) {
            self.place = Some(Place::after(submission));
        }
        self.cx.shutdown.set_continuation(self.go_on());
        Ok(())
    }

    /// The command that shows what comes after. There is none for a service that ends with this.
    fn go_on(&self) -> Option<String> {
        let (place, settings) = (self.place.as_ref()?, &self.cx.settings);
        if matches!(settings.service, Service::Demo) {
            return None;
        }
        let command = ["submissions", "tail", hint_name(&self.form)];
        let mut line = repeat_command::Line::of(settings, &command);
        line.flag("--since", place.created_at.as_str());
        line.maybe("--after", place.id.as_ref().map(SubmissionId::as_str));
        line.maybe("--interval", self.asked.interval.map(written).as_deref());
        line.maybe("--count", self.left.map(|left| left.to_string()).as_deref());
        line.maybe("--max-time", self.asked.max_time.map(written).as_deref());
        line.shown()
    }

    fn resumable(&self, error: CliError) -> CliError {
        match self.go_on() {
            Some(command) => error.resumed_by(command),
            None => error,
        }
    }

    /// The time of `--max-time` is over.
    fn time_is_up(&self) -> Result<(), CliError> {
        let what = match (self.items.is_interrupted(), self.left) {
            (true, _) => NO_ANSWER.to_owned(),
            (false, Some(left)) => format!("the time was over before {left} more came"),
            (false, None) => return Ok(()),
        };
        Err(self.resumable(CliError::new(Exit::Incomplete, what)))
    }
}
