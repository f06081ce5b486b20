//! `formsvc submissions tail`

mod backlog;
mod outage;
mod pass;
mod patience;

use std::time::Duration;

use clap::Args;
use formsvc_client::{
    Client, Error, Form, FormHandle, OnTieStorm, RequestOptions, ResumeToken, RetryPolicy,
    SubmissionId, SubmissionPages, Timestamp,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use super::list::FIELDS;
use super::{hint_name, range};
use crate::args::{OutputFormat, duration, whole};
use crate::context::{Context, to_json};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Stream;
use crate::settings::{Service, written};
use crate::when::{When, now};
use crate::{again, complete, form_ref, reader};
use backlog::Backlog;
use pass::{Pass, Seen, Verdict, Wanted};
use patience::Patience;

/// Rows of the first page of a pass, which is most often the only one.
const PAGE_FIRST: u32 = 25;

/// Show submissions as they are made, oldest first
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
        let client = cx.client().await?.with_options(patient)?;
        let ends_at = self.max_time.and_then(|time| Instant::now().checked_add(time));
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
            handle: client.form(form.id.clone()),
            form,
            interval,
            seen: Seen::nothing(since.as_ref().map(Timestamp::unix_micros)),
            backlog: Backlog::default(),
            asked: Asked { interval: self.interval, max_time: self.max_time },
            left: self.count,
            place: since.map(|since| Place { created_at: since, id: None }),
            newest: None,
            patience,
            is_stormy: false,
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

/// The form that is meant, however often the service has to be asked for it.
async fn known_form(
    cx: &Context,
    client: &Client,
    text: &str,
    patience: &mut Patience<'_>,
) -> Result<Form, CliError> {
    let forms = loop {
        match client.forms().await {
            Ok(forms) => break forms.into_inner(),
            Err(error) if outage::passes(&error) => patience.wait(&error).await,
            Err(error) => return Err(error.into()),
        }
    };
    patience.over();
    complete::cache::remember(&cx.settings, &forms);
    form_ref::told(cx, &forms, text)
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
    form: Form,
    handle: FormHandle,
    interval: Duration,
    seen: Seen,
    backlog: Backlog,
    asked: Asked,
    /// How many may still be shown.
    left: Option<u64>,
    /// Where to go on when this ends.
    place: Option<Place>,
    /// The newest there was at first.
    newest: Option<Place>,
    patience: Patience<'a>,
    /// Whether it was said that some may be missing.
    is_stormy: bool,
}

/// A place in the list: everything up to it was shown, or not wanted.
#[derive(Clone, Debug, Deserialize)]
struct Place {
    created_at: Timestamp,
    #[serde(deserialize_with = "some")]
    id: Option<SubmissionId>,
}

fn some<'de, D: serde::Deserializer<'de>>(id: D) -> Result<Option<SubmissionId>, D::Error> {
    SubmissionId::deserialize(id).map(Some)
}

/// What is said when the time is over while the service is not there.
const NO_ANSWER: &str = "the service did not answer before the time was over";

/// Why a pass ended before its time.
enum Broken {
    Service(Error),
    Here(CliError),
}

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
        let (mut pass, mut resume) = (Pass::new(wanted), None);
        loop {
            match self.walk(&mut pass, &mut resume).await {
                Ok(()) => break,
                Err(Broken::Service(error)) if outage::passes(&error) => {
                    self.patience.wait(&error).await;
                }
                Err(Broken::Service(error)) => return Err(self.resumable(error.into())),
                Err(Broken::Here(error)) => return Err(error),
            }
        }
        self.seen.settle();
        self.patience.over();
        while self.left != Some(0) {
            let Some(line) = self.backlog.pop().map_err(|error| unkept(&error))? else { break };
            self.show(line)?;
        }
        if self.place.is_none() {
            // Nothing was wanted of what there is: what comes later comes after the newest.
            self.place = self.newest.take();
            self.cx.can_go_on_with(self.go_on());
        }
        Ok(())
    }

    /// Walks from the newest row, or from where the last try ended, to the first that cannot be new.
    async fn walk(
        &mut self,
        pass: &mut Pass,
        resume: &mut Option<ResumeToken>,
    ) -> Result<(), Broken> {
        let mut is_first = resume.is_none();
        let mut pages = self.pages(if is_first { PAGE_FIRST } else { 100 }, resume.clone());
        loop {
            let next = pages.try_next().await;
            if !pages.tie_storms().is_empty() && !std::mem::replace(&mut self.is_stormy, true) {
                let what = "more submissions were made in one millisecond than the service can tell \
                    apart: some may be missing";
                self.cx.progress.remark(what);
            }
            let page = match next {
                Ok(Some(page)) => page,
                Ok(None) => return Ok(()),
                Err(error) => {
                    *resume = Some(pages.resume_token());
                    return Err(Broken::Service(error));
                }
            };
            for row in page.rows() {
                match pass.look(&mut self.seen, row.id(), row.unix_micros()) {
                    Verdict::Show => {
                        let line = to_json(&row.to_submission());
                        self.backlog.push(&line).map_err(|error| Broken::Here(unkept(&error)))?;
                    }
                    Verdict::Pass => {}
                    Verdict::Stop => return Ok(()),
                }
                self.newest.get_or_insert_with(|| {
                    let submission = row.to_submission();
                    Place { created_at: submission.created_at, id: Some(submission.id) }
                });
            }
            if std::mem::take(&mut is_first) {
                // There is more than usual: the rest in as few requests as can be.
                let token = pages.resume_token();
                if token.is_finished() {
                    return Ok(());
                }
                pages = self.pages(100, Some(token));
            }
        }
    }

    fn pages(&self, size: u32, resume: Option<ResumeToken>) -> SubmissionPages {
        let list = self.handle.submissions().page_size(size).tie_safe(true);
        let list = list.on_tie_storm(OnTieStorm::Report);
        match resume {
            Some(token) => list.resume_from(token).pages(),
            None => list.pages(),
        }
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
        let what = match (self.patience.is_tried(), self.left) {
            (true, _) => NO_ANSWER.to_owned(),
            (false, Some(left)) => format!("the time was over before {left} more came"),
            (false, None) => return Ok(()),
        };
        Err(self.resumable(CliError::new(Exit::Incomplete, what)))
    }
}

fn unkept(error: &std::io::Error) -> CliError {
    CliError::new(Exit::LocalIo, "cannot keep submissions until they are shown").because(error)
}
