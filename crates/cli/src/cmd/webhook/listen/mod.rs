//! `formsvc webhook listen`

#[cfg(feature = "sandbox")]
mod demo;
mod poll;
mod running;
mod session;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_protocol::RetrySchedule;
use formsvc_receiver::Verifier;
use jiff::tz::TimeZone;
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;
use url::Url;

#[cfg(feature = "sandbox")]
use self::demo::Demo;
use self::poll::{PollArgs, Polling, Taker};
use self::running::{Facts, Running};
use self::session::{Session, Until};
use crate::args::{duration, whole};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Live;
use crate::settings::{Origin, Service};
use crate::webhook::inspector::InspectorArgs;
use crate::webhook::listen::engine::Engine;
use crate::webhook::listen::expect::{Expect, expect, help};
use crate::webhook::listen::faults::{Faults, Responses, respond};
use crate::webhook::listen::forward::{ForwardArgs, Forwarder};
use crate::webhook::listen::goal::Goal;
use crate::webhook::listen::happened::{Warning, WarningCode};
use crate::webhook::listen::intake::{Limits, Rules};
use crate::webhook::listen::policy::OnInvalid;
use crate::webhook::listen::report::Report;
use crate::webhook::listen::schema::schema;
use crate::webhook::listen::server::{self, Sockets};
use crate::webhook::listen::text::View;
use crate::webhook::secrets::{SecretArgs, Secrets};
use crate::webhook::store::{StoreArgs, StoreError};

/// Port to listen on where none is named: that of the examples.
const PORT: u16 = 9000;

/// Headings of groups of flags.
const ANSWERS: &str = "Answers";
const ENDS: &str = "When it ends";
const LIMITS: &str = "Limits";

/// Receive deliveries on this machine: verify, record, show and forward them
///
/// Each delivery is told on a line, or on two or three where the window is narrow: when it came, what it is, whether its signature is right and how old,
/// which attempt it is, and how it was answered. With `--output ndjson` it is told as JSON, to the byte;
/// `--schema` says how. Nothing but that is on standard output.
///
/// Ctrl-C, SIGTERM or closing the terminal ends it with exit code 0, or with 11 where what `--expect`, `--count`
/// or `--once` asked for has not come. Deliveries under way are answered first; a second signal ends it at once.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook listen --count 3\n  formsvc --demo webhook listen --count 2 --forward-to 4242/hook\n  formsvc --demo webhook listen --once --expect verdict=valid --output ndjson\n  formsvc --demo webhook listen --drop 1 --retry-base 1s --expect attempt=2\n  formsvc --demo webhook listen --poll contact --poll-interval 1s --count 1\n  formsvc webhook listen --schema"
)]
pub(crate) struct Listen {
    /// Port to listen on; 0 finds a free one [default: 9000; with --demo 0]
    #[arg(long, value_name = "PORT", value_parser = whole::<u16>(0..=65_535))]
    port: Option<u16>,
    /// Address to listen on, instead of this machine's own alone (127.0.0.1 and ::1)
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Take deliveries at this path alone; others are answered 404
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<String>,
    /// Write a JSON object with the `url` to this file once the listener answers; it goes at the end
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Print the JSON Schema of the lines of `--output ndjson`, and end
    #[arg(long)]
    schema: bool,
    /// Tell signatures as they came, with which a delivery can be replayed
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    answers: AnswerArgs,
    #[command(flatten)]
    forward: ForwardArgs,
    #[command(flatten)]
    poll: PollArgs,
    #[command(flatten)]
    ends: EndArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    inspector: InspectorArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// How deliveries are answered.
#[derive(Debug, Args)]
struct AnswerArgs {
    /// What to do with a delivery that is not valid
    #[arg(long, value_name = "WHAT", default_value = "reject", help_heading = ANSWERS)]
    on_invalid: OnInvalid,
    /// Answer the attempts of each submission with these statuses in turn, of which the last goes on;
    /// `pass` answers as without this flag
    #[arg(long, value_name = "STATUS,…", value_parser = respond, help_heading = ANSWERS)]
    respond: Option<Responses>,
    /// Hold every answer back so long
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = ANSWERS)]
    respond_delay: Option<Duration>,
    /// Close the connection of the first N attempts of each submission, without an answer
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = ANSWERS)]
    drop: u32,
    /// Pause before the sender's first retry, by which its pauses are judged [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = ANSWERS, hide_short_help = true)]
    retry_base: Option<Duration>,
    /// What each further pause of the sender is multiplied by [default: 6]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100), help_heading = ANSWERS, hide_short_help = true)]
    retry_factor: Option<u32>,
}

/// What `--help` says of `--expect`.
fn expect_help() -> String {
    help(
        "End once a delivery was like this, such as 'event=submission.created && status<300'; without \
         one when it ends, the exit code is 11. Can be repeated: then each needs one",
    )
}

/// When the listener ends.
#[derive(Debug, Args)]
struct EndArgs {
    /// End after this many deliveries that were not refused; with fewer when it ends, the exit code is 11
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), help_heading = ENDS)]
    count: Option<u64>,
    /// End after one delivery that was not refused
    #[arg(long, conflicts_with = "count", help_heading = ENDS)]
    once: bool,
    /// End after so long; `--timeout` says the same
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = ENDS)]
    max_time: Option<Duration>,
    /// End once a delivery was like this, such as 'event=submission.created && status<300'; without one
    /// when it ends, the exit code is 11. Can be repeated: then each needs one
    #[arg(long, value_name = "EXPR", value_parser = expect, help_heading = ENDS, long_help = expect_help())]
    expect: Vec<Expect>,
    /// End with exit code 11 at the first delivery that is not like this; can be repeated
    #[arg(long, value_name = "EXPR", value_parser = expect, help_heading = ENDS)]
    expect_every: Vec<Expect>,
    /// End with exit code 11 when no delivery has come for so long
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = ENDS)]
    expect_within: Option<Duration>,
    /// End when standard input does, for whoever starts this from a program
    #[arg(long, help_heading = ENDS)]
    exit_on_stdin_eof: bool,
}

/// What the listener takes.
#[derive(Debug, Args)]
struct LimitArgs {
    /// Longest body taken, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = whole::<usize>(1..=1 << 30), help_heading = LIMITS, hide_short_help = true)]
    max_body: usize,
    /// Time a sender has for the head of a request, for its body, and to take an answer
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration, help_heading = LIMITS, hide_short_help = true)]
    read_timeout: Duration,
    /// Deliveries handled at once; more are answered 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole::<usize>(1..=10_000), help_heading = LIMITS, hide_short_help = true)]
    max_in_flight: usize,
}

impl Listen {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.schema {
            return cx.output.document(&format!("{:#}", schema()));
        }
        let live = cx.output.live()?;
        let ends_at = cx.deadline(self.ends.max_time(cx));
        let sender = self.forward.sender(cx)?;
        let forwarder = self.forward.forwarder(sender.clone(), self.limits.max_in_flight);
        let mut secrets = self.read_secrets(cx).await?;
        let engine = Engine::start().map_err(|error| {
            CliError::new(Exit::LocalIo, "cannot start the listener").because(&error)
        })?;
        let sockets = engine.within(|| self.open(self.port(cx)))?;
        let address = sockets.address();
        let url = format!("http://{address}{}", self.path.as_deref().unwrap_or("/"));
        let demo = self.demo(cx, &url, &mut secrets).await?;
        let polling = self.begin_polling(cx, demo.as_ref(), &secrets, ends_at).await?;
        let until = self.ends.until(cx.end_within(session::DRAIN), ends_at);
        let verifier = secrets.verifier(self.limits.max_body)?;
        let facts = Facts {
            address: Url::parse(&url).map_err(|error| CliError::usage(error.to_string()))?,
            url,
            path: self.path.clone(),
            on_invalid: self.answers.on_invalid,
            secrets,
            targets: forwarder.as_ref().map(Forwarder::targets).unwrap_or_default(),
            schedule: self.answers.schedule(),
            reveal: self.reveal,
        };
        let (store, in_memory) = self.store.open(cx).await?;
        let mut warnings = self.warnings(&facts.secrets, in_memory.as_ref());
        warnings.extend(forwarder.iter().flat_map(|forwarder| forwarder.warnings(address)));
        let (rules, page) = (self.rules(verifier, forwarder), (self.inspector, sender));
        let mut running = Running::start(facts, rules, (engine, sockets), store, page).await?;
        let ended = self.attend(cx, live, &mut running, &warnings, polling, until).await;
        running.end().await;
        ended
    }

    /// Tells of what comes to a listener, until its end.
    async fn attend(
        self,
        cx: &Context,
        live: Live<'_>,
        running: &mut Running,
        warnings: &[Warning],
        polling: Option<Polling<'_>>,
        until: Until,
    ) -> Result<(), CliError> {
        if let Some(path) = self.ready_file.clone() {
            running.write_ready(path, cx).await?;
        }
        let (secrets, schedule) = (running.facts.secrets.clone(), running.facts.schedule);
        let (zone, width, reveal) = (TimeZone::system(), live.width(), self.reveal);
        let several = running.facts.targets.len() > 1;
        let view = View { zone, width, secrets, reveal, several };
        let report = Report { live, progress: &cx.progress, view };
        report.ready(&running.ready())?;
        warnings.iter().try_for_each(|warning| report.warned(warning))?;
        let (count, within) = (self.ends.count(), self.ends.expect_within);
        let goal = Goal::new(count, self.ends.expect, self.ends.expect_every, within);
        let Running { facts, engine, server, intake, happened, .. } = running;
        let session = Session { server, happened, report, goal, schedule }.run(until);
        let path = facts.path.as_deref().unwrap_or("/");
        let taker = Taker { intake: intake.clone(), engine, schedule, path };
        match polling {
            Some(polling) => polling.beside(&taker, session).await,
            None => session.await,
        }
    }

    fn port(&self, cx: &Context) -> u16 {
        let usual = if is_demo(cx) { 0 } else { PORT };
        self.port.unwrap_or(usual)
    }

    /// A service that delivers here, where that is asked for; its secret is one more.
    #[cfg(feature = "sandbox")]
    async fn demo(
        &self,
        cx: &Context,
        url: &str,
        secrets: &mut Secrets,
    ) -> Result<Option<Demo>, CliError> {
        if !is_demo(cx) {
            return Ok(None);
        }
        let demo = Demo::start(url, self.answers.schedule(), self.poll.form(), secrets).await?;
        demo::tell(cx, secrets, self.forward.is_asked_for());
        Ok(Some(demo))
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_async, reason = "the same signature with and without the sandbox")]
    async fn demo(&self, cx: &Context, _: &str, _: &mut Secrets) -> Result<Option<Demo>, CliError> {
        if is_demo(cx) {
            return Err(CliError::usage("this build has no sandbox, which `--demo` needs"));
        }
        Ok(None)
    }

    /// Polls for the first time, before the time limit of the run ends.
    async fn begin_polling<'a>(
        &self,
        cx: &'a Context,
        demo: Option<&Demo>,
        secrets: &Secrets,
        ends_at: Option<Instant>,
    ) -> Result<Option<Polling<'a>>, CliError> {
        let client = demo.map(|demo| demo.client(cx)).transpose()?;
        cx.until(ends_at, self.poll.begin(cx, client, secrets)).await
    }

    async fn read_secrets(&self, cx: &Context) -> Result<Secrets, CliError> {
        if self.ends.exit_on_stdin_eof && self.secrets.take_stdin() {
            let what = "`--secret-stdin` and `--exit-on-stdin-eof` cannot be used together";
            return Err(CliError::usage(what)
                .hint("standard input ends with the secret; give it with --secret-file"));
        }
        self.secrets.read(cx).await
    }

    fn open(&self, port: u16) -> Result<Sockets, CliError> {
        server::open(self.bind, port).map_err(|error| {
            let at = match self.bind {
                Some(bind) => format!("{}", SocketAddr::new(bind, port)),
                None => format!("port {port}"),
            };
            let failed = CliError::new(Exit::LocalIo, format!("cannot listen on {at}"));
            let failed = failed.because(&error);
            if error.kind() != std::io::ErrorKind::AddrInUse {
                return failed;
            }
            match server::free_port_near(self.bind, port) {
                Some(free) => failed.hint(format!("`--port {free}` is free; `--port 0` finds one")),
                None => failed.hint("`--port 0` finds a free port"),
            }
        })
    }

    /// What whoever starts it should know.
    fn warnings(&self, secrets: &Secrets, memory: Option<&StoreError>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if secrets.is_empty() {
            let message = "no signing secret: deliveries are shown and not verified; give it with \
                           --secret-file or FORMSVC_SIGNING_SECRET"
                .to_owned();
            warnings.push(Warning { code: WarningCode::NotVerified, message });
        }
        if let Some(bind) = self.bind.filter(|bind| !bind.is_loopback()) {
            let message =
                format!("it listens on {bind}, where others than this machine can reach it");
            warnings.push(Warning { code: WarningCode::Reachable, message });
        }
        if let Some(why) = memory {
            let message = format!("{why}: deliveries are kept in memory, and gone with this run");
            warnings.push(Warning { code: WarningCode::InMemory, message });
        }
        warnings
    }

    fn rules(&self, verifier: Option<Verifier>, forwarder: Option<Forwarder>) -> Rules {
        let (answers, limits) = (&self.answers, &self.limits);
        Rules {
            limits: Limits {
                body: limits.max_body,
                read: limits.read_timeout,
                connections: server::CONNECTIONS_MAX,
                in_flight: limits.max_in_flight,
                deliveries: self.ends.count(),
            },
            path: self.path.clone(),
            verifier,
            on_invalid: answers.on_invalid,
            faults: Faults {
                dropped: answers.drop,
                respond: answers.respond.clone().unwrap_or_default().0,
                delay: answers.respond_delay,
            },
            forwarder,
        }
    }
}

impl AnswerArgs {
    /// The schedule that the sender's pauses are judged by.
    fn schedule(&self) -> RetrySchedule {
        let usual = RetrySchedule::default();
        RetrySchedule {
            base: self.retry_base.unwrap_or(usual.base),
            factor: self.retry_factor.unwrap_or(usual.factor),
            ..usual
        }
    }
}

impl EndArgs {
    /// What ends it, besides what comes.
    fn until(&self, stop: Receiver<Exit>, ends_at: Option<Instant>) -> Until {
        Until { stop, ends_at, within: self.expect_within, stdin_eof: self.exit_on_stdin_eof }
    }

    /// The time it has.
    fn max_time(&self, cx: &Context) -> Option<Duration> {
        self.max_time.or_else(|| time_given(cx))
    }

    /// Deliveries it ends after.
    fn count(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.count }
    }
}

/// A service of this run alone, of which this build has none.
#[cfg(not(feature = "sandbox"))]
enum Demo {}

#[cfg(not(feature = "sandbox"))]
impl Demo {
    fn client(&self, _: &Context) -> Result<formsvc_client::Client, CliError> {
        match *self {}
    }
}

/// Whether a service is to be started for this one run.
fn is_demo(cx: &Context) -> bool {
    matches!(cx.settings.service, Service::Demo)
}

/// The time of `--timeout`, which elsewhere is that of a request; here there is none but the run.
fn time_given(cx: &Context) -> Option<Duration> {
    let row = cx.settings.resolved.row("timeout")?;
    cx.settings.timeout.filter(|_| matches!(row.origin, Origin::Flag(_)))
}

/// Reads the path of a URL.
fn path(text: &str) -> Result<String, String> {
    let rule = "expected a path that begins with `/`, without `?` or `#`: /hooks/forms";
    let good = text.starts_with('/')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if good { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_that_of_a_url() {
        for good in ["/", "/hooks/forms", "/a%20b"] {
            assert!(path(good).is_ok(), "{good}");
        }
        for bad in ["", "hooks", "/a b", "/a?b", "/a#b", "http://x/", "/é"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
