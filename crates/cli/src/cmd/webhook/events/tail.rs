//! `formsvc webhook events tail`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, MissedTickBehavior};

use crate::args::{OutputFormat, duration, whole};
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Look, Stream};
use crate::reader;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::columns::{Column, Columns};
use crate::webhook::kept::{FilterArgs, WHOLE_FIELDS, captures, nothing, whole_json};
use crate::webhook::store::{Captures, Query};
use crate::webhook::tone::Tone;
use crate::webhook::verdict::VERDICTS;
use crate::when::zone;

/// How often the store is looked at.
const EVERY: Duration = Duration::from_millis(150);
/// How long a delivery may be without an answer, before it is shown without one: longer than any target
/// has to answer.
const UNANSWERED: Duration = Duration::from_secs(15);

/// Print deliveries as the listeners on this machine record them
///
/// First the newest ones there are, then each new one once it is answered, until Ctrl-C. In a pipe it is
/// one JSON object a line, written at once, with the body and the answers.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events tail --count 3\n  formsvc --demo webhook events tail --count 2 --verdict invalid\n  formsvc webhook events tail --status failed"
)]
pub(crate) struct Tail {
    #[command(flatten)]
    filter: FilterArgs,
    /// How many of those that are there come first
    #[arg(short = 'n', long = "last", value_name = "N", default_value_t = 10, value_parser = whole::<usize>(0..=u32::MAX.into()))]
    last: usize,
    /// End after so many
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// End after so long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Show signatures and secrets whole; whoever has them can replay the delivery
    #[arg(long)]
    reveal: bool,
}

impl Tail {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let show = if output.is_for_reading() {
            Show::Lines(Columns::new(output.live()?, columns()))
        } else {
            Show::Items(output.stream(WHOLE_FIELDS)?)
        };
        let query = self.filter.query(cx)?;
        let ends = cx.deadline(self.max_time);
        if cx.settings.terminal.stdout {
            cx.progress.share_terminal();
        }
        let mut follower = Follower {
            cx,
            show,
            query,
            captures: None,
            seen: None,
            waiting: BTreeMap::new(),
            left: self.count,
            reveal: self.reveal,
        };
        tokio::select! {
            ended = follower.follow(self.last) => ended,
            // Nobody reads: whoever did has what they wanted.
            () = reader::gone() => Ok(()),
            () = passed(ends) => Ok(()),
        }
    }
}

async fn passed(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// How deliveries are shown.
enum Show<'a> {
    Lines(Columns<'a>),
    Items(Stream<'a>),
}

fn columns() -> Vec<Column> {
    let verdict = VERDICTS.iter().map(|row| row.name.len()).max().unwrap_or_default();
    vec![
        Column::numbers("CAPTURE", 1),
        Column::text("AT", 19, 19),
        Column::text("VERDICT", 17, verdict),
        Column::text("STATUS", 6, 6),
        Column::numbers("ATTEMPT", 1),
        Column::ids("SUBMISSION_ID").or_below(),
    ]
}

fn line(columns: &Columns<'_>, capture: &Capture) -> Result<(), CliError> {
    let received = &*capture.received;
    let (status, verdict) =
        (capture.outcome.as_ref().and_then(|outcome| outcome.status), received.verdict.code.row());
    let at = received.at.to_zoned(zone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    columns.tell(&[
        (Look::Heading, &capture.number.map_or(String::new(), |number| number.to_string())),
        (Look::Past, &at),
        (verdict.tone.look(), verdict.name),
        (
            Tone::of_status(status).look(),
            &status.map_or("-".to_owned(), |status| status.to_string()),
        ),
        (Look::Plain, &received.arrival.number.to_string()),
        (Look::Plain, received.submission_id.as_deref().unwrap_or_default()),
    ])
}

/// Follows the store.
struct Follower<'a> {
    cx: &'a Context,
    show: Show<'a>,
    query: Query,
    /// None until somebody keeps something.
    captures: Option<Captures>,
    /// The highest number that was looked at; none before the first look.
    seen: Option<CaptureNumber>,
    /// Those that were not answered when they were seen, and since when.
    waiting: BTreeMap<CaptureNumber, Instant>,
    left: Option<u64>,
    reveal: bool,
}

impl Follower<'_> {
    async fn follow(&mut self, last: usize) -> Result<(), CliError> {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        loop {
            ticks.tick().await;
            if self.captures.is_none() {
                self.captures = captures(self.cx).await?;
            }
            let Some(captures) = self.captures.clone() else {
                // All that will be there is new.
                self.seen = Some(0);
                if !std::mem::replace(&mut told, true) {
                    self.cx.progress.remark(&nothing(self.cx));
                }
                continue;
            };
            self.look(&captures, last).await?;
            if self.left == Some(0) {
                return Ok(());
            }
        }
    }

    /// Shows what is new, and what was answered meanwhile.
    async fn look(&mut self, captures: &Captures, last: usize) -> Result<(), CliError> {
        let newest = Query { limit: Some(1), ..Query::default() };
        let newest = captures.list(newest).await?.first().and_then(|newest| newest.number);
        let newest = newest.unwrap_or(0);
        let mut new = match self.seen {
            None => {
                let query = Query { limit: Some(last), ..self.query.clone() };
                captures.list(query).await?
            }
            Some(seen) if seen < newest => {
                // What an answer decides is decided once there is one.
                let query = Query {
                    after: Some(seen),
                    before: newest.checked_add(1),
                    status: None,
                    ..self.query.clone()
                };
                captures.list(query).await?
            }
            Some(_) => Vec::new(),
        };
        self.seen = Some(newest.max(self.seen.unwrap_or(0)));
        new.reverse();
        let now = Instant::now();
        self.waiting.extend(new.iter().filter_map(|new| Some((new.number?, now))));
        let numbers: Vec<_> = self.waiting.keys().copied().collect();
        for number in numbers {
            self.show_answered(captures, number, now).await?;
            if self.left == Some(0) {
                break;
            }
        }
        Ok(())
    }

    async fn show_answered(
        &mut self,
        captures: &Captures,
        number: CaptureNumber,
        now: Instant,
    ) -> Result<(), CliError> {
        let Some(capture) = captures.get(number).await? else {
            self.waiting.remove(&number);
            return Ok(());
        };
        let since = self.waiting.get(&number).copied().unwrap_or(now);
        if capture.outcome.is_none() && now.duration_since(since) < UNANSWERED {
            return Ok(());
        }
        self.waiting.remove(&number);
        let status = capture.outcome.as_ref().and_then(|outcome| outcome.status);
        if self.query.status.is_some_and(|wanted| !wanted.has(status)) {
            return Ok(());
        }
        match &self.show {
            Show::Lines(columns) => line(columns, &capture)?,
            Show::Items(stream) => stream.show(&whole_json(&capture, self.reveal))?,
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }
}
