//! `--poll`: deliveries for those whose machine the service cannot reach, made here of what its API has.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use formsvc_client::{Form, RequestOptions, RetryPolicy, Submission, SubmissionId};
use formsvc_contract::payload;
use formsvc_contract::send::{EVENT, SIGNATURE, USER_AGENT};
use formsvc_protocol::RetrySchedule;
use formsvc_protocol::signature::{SigningSecret, sign};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, sleep, timeout};

use crate::args::duration;
use crate::cmd::submissions::tail::finder::{Finder, known_form};
use crate::cmd::submissions::tail::outage;
use crate::cmd::submissions::tail::pass::Wanted;
use crate::cmd::submissions::tail::patience::Patience;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::{Service, written};
use crate::webhook::capture::{Capture, Source};
use crate::webhook::listen::answers::Refusal;
use crate::webhook::listen::engine::Engine;
use crate::webhook::listen::intake::{Incoming, Intake};
use crate::webhook::listen::mark::{Mark, Spot};
use crate::webhook::replay::now;
use crate::webhook::secrets::Secrets;

/// How often the service is asked, unless its rate limit or a flag says less.
const INTERVAL: Duration = Duration::from_secs(5);
/// Deliveries under way, those included that wait for another attempt.
const UNDER_WAY_MAX: usize = 16;
/// Time to remember what was answered, once the listener has ended.
const GRACE: Duration = Duration::from_millis(250);
/// Pause where the listener has as many deliveries as it takes.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// What marks a delivery that was made here. Its value says how.
const SYNTHETIC: HeaderName = HeaderName::from_static("x-formsvc-synthetic");

/// What is polled.
#[derive(Debug, Default, Args)]
pub(crate) struct PollArgs {
    /// Make deliveries of the new submissions of this form, which are read from the service's API: for a
    /// machine that the service cannot reach. They are marked: X-Formsvc-Synthetic: poll
    #[arg(long, value_name = "FORM", help_heading = POLLING)]
    poll: Option<String>,
    /// How often to ask [default: 5s, or less often as `--max-rate` says]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "poll", help_heading = POLLING)]
    poll_interval: Option<Duration>,
}

const POLLING: &str = "Polling";

/// Polls a form.
pub(super) struct Poller<'a> {
    pub(super) cx: &'a Context,
    pub(super) args: &'a PollArgs,
    pub(super) intake: Intake,
    pub(super) engine: &'a Engine,
    pub(super) secrets: &'a Secrets,
    /// When an attempt that failed is repeated.
    pub(super) schedule: RetrySchedule,
    /// The path that deliveries come to.
    pub(super) path: &'a str,
}

/// A delivery that is made here.
#[derive(Clone)]
struct Delivery {
    spot: Spot,
    body: bytes::Bytes,
}

/// How a delivery ended.
enum End {
    /// It was answered with 2xx, or failed for good.
    Done(SubmissionId),
    /// The listener takes none any more.
    Stopping,
}

impl Poller<'_> {
    /// Polls, if that is asked for, while a listener runs; what ends either ends both.
    pub(super) async fn beside(
        self,
        session: impl Future<Output = Result<(), CliError>>,
    ) -> Result<(), CliError> {
        let Some(name) = &self.args.poll else { return session.await };
        let (mut session, stopped) = (std::pin::pin!(session), Notify::new());
        let mut poller = std::pin::pin!(self.run(name, &stopped));
        tokio::select! {
            ended = &mut session => {
                // What was answered is remembered, or it would come again with the next run.
                stopped.notify_one();
                let remembered = timeout(2 * GRACE, poller).await.unwrap_or(Ok(()));
                ended.and(remembered)
            }
            ended = &mut poller => {
                // The listener ends as it would by itself: what is under way is finished, and summed up.
                self.cx.ends_by_itself(Exit::Failed);
                session.await?;
                ended
            }
        }
    }

    /// Polls until the service says that it never will.
    async fn run(&self, name: &str, stopped: &Notify) -> Result<(), CliError> {
        let secrets: Vec<SigningSecret> = self
            .secrets
            .clone()
            .required("`--poll`, to sign what it makes,")?
            .all_signing()
            .collect();
        let cx = self.cx;
        let usual = outage::interval(cx.settings.max_rate).max(INTERVAL);
        let interval = self.args.poll_interval.unwrap_or(usual);
        // Waits are made here, where it is known that nobody minds them.
        let patient = RequestOptions::new().retry(RetryPolicy::none());
        let client = cx.client().await?.with_options(patient)?;
        let mut patience = Patience::new(cx, interval);
        let form = known_form(cx, &client, name, &mut patience).await?;
        let mark = self.mark(&form)?;
        self.say(&form, &mark, interval);
        let since = mark.up_to().map(|spot| &spot.created_at);
        let finder = Finder::new(cx, client.form(form.id.clone()), since, patience);
        let first = match mark.up_to() {
            Some(spot) => Wanted::After(spot.id.as_str().into()),
            None if mark.is_known() => Wanted::All,
            None => Wanted::Newest(0),
        };
        // No place in it: what was found waits at the finder, which may keep it on the disk.
        let (found, deliveries) = mpsc::channel(1);
        let (begun, begins) = mpsc::channel(1);
        let found = find(finder, &form, first, interval, begun, found);
        let deliver = self.deliver(&secrets, mark, begins, deliveries, stopped);
        tokio::select! {
            ended = found => ended,
            ended = deliver => ended,
        }
    }

    /// Where it was. A service of this run alone is not remembered.
    fn mark(&self, form: &Form) -> Result<Mark, CliError> {
        let settings = &self.cx.settings;
        match (&settings.service, &settings.paths.state) {
            (Service::At { base_url: Some(base_url), .. }, Some(folder)) => {
                // An address is the same with a slash at its end.
                Mark::open(folder, base_url.trim_end_matches('/'), form.id.as_str())
            }
            (Service::Demo, _) => Ok(Mark::forgotten()),
            _ => {
                let what = "there is no home folder: `--poll` begins anew with each run";
                self.cx.progress.remark(what);
                Ok(Mark::forgotten())
            }
        }
    }

    fn say(&self, form: &Form, mark: &Mark, interval: Duration) {
        let from = match mark.up_to() {
            Some(spot) => format!("goes on after {}", spot.created_at.as_str()),
            None if mark.is_known() => "goes on with the first submission".to_owned(),
            None => "begins with what is new from now on".to_owned(),
        };
        let (title, every) = (&form.title, written(interval));
        let what = format!(
            "polls `{title}` every {every}, {from}; these deliveries are made here, and marked \
             X-Formsvc-Synthetic: poll"
        );
        self.cx.progress.remark(&what);
    }

    /// Hands over what was found, some at once; remembers each that is done.
    async fn deliver(
        &self,
        secrets: &[SigningSecret],
        mut mark: Mark,
        mut begins: mpsc::Receiver<Option<Spot>>,
        mut deliveries: mpsc::Receiver<Delivery>,
        stopped: &Notify,
    ) -> Result<(), CliError> {
        let mut under_way = FuturesUnordered::new();
        let (mut is_stopped, mut grace) = (false, std::pin::pin!(sleep(Duration::MAX)));
        loop {
            tokio::select! {
                Some(newest) = begins.recv() => {
                    if !mark.is_known() {
                        mark.begin_at(newest)?;
                    }
                }
                () = stopped.notified(), if !is_stopped => {
                    if under_way.is_empty() {
                        return Ok(());
                    }
                    is_stopped = true;
                    grace.as_mut().reset(Instant::now() + GRACE);
                }
                // Those that are left wait for another attempt.
                () = &mut grace => return Ok(()),
                Some(delivery) = deliveries.recv(), if !is_stopped && under_way.len() < UNDER_WAY_MAX => {
                    if mark.begin(delivery.spot.clone()) {
                        under_way.push(self.attempts(secrets, delivery));
                    }
                }
                Some(ended) = under_way.next() => match ended? {
                    End::Done(id) => {
                        mark.done(&id)?;
                        if is_stopped && under_way.is_empty() {
                            return Ok(());
                        }
                    }
                    // Whoever told it so ends this, too.
                    End::Stopping => {}
                },
                else => return Ok(()),
            }
        }
    }

    /// Attempts a delivery as the service would, which does not know of this one.
    async fn attempts(
        &self,
        secrets: &[SigningSecret],
        delivery: Delivery,
    ) -> Result<End, CliError> {
        let mut retry = 0;
        loop {
            let capture = match self.attempt(secrets, &delivery).await? {
                Ok(capture) => capture,
                Err(Refusal::Stopping) => return Ok(End::Stopping),
                Err(_) => {
                    sleep(BUSY_PAUSE).await;
                    continue;
                }
            };
            let status = capture.outcome.as_ref().and_then(|outcome| outcome.status);
            let is_success = status.is_some_and(|status| (200..300).contains(&status));
            if is_success || retry == self.schedule.retries {
                return Ok(End::Done(delivery.spot.id));
            }
            retry += 1;
            sleep(self.schedule.pause(retry, fastrand::f64(), None)).await;
        }
    }

    /// One attempt, signed now; on the listener's threads, as any other.
    async fn attempt(
        &self,
        secrets: &[SigningSecret],
        delivery: &Delivery,
    ) -> Result<Result<Arc<Capture>, Refusal>, CliError> {
        let signature = HeaderValue::try_from(sign(secrets, now(), &delivery.body));
        let constant = HeaderValue::from_static;
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, constant("application/json")),
            (header::USER_AGENT, constant(USER_AGENT)),
            (EVENT, constant("submission.created")),
            (SIGNATURE, signature.expect("digits and hex digits are a header")),
            (SYNTHETIC, constant("poll")),
        ]);
        let incoming = Incoming {
            source: Source::Poll,
            method: Method::POST,
            request_target: self.path.to_owned(),
            headers,
            body: delivery.body.clone(),
        };
        let intake = self.intake.clone();
        let attempt = self.engine.within(|| tokio::spawn(intake.give(incoming)));
        attempt.await.map_err(|error| {
            CliError::new(Exit::Failed, "a delivery ended before its answer").because(&error)
        })
    }
}

/// Finds what is new, again and again, however long the service is away.
async fn find(
    mut finder: Finder<'_>,
    form: &Form,
    first: Wanted,
    interval: Duration,
    begun: mpsc::Sender<Option<Spot>>,
    found: mpsc::Sender<Delivery>,
) -> Result<(), CliError> {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut wanted, mut begun) = (Some(first), Some(begun));
    loop {
        ticks.tick().await;
        finder.pass(wanted.take().unwrap_or(Wanted::All)).await?;
        let newest = finder
            .take_newest()
            .and_then(|place| place.id.map(|id| Spot { created_at: place.created_at, id }));
        if let Some(begun) = begun.take() {
            // Fails only where nobody delivers any more, who ends this as well.
            let _ = begun.send(newest).await;
        }
        while let Some(line) = finder.next()? {
            let submission: Submission = serde_json::from_str(&line).map_err(|error| {
                CliError::new(Exit::Failed, "a submission was not kept as it was").because(&error)
            })?;
            let spot =
                Spot { created_at: submission.created_at.clone(), id: submission.id.clone() };
            let event = payload::of_submission(submission, form.id.clone(), &form.title);
            let _ = found.send(Delivery { spot, body: payload::body(&event) }).await;
        }
    }
}
