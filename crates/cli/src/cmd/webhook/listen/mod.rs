//! `formsvc webhook listen`

mod args;
mod line;
mod poll;
mod ready_file;
mod report;
mod runtime;
#[cfg(feature = "sandbox")]
mod sandbox;
mod session;
mod summary;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use formsvc_contract::send::HttpSender;
use formsvc_workbench::forward::Forwarder;
use formsvc_workbench::inspector::{Inspector, InspectorState};
use formsvc_workbench::listen::{
    self, Goal, ListenRules, Listener, ReadyLine, SCHEMA, SCHEMA_VERSION, Sockets, Totals, instant,
};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::CaptureStore;
use formsvc_workbench::warning::{Warning, WarningCode};
use formsvc_workbench::{mask, record};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use serde_json::value::to_raw_value;
use url::Url;

use self::args::{EndArgs, ForwardArgs, InspectorArgs, LimitArgs, ResponseArgs};
use self::line::LineStyle;
use self::poll::{PollArgs, RunningPoll};
use self::ready_file::ReadyFile;
use self::report::Report;
use self::runtime::ListenerRuntime;
#[cfg(feature = "sandbox")]
use self::sandbox::{ListenSandbox, SandboxKind};
use self::session::{DRAIN, Session, Until};
use super::args::{SecretArgs, StoreArgs};
use crate::account::key::aside;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::Service;
use crate::settings::args::whole;

/// Default port, which the documentation uses.
const PORT: u16 = 9000;

/// Receive deliveries on this machine: verify, record, show and forward them
///
/// Prints one line per delivery: time, event, verdict, attempt and response. In a narrow window a line is
/// broken into two or three. `--output ndjson` prints JSON with the exact bytes of each delivery, which
/// `--schema` describes. Everything else is printed on standard error.
///
/// Ctrl-C, SIGTERM or closing the terminal ends it with exit code 0, or with 11 if the deliveries of
/// `--expect`, `--count` or `--once` did not arrive. It responds to deliveries in flight first; a second
/// signal ends it at once.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook listen --sandbox contact --forward-to 4242\n  formsvc webhook listen --poll contact --forward-to 4242/hook\n  formsvc --demo webhook listen --count 3\n  formsvc --demo webhook listen --count 2 --forward-to 4242/hook\n  formsvc --demo webhook listen --once --expect verdict=valid --output ndjson\n  formsvc --demo webhook listen --drop 1 --retry-base 1s --expect attempt=2\n  formsvc webhook listen --schema"
)]
pub(crate) struct Listen {
    /// Port to listen on; 0 chooses a free one [default: 9000; with --demo 0]
    #[arg(long, value_name = "PORT", value_parser = whole::<u16>(0..=65_535))]
    port: Option<u16>,
    /// Address to listen on [default: 127.0.0.1 and ::1, which only this machine can reach]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Accept deliveries only at this path; others get 404
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<String>,
    /// Write a JSON object with the `url` to this file when the listener is ready; it is removed at the end
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Print the JSON Schema of the lines of `--output ndjson` and exit
    #[arg(long)]
    schema: bool,
    /// Do not mask signatures. Anyone who has one can replay the delivery
    #[arg(long)]
    reveal: bool,
    /// Start a sandbox that delivers the submissions of FORM (contact) to the listener
    ///
    /// Prints the address of the form. On a terminal, Enter makes a submission. Without a secret in a flag or
    /// variable it generates one and prints it as an export line for your receiver.
    #[cfg(feature = "sandbox")]
    #[arg(long, value_name = "FORM", conflicts_with_all = ["poll", "demo"], value_parser = form, help_heading = "Sandbox")]
    sandbox: Option<formsvc_client::types::PublicId>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    responses: ResponseArgs,
    #[command(flatten)]
    forward: ForwardArgs,
    #[command(flatten)]
    poll: PollArgs,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    inspector: InspectorArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The parts of a listener that are known before it starts.
struct Setup {
    url: String,
    secrets: SigningSecrets,
    sender: HttpSender,
    forwarder: Option<Arc<Forwarder>>,
    store: CaptureStore,
}

impl Listen {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.schema {
            return cx.output.document(&format!("{:#}", schema()));
        }
        let live = cx.output.live()?;
        let deadline = cx.deadline(self.end.max_time(cx));
        let sender = self.forward.sender(cx)?;
        let forwarder = self.forward.forwarder(sender.clone(), self.limits.max_in_flight);
        let mut secrets = self.read_secrets(cx).await?;
        let runtime = ListenerRuntime::start().map_err(|error| {
            CliError::new(Exit::LocalIo, "cannot start the listener").because(&error)
        })?;
        let sockets = runtime.within(|| self.open_sockets(cx))?;
        let address = sockets.address();
        let path = self.path.as_deref().unwrap_or("/");
        let url = format!("http://{address}{path}");
        let sandbox = self.start_sandbox(cx, &url, &mut secrets).await?;
        let client = sandbox.as_ref().map(|sandbox| sandbox.client(cx)).transpose()?;
        let schedule = self.responses.schedule();
        let poll = self.poll.prepare(cx, client, &secrets, schedule, path);
        let poll = cx.until(deadline, poll).await?;
        let stdin_eof = self.end.exit_on_stdin_eof;
        let until = Until { signal: cx.shutdown.drain_within(DRAIN), deadline, stdin_eof };
        let (store, store_error) = self.open_store(cx).await?;
        let mut warnings = self.warnings(&secrets, store_error.as_ref());
        warnings.extend(forwarder.iter().flat_map(|forwarder| forwarder.warnings(address)));
        let setup = Setup { url, secrets, sender, forwarder: forwarder.map(Arc::new), store };

        let rules = self.rules(&setup)?;
        let limits = self.limits.limits(self.end.count());
        let start = || Listener::start(sockets, rules, limits, setup.store.clone());
        let (listener, events) = runtime.within(start);
        let inspector = runtime.within(|| self.start_inspector(&setup, &listener));
        let inspector = match inspector {
            Ok(inspector) => inspector,
            Err(error) => {
                drop(listener);
                setup.store.close().await;
                return Err(error);
            }
        };
        let ready = self.ready_line(&setup, inspector.as_ref().map(Inspector::url));
        let ready_file = self.write_ready_file(cx, &ready).await;
        let ended = async {
            let _ready_file = ready_file?;
            let style = LineStyle {
                zone: TimeZone::system(),
                width: live.width(),
                secrets: setup.secrets.clone(),
                reveal: self.reveal,
                several_targets: ready.targets.len() > 1,
            };
            let report = Report { live, progress: &cx.progress, style };
            report.ready(ready)?;
            self.report_sandbox(cx, sandbox.as_ref());
            warnings.iter().try_for_each(|warning| report.warning(warning))?;
            let goal = Goal::new(self.end.goal(), Instant::now());
            let poll = poll
                .map_or_else(RunningPoll::default, |poll| poll.start(listener.handle(), &runtime));
            let totals = Totals::default();
            Session { listener, events, report, goal, poll, totals }.run(until).await
        };
        let ended = ended.await;
        if let Some(inspector) = inspector {
            inspector.stop().await;
        }
        setup.store.close().await;
        ended
    }

    async fn read_secrets(&self, cx: &Context) -> Result<SigningSecrets, CliError> {
        if self.end.exit_on_stdin_eof && self.secrets.uses_stdin() {
            let what = "`--secret-stdin` and `--exit-on-stdin-eof` cannot be used together";
            return Err(CliError::usage(what)
                .hint("standard input ends with the secret; pass it with `--secret-file`"));
        }
        // A sandbox does not sign generated submissions with a stored secret.
        if self.has_sandbox(cx) {
            return self.secrets.read(cx).await;
        }
        self.secrets.read_or_stored(cx).await
    }

    fn open_sockets(&self, cx: &Context) -> Result<Sockets, CliError> {
        let port = self.port.unwrap_or(if is_demo(cx) { 0 } else { PORT });
        Sockets::open(self.bind, port).map_err(|error| {
            let at = match self.bind {
                Some(bind) => SocketAddr::new(bind, port).to_string(),
                None => format!("port {port}"),
            };
            let failed = CliError::new(Exit::LocalIo, format!("cannot listen on {at}"));
            let failed = failed.because(&error);
            if error.kind() != std::io::ErrorKind::AddrInUse {
                return failed;
            }
            match listen::free_port_near(self.bind, port) {
                Some(free) => {
                    failed.hint(format!("`--port {free}` is free; `--port 0` chooses a free one"))
                }
                None => failed.hint("`--port 0` chooses a free port"),
            }
        })
    }

    /// Opens the store. The deliveries of a demo are never stored on disk.
    async fn open_store(&self, cx: &Context) -> Result<(CaptureStore, Option<CliError>), CliError> {
        if is_demo(cx) {
            return Ok((CaptureStore::in_memory(self.store.limits())?, None));
        }
        self.store.open(cx).await
    }

    fn warnings(&self, secrets: &SigningSecrets, store_error: Option<&CliError>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if secrets.is_empty() {
            let message =
                "no signing secret: deliveries are not verified; store one with `formsvc \
                           webhook secret add`, or set FORMSVC_SIGNING_SECRET"
                    .to_owned();
            warnings.push(Warning { code: WarningCode::NotVerified, message });
        }
        if let Some(bind) = self.bind.filter(|bind| !bind.is_loopback()) {
            let message = format!("other machines can reach the listener at {bind}");
            warnings.push(Warning { code: WarningCode::Reachable, message });
        }
        if let Some(error) = store_error {
            let message = format!(
                "{}: captures are kept in memory and lost when the listener ends",
                error.brief()
            );
            warnings.push(Warning { code: WarningCode::InMemory, message });
        }
        warnings
    }

    fn rules(&self, setup: &Setup) -> Result<ListenRules, CliError> {
        let verifier = setup.secrets.verifier(self.limits.max_body).map_err(|error| {
            CliError::usage("cannot verify with these signing secrets").because(&error)
        })?;
        Ok(ListenRules {
            path: self.path.clone(),
            verifier,
            on_invalid: self.responses.on_invalid(),
            faults: self.responses.faults(),
            forwarder: setup.forwarder.clone(),
        })
    }

    fn start_inspector(
        &self,
        setup: &Setup,
        listener: &Listener,
    ) -> Result<Option<Inspector>, CliError> {
        if !self.inspector.ui {
            return Ok(None);
        }
        let url = Url::parse(&setup.url);
        let state = InspectorState {
            store: setup.store.clone(),
            live: Some(listener.handle().deliveries()),
            secrets: setup.secrets.clone(),
            sender: setup.sender.clone(),
            forwarder: setup.forwarder.clone(),
            listener: Some(url.map_err(|error| CliError::usage(error.to_string()))?),
            reveal: self.reveal,
        };
        Ok(Some(Inspector::start(self.inspector.ui_port, state)?))
    }

    fn ready_line<'a>(&'a self, setup: &'a Setup, ui_url: Option<&'a str>) -> ReadyLine<'a> {
        let targets = setup.forwarder.iter().flat_map(|forwarder| forwarder.targets());
        ReadyLine {
            schema: SCHEMA_VERSION,
            at: instant(Timestamp::now()),
            url: &setup.url,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            secrets: setup.secrets.names().collect(),
            on_invalid: self.responses.on_invalid().name(),
            path: self.path.as_deref(),
            targets: targets.map(|url| mask::url(url.as_str(), self.reveal)).collect(),
            store: setup.store.folder().map(|folder| folder.display().to_string()),
            ui_url,
        }
    }

    async fn write_ready_file(
        &self,
        cx: &Context,
        ready: &ReadyLine<'_>,
    ) -> Result<Option<ReadyFile>, CliError> {
        let Some(path) = self.ready_file.clone() else { return Ok(None) };
        let content = to_raw_value(ready).map_err(|error| {
            CliError::new(Exit::Failed, "cannot write the ready file").because(&error)
        })?;
        let shutdown = cx.shutdown.clone();
        aside(move || ReadyFile::write(path, &content, &shutdown)).await?.map(Some)
    }

    #[cfg(feature = "sandbox")]
    fn has_sandbox(&self, cx: &Context) -> bool {
        self.sandbox_kind(cx).is_some()
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_self, reason = "the same signature with and without the sandbox")]
    fn has_sandbox(&self, cx: &Context) -> bool {
        is_demo(cx)
    }

    #[cfg(feature = "sandbox")]
    fn sandbox_kind(&self, cx: &Context) -> Option<SandboxKind<'_>> {
        match &self.sandbox {
            Some(form) => Some(SandboxKind::Interactive { form }),
            None => is_demo(cx).then(|| SandboxKind::Demo { polled: self.poll.form() }),
        }
    }

    /// Starts the sandbox of `--demo` or `--sandbox`.
    #[cfg(feature = "sandbox")]
    async fn start_sandbox(
        &self,
        cx: &Context,
        url: &str,
        secrets: &mut SigningSecrets,
    ) -> Result<Option<ListenSandbox>, CliError> {
        let Some(kind) = self.sandbox_kind(cx) else { return Ok(None) };
        let schedule = self.responses.schedule();
        ListenSandbox::start(kind, url, schedule, secrets).await.map(Some)
    }

    #[cfg(feature = "sandbox")]
    fn report_sandbox(&self, cx: &Context, sandbox: Option<&ListenSandbox>) {
        let Some((sandbox, kind)) = sandbox.zip(self.sandbox_kind(cx)) else { return };
        sandbox.report(cx, kind);
        let reads_stdin = self.end.exit_on_stdin_eof || self.secrets.uses_stdin();
        if matches!(kind, SandboxKind::Interactive { .. })
            && cx.settings.terminal.stdin
            && !reads_stdin
        {
            sandbox.submit_on_enter(cx);
        }
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_async, reason = "the same signature with and without the sandbox")]
    async fn start_sandbox(
        &self,
        cx: &Context,
        _: &str,
        _: &mut SigningSecrets,
    ) -> Result<Option<ListenSandbox>, CliError> {
        if is_demo(cx) {
            return Err(CliError::usage("this build has no sandbox, which `--demo` needs"));
        }
        Ok(None)
    }

    #[cfg(not(feature = "sandbox"))]
    fn report_sandbox(&self, _: &Context, _: Option<&ListenSandbox>) {}
}

/// A build without the sandbox cannot create it.
#[cfg(not(feature = "sandbox"))]
enum ListenSandbox {}

#[cfg(not(feature = "sandbox"))]
impl ListenSandbox {
    fn client(&self, _: &Context) -> Result<formsvc_client::Client, CliError> {
        match *self {}
    }
}

fn is_demo(cx: &Context) -> bool {
    matches!(cx.settings.service, Service::Demo)
}

#[cfg(feature = "sandbox")]
fn form(text: &str) -> Result<formsvc_client::types::PublicId, String> {
    formsvc_server::admin::parse_id(text).map_err(|rule| format!("a public id {rule}"))
}

/// Returns the schema of the lines with the schema of deliveries, to which it refers by its `$id`.
fn schema() -> Value {
    let parse = |text| serde_json::from_str::<Value>(text).expect("a test parses the schemas");
    let mut schema = parse(SCHEMA);
    schema["$defs"]["delivery_record"] = parse(record::SCHEMA);
    schema
}

/// Parses the path of a URL.
fn path(text: &str) -> Result<String, String> {
    let rule = "expected a path that begins with `/`, without `?` or `#`: /hooks/forms";
    let is_path = text.starts_with('/')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if is_path { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_contains_that_of_deliveries() {
        let schema = schema();
        let id = &schema["$defs"]["delivery_record"]["$id"];
        assert_eq!(schema["$defs"]["delivery"]["$ref"], *id);
    }

    #[test]
    fn path_has_no_query_and_no_space() {
        for good in ["/", "/hooks/forms", "/a%20b"] {
            assert!(path(good).is_ok(), "{good}");
        }
        for bad in ["", "hooks", "/a b", "/a?b", "/a#b", "http://x/", "/é"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
