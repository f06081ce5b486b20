//! `formsvc submissions tail`

mod backlog;
pub(in crate::cmd) mod finder;
pub(in crate::cmd) mod outage;
pub(in crate::cmd) mod pass;
pub(in crate::cmd) mod patience;

use std::time::Duration;

use clap::Args;
use formsvc_client::{RequestOptions, RetryPolicy, SubmissionId};
use serde_json::value::RawValue;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use super::list::FIELDS;
use super::{hint_name, range};
use crate::args::{OutputFormat, duration, whole};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::FormMatch;
use crate::output::Stream;
use crate::settings::{Service, written};
use crate::when::{When, now};
use crate::{again, reader};
use finder::{Broken, Finder, Place, known_form};
use pass::Wanted;
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
            cx.zone_is_used();
        }
        let since = range::place(cx, "--since", self.since.as_ref(), &now())?;
        // Waits are made here, where it is known that nobody minds them.
        let patient = RequestOptions::new().retry(RetryPolicy::none());
        let ends_at = cx.deadline(self.max_time);
        let client = cx.until(ends_at, cx.client()).await?.with_options(patient)?;
        let interval = self.interval.unwrap_or_else(|| outage::interval(cx.settings.max_rate));
        let mut patience = Patience::new(cx, interval);
        let form = tokio::select! {
            form = known_form(cx, &client, &self.form, &mut patience) => form?,
            () = reader::gone() => return Ok(()),
            () = passed(ends_at) => return Err(CliError::new(Exit::Incomplete, NO_ANSWER)),
        };
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let mut follower = Follower {
            cx,
            stream,
            finder: Finder::new(cx, client.form(form.id.clone()), since.as_ref(), patience),
            form,
            interval,
            asked: Asked { interval: self.interval, max_time: self.max_time },
            left: self.count,
            place: since.map(|since| Place { created_at: since, id: None }),
        };
        let wanted = match (&self.since, self.after) {
            (Some(_), Some(id)) => Wanted::After(id.as_str().into()),
            (Some(_), None) => Wanted::All,
            (None, _) => Wanted::Newest(self.last),
        };
        tokio::select! {
            ended = follower.follow(wanted) => ended,
            // Nobody reads: whoever did has what they wanted.
            () = reader::gone() => Ok(()),
            () = passed(ends_at) => follower.time_is_up(),
        }
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
    finder: Finder<'a>,
    interval: Duration,
    asked: Asked,
    /// How many may still be shown.
    left: Option<u64>,
    /// Where to go on when this ends.
    place: Option<Place>,
}

/// What is said when the time is over while the service is not there.
const NO_ANSWER: &str = "the service did not answer before the time was over";

impl Follower<'_> {
    async fn follow(&mut self, wanted: Wanted) -> Result<(), CliError> {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut wanted = Some(wanted);
        loop {
            ticks.tick().await;
            self.pass(wanted.take().unwrap_or(Wanted::All)).await?;
            if self.left == Some(0) {
                return Ok(());
            }
        }
    }

    /// Finds what is new, however often that takes a new try, and shows it.
    async fn pass(&mut self, wanted: Wanted) -> Result<(), CliError> {
        let found = self.finder.pass(wanted).await;
        found.map_err(|broken| match broken {
            Broken::Service(error) => self.resumable(error.into()),
            Broken::Here(error) => error,
        })?;
        while self.left != Some(0) {
            let Some(line) = self.finder.next()? else { break };
            self.show(line)?;
        }
        if self.place.is_none() {
            // Nothing was wanted of what there is: what comes later comes after the newest.
            self.place = self.finder.take_newest();
            self.cx.can_go_on_with(self.go_on());
        }
        Ok(())
    }

    fn show(&mut self, line: String) -> Result<(), CliError> {
        let place = serde_json::from_str::<Place>(&line);
        let item = RawValue::from_string(line);
        let (Ok(place), Ok(item)) = (place, item) else {
            return Err(CliError::new(Exit::Failed, "a submission was not kept as it was"));
        };
        self.stream.show(&item)?;
        self.left = self.left.map(|left| left - 1);
        // One that turned up late is older than what was shown before it.
        if self.place.as_ref().is_none_or(|known| known.created_at <= place.created_at) {
            self.place = Some(place);
        }
        self.cx.can_go_on_with(self.go_on());
        Ok(())
    }

    /// The command that shows what comes after. There is none for a service that ends with this.
    fn go_on(&self) -> Option<String> {
        let (place, settings) = (self.place.as_ref()?, &self.cx.settings);
        if matches!(settings.service, Service::Demo) {
            return None;
        }
        let command = ["submissions", "tail", hint_name(&self.form)];
        let mut line = again::Line::of(settings, &command);
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
        let what = match (self.finder.is_tried(), self.left) {
            (true, _) => NO_ANSWER.to_owned(),
            (false, Some(left)) => format!("the time was over before {left} more came"),
            (false, None) => return Ok(()),
        };
        Err(self.resumable(CliError::new(Exit::Incomplete, what)))
    }
}
