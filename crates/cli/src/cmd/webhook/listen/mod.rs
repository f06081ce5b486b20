//! `formsvc webhook listen`

mod args;
mod line;
#[cfg(not(feature = "sandbox"))]
mod no_sandbox;
mod poll;
mod ready_file;
mod report;
#[cfg(feature = "sandbox")]
mod sandbox;
mod session;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
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
use tokio::runtime::{Builder, Runtime};
use url::Url;

use self::args::{EndArgs, ForwardArgs, LimitArgs, ResponseArgs, StoreArgs};
use self::line::LineStyle;
#[cfg(not(feature = "sandbox"))]
use self::no_sandbox::SandboxArgs;
use self::poll::{PollArgs, RunningPoll};
use self::ready_file::ReadyFile;
use self::report::Report;
#[cfg(feature = "sandbox")]
use self::sandbox::SandboxArgs;
use self::session::{DRAIN, Session, Until};
use super::args::SecretArgs;
use super::captures;
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
    #[command(flatten)]
    sandbox: SandboxArgs,
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
        let runtime = start_runtime()?;
        let sockets = {
            let _guard = runtime.enter();
            self.open_sockets(cx)?
        };
        let address = sockets.address();
        let path = self.path.as_deref().unwrap_or("/");
        let url = format!("http://{address}{path}");
        let (form, schedule) = (self.poll.form(), self.responses.schedule());
        let sandbox = self.sandbox.start(cx, &url, form, schedule, &mut secrets).await?;
        let client = sandbox.as_ref().map(|sandbox| sandbox.client(cx)).transpose()?;
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
        let (listener, events, inspector) = {
            let _guard = runtime.enter();
            let (listener, events) = Listener::start(sockets, rules, limits, setup.store.clone());
            let inspector = self.start_inspector(&setup, &listener)?;
            (listener, events, inspector)
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
            if let Some(sandbox) = &sandbox {
                let reads_stdin = stdin_eof || self.secrets.uses_stdin();
                sandbox.report(cx, cx.settings.terminal.stdin && !reads_stdin);
            }
            warnings.iter().try_for_each(|warning| report.warning(warning))?;
            let goal = Goal::new(self.end.goal(), Instant::now());
            let poll = poll
                .map_or_else(RunningPoll::default, |poll| poll.start(listener.handle(), runtime));
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
        if self.sandbox.is_used(cx) {
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

    /// Opens the store. If the file cannot be used, returns a store in memory and the error. The deliveries of
    /// a demo are never stored on disk.
    async fn open_store(&self, cx: &Context) -> Result<(CaptureStore, Option<CliError>), CliError> {
        let limits = self.store.limits();
        let error = match captures::folder(cx) {
            _ if self.store.no_store || is_demo(cx) => None,
            Err(error) => Some(error),
            // Another process may lock the file, and the disk may be slow.
            Ok(folder) => match aside(move || CaptureStore::open(&folder, limits)).await? {
                Ok(store) => return Ok((store, None)),
                Err(error) => Some(error.into()),
            },
        };
        Ok((CaptureStore::in_memory(limits)?, error))
    }

    fn warnings(&self, secrets: &SigningSecrets, store_error: Option<&CliError>) -> Vec<Warning> {
        let not_verified = "no signing secret: deliveries are not verified; store one with `formsvc webhook \
                            secret add`, or set FORMSVC_SIGNING_SECRET";
        let not_verified = secrets.is_empty().then(|| not_verified.to_owned());
        let bind = self.bind.filter(|bind| !bind.is_loopback());
        let reachable = bind.map(|bind| format!("other machines can reach the listener at {bind}"));
        let in_memory = store_error.map(|error| {
            let error = error.brief();
            format!("{error}: captures are kept in memory and lost when the listener ends")
        });
        let warnings = [
            (WarningCode::NotVerified, not_verified),
            (WarningCode::Reachable, reachable),
            (WarningCode::InMemory, in_memory),
        ];
        let warning =
            |(code, message): (_, Option<String>)| Some(Warning { code, message: message? });
        warnings.into_iter().filter_map(warning).collect()
    }

    fn rules(&self, setup: &Setup) -> Result<ListenRules, CliError> {
        let verifier = setup.secrets.verifier(self.limits.max_body).map_err(|error| {
            CliError::usage("cannot verify with these signing secrets").because(&error)
        })?;
        Ok(ListenRules {
            path: self.path.clone(),
            verifier,
            on_invalid: self.responses.on_invalid,
            faults: self.responses.faults(),
            forwarder: setup.forwarder.clone(),
        })
    }

    fn start_inspector(
        &self,
        setup: &Setup,
        listener: &Listener,
    ) -> Result<Option<Inspector>, CliError> {
        if !self.store.ui {
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
        Ok(Some(Inspector::start(self.store.ui_port, state)?))
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
            on_invalid: self.responses.on_invalid.name(),
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
}

/// Starts the threads of the listener. The thread of the command may block while it writes to standard output,
/// and the listener must still respond to senders. The runtime is leaked, because dropping it inside of the
/// runtime of the command would panic.
fn start_runtime() -> Result<&'static Runtime, CliError> {
    // The listener shares the machine with the targets.
    let threads = available_parallelism().map_or(2, usize::from).min(4);
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads).thread_name("listener").enable_all().build();
    let runtime = runtime.map_err(|error| {
        CliError::new(Exit::LocalIo, "cannot start the listener").because(&error)
    })?;
    Ok(Box::leak(Box::new(runtime)))
}

fn is_demo(cx: &Context) -> bool {
    matches!(cx.settings.service, Service::Demo)
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
