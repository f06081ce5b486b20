//! `--poll`: deliveries for those whose machine the service cannot reach, made here of what its API has.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use formsvc_client::list::Follow;
use formsvc_client::{Client, RequestOptions, RetryPolicy, SubmissionId, SyncPoint};
use formsvc_contract::payload;
use formsvc_contract::send::{EVENT, SIGNATURE, USER_AGENT};
use formsvc_protocol::RetrySchedule;
use formsvc_protocol::signature::{SigningSecret, sign};
use futures_util::future::{FusedFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};

use crate::args::duration;
use crate::cmd::submissions::tail::lookup::{known_form, newest};
use crate::cmd::submissions::tail::patience::{self, Patience};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::FormMatch;
use crate::key::aside;
use crate::settings::{Service, written};
use crate::webhook::capture::{Capture, Source};
use crate::webhook::listen::answers::Refusal;
use crate::webhook::listen::engine::Engine;
use crate::webhook::listen::intake::{Incoming, Intake};
use crate::webhook::listen::poll_mark::{PollMark, Spot};
use crate::webhook::replay::now;
use crate::webhook::secrets::Secrets;
use crate::webhook::simulate::{Attempted, Simulation};
use crate::when::{local, zone};

/// How often the service is asked, unless its rate limit or a flag says less.
const INTERVAL: Duration = Duration::from_secs(5);
/// Submissions on their way, those included that wait for another attempt.
const UNDER_WAY_MAX: usize = 16;
/// Longest wait for attempts that the listener has answered, once it has ended.
const GRACE: Duration = Duration::from_secs(2);
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

/// A form that is polled: its service has answered once.
pub(super) struct Polling<'a> {
    cx: &'a Context,
    form: FormMatch,
    follow: Box<Follow>,
    mark: PollMark,
    /// What is made here is signed with these.
    secrets: Vec<SigningSecret>,
}

/// The listener that takes what is made here.
pub(super) struct Taker<'a> {
    pub(super) intake: Intake,
    pub(super) engine: &'a Engine,
    /// When an attempt that failed is repeated.
    pub(super) schedule: RetrySchedule,
    /// The path that deliveries come to.
    pub(super) path: &'a str,
}

/// Attempts whose end is not known yet.
#[derive(Default)]
struct Open {
    count: Cell<usize>,
    none: Notify,
}

/// A delivery that is made here.
struct Synthetic {
    spot: Spot,
    body: bytes::Bytes,
}

/// Why there are no more attempts.
enum Cut {
    /// The listener takes none any more.
    Stopping,
    Broken(CliError),
}

impl PollArgs {
    /// The form, if one is polled.
    pub(super) fn form(&self) -> Option<&str> {
        self.poll.as_deref()
    }

    /// Polls for the first time, if that is asked for: a form that is not there, or a key that is not
    /// good, is told before anybody relies on this. A service that is away is waited for.
    pub(super) async fn begin<'a>(
        &self,
        cx: &'a Context,
        demo: Option<Client>,
        secrets: &Secrets,
    ) -> Result<Option<Polling<'a>>, CliError> {
        let Some(name) = &self.poll else { return Ok(None) };
        let secrets = secrets.clone().required("`--poll`, to sign what it makes,")?;
        let secrets: Vec<SigningSecret> = secrets.all_signing().collect();
        let usual = patience::interval(cx.settings.max_rate).max(INTERVAL);
        let interval = self.poll_interval.unwrap_or(usual);
        // The follow retries, and reports an outage only once.
        let patient = RequestOptions::new().retry(RetryPolicy::none());
        let client = match &demo {
            Some(client) => client,
            None => cx.client().await?,
        };
        let client = client.with_options(patient)?;
        let patience = Patience::new(cx, interval);
        let form = known_form(cx, &client, name, &patience).await?;
        let mut mark = mark(cx, &form).await?;
        say(cx, &form, &mark, interval);
        let handle = client.form(&form.id);
        if !mark.is_known() {
            let newest = newest(&handle, &patience).await?;
            mark.begin_at(newest.map(|row| Spot { created_at: row.created_at, id: row.id }));
            mark.save().await?;
        }
        let follow = handle.follow().interval(interval);
        let follow = match mark.up_to() {
            Some(spot) => follow.after(&spot.created_at, &spot.id),
            None => follow.sync_from(&SyncPoint::new()),
        };
        Ok(Some(Polling { cx, form, follow: Box::new(follow.items()), mark, secrets }))
    }
}

/// Where it was. A service of this run alone is not remembered.
async fn mark(cx: &Context, form: &FormMatch) -> Result<PollMark, CliError> {
    match (&cx.settings.service, &cx.settings.paths.state) {
        (Service::At { base_url: Some(base_url), .. }, Some(folder)) => {
            // An address is the same with a slash at its end.
            let service = base_url.trim_end_matches('/').to_owned();
            let (folder, form) = (folder.clone(), form.id.clone());
            aside(move || PollMark::open(&folder, &service, form.as_str())).await?
        }
        (Service::Demo, _) => Ok(PollMark::forgotten()),
        _ => {
            cx.progress.remark("there is no home folder: `--poll` begins anew with each run");
            Ok(PollMark::forgotten())
        }
    }
}

fn say(cx: &Context, form: &FormMatch, mark: &PollMark, interval: Duration) {
    let from = match mark.up_to() {
        Some(spot) => format!("goes on after {}", local(&spot.created_at, &zone())),
        None if mark.is_known() => "goes on with the first submission".to_owned(),
        None => "begins with what is new from now on".to_owned(),
    };
    cx.progress.remark(&format!("polls `{}` every {}", form.title, written(interval)));
    cx.progress.remark(&format!("  {from}"));
    cx.progress.remark("  its deliveries are made here, and marked X-Formsvc-Synthetic: poll");
}

impl Polling<'_> {
    /// Polls while a listener runs; what ends either ends both.
    pub(super) async fn beside(
        self,
        taker: &Taker<'_>,
        session: impl Future<Output = Result<(), CliError>>,
    ) -> Result<(), CliError> {
        let Self { cx, form, follow, mark, secrets } = self;
        let (found, made) = mpsc::channel(1);
        let stopped = Notify::new();
        let mut session = pin!(session);
        let mut handing = pin!(taker.hand_on(&secrets, mark, made, &stopped).fuse());
        let broken = tokio::select! {
            ended = &mut session => {
                // What was answered is remembered, or it would come again with the next run.
                stopped.notify_one();
                return ended.and(handing.await);
            }
            Err(error) = &mut handing => error,
            Err(error) = forward(follow, &form, found) => error,
        };
        // The listener ends as it would by itself: what is under way is finished, and summed up.
        cx.ends_by_itself(Exit::Failed);
        let remembering = async {
            let _ = handing.as_mut().await;
            pending::<Infallible>().await
        };
        // Whatever else the listener has to say of its end, this is why.
        let _ = tokio::select! {
            ended = session => ended,
            never = remembering => match never {},
        };
        if !handing.is_terminated() {
            stopped.notify_one();
            let _ = handing.await;
        }
        Err(broken)
    }
}

impl Taker<'_> {
    /// Hands over what was found, some at once; remembers each that is done.
    async fn hand_on(
        &self,
        secrets: &[SigningSecret],
        mut mark: PollMark,
        mut made: mpsc::Receiver<Synthetic>,
        stopped: &Notify,
    ) -> Result<(), CliError> {
        let open = Open::default();
        let mut under_way = FuturesUnordered::new();
        let (mut is_stopped, mut grace) = (false, pin!(sleep(Duration::MAX)));
        loop {
            tokio::select! {
                () = stopped.notified(), if !is_stopped => {
                    is_stopped = true;
                    grace.as_mut().reset(Instant::now() + GRACE);
                }
                () = open.none.notified(), if is_stopped => {}
                () = &mut grace => return Ok(()),
                Some(synthetic) = made.recv(), if !is_stopped && under_way.len() < UNDER_WAY_MAX => {
                    if mark.begin(synthetic.spot.clone()) {
                        under_way.push(self.attempts(secrets, synthetic, &open));
                    }
                }
                // Nothing is done where the listener is stopping.
                Some(ended) = under_way.next() => if let Some(id) = ended? {
                    mark.done(&id);
                    mark.save().await?;
                },
            }
            // Those that are left wait for another attempt.
            if is_stopped && open.count.get() == 0 {
                return Ok(());
            }
        }
    }

    /// Attempts a delivery as the service would, which does not know of this one, until it is done; none
    /// where the listener takes none any more.
    async fn attempts(
        &self,
        secrets: &[SigningSecret],
        synthetic: Synthetic,
        open: &Open,
    ) -> Result<Option<SubmissionId>, CliError> {
        let (schedule, random) = (self.schedule, fastrand::f64);
        let simulation = Simulation { schedule, time_scale: 1.0, random: &random };
        let attempt = async |_| {
            open.count.update(|count| count + 1);
            let capture = self.attempt(secrets, &synthetic.body).await;
            open.count.update(|count| count - 1);
            if open.count.get() == 0 {
                open.none.notify_one();
            }
            let capture = capture?;
            let accepted = capture.outcome.as_ref().is_some_and(|outcome| outcome.is_accepted());
            Ok::<_, Cut>(Attempted { accepted, asked_for: capture.asked_for() })
        };
        match simulation.deliver(attempt, |_, _| ()).await {
            Ok(_) => Ok(Some(synthetic.spot.id)),
            Err(Cut::Stopping) => Ok(None),
            Err(Cut::Broken(error)) => Err(error),
        }
    }

    /// One attempt, signed now; on the listener's threads, as any other.
    async fn attempt(
        &self,
        secrets: &[SigningSecret],
        body: &bytes::Bytes,
    ) -> Result<Arc<Capture>, Cut> {
        loop {
            let intake = self.intake.clone();
            let incoming = incoming(secrets, self.path, body.clone());
            let attempt = self.engine.within(|| tokio::spawn(intake.give(incoming)));
            let taken = attempt.await.map_err(|error| {
                let what = "a delivery ended before its answer";
                Cut::Broken(CliError::new(Exit::Failed, what).because(&error))
            })?;
            match taken {
                Ok(capture) => return Ok(capture),
                Err(Refusal::Stopping) => return Err(Cut::Stopping),
                Err(_) => sleep(BUSY_PAUSE).await,
            }
        }
    }
}

/// A delivery as the service makes it, but for its mark; signed now.
fn incoming(secrets: &[SigningSecret], path: &str, body: bytes::Bytes) -> Incoming {
    let signature = HeaderValue::try_from(sign(secrets, now(), &body));
    let constant = HeaderValue::from_static;
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, constant("application/json")),
        (header::USER_AGENT, constant(USER_AGENT)),
        (EVENT, constant("submission.created")),
        (SIGNATURE, signature.expect("digits and hex digits are a header")),
        (SYNTHETIC, constant("poll")),
    ]);
    let (source, method) = (Source::Poll, Method::POST);
    Incoming { source, method, request_target: path.to_owned(), headers, body }
}

/// Sends the new submissions to `found` as deliveries, until the list fails.
async fn forward(
    mut follow: Box<Follow>,
    form: &FormMatch,
    found: mpsc::Sender<Synthetic>,
) -> Result<(), CliError> {
    while let Some(submission) = follow.try_next().await? {
        let (created_at, id) = (submission.created_at.clone(), submission.id.clone());
        let event = payload::event_of(submission, form.id.clone(), &form.title);
        let (spot, body) = (Spot { created_at, id }, payload::body(&event));
        // Fails only if the receiver has ended, and then the caller ends this function as well.
        let _ = found.send(Synthetic { spot, body }).await;
    }
    Ok(())
}
