//! `formsvc webhook listen`

mod args;
mod poll;
mod report;
#[cfg(feature = "sandbox")]
mod sandbox;
mod session;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use formsvc_contract::send::HttpSender;
use formsvc_workbench::forward::Forwarder;
use formsvc_workbench::inspector::{Inspector, InspectorState};
use formsvc_workbench::listen::{
    Goal, ListenLimits, ListenRules, Listener, ReadyLine, SCHEMA, SCHEMA_VERSION, Sockets, Totals,
    instant,
};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use formsvc_workbench::warning::Warning;
use formsvc_workbench::{mask, record, target};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use self::args::{EndArgs, ForwardArgs, ResponseArgs, StoreArgs};
use self::poll::PollArgs;
use self::report::Report;
#[cfg(feature = "sandbox")]
use self::sandbox::SandboxArgs;
use self::session::{DRAIN, Session};
use super::args::SecretArgs;
use super::line::LineStyle;
use super::{captures, is_demo};
use crate::account::key::aside;
use crate::cmd::ready_file;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::args::whole;

/// Default port, which the documentation uses.
const PORT: u16 = 9000;
/// Limits of the stored deliveries.
const STORE_LIMITS: StoreLimits =
    StoreLimits { bytes: 256 << 20, age: Duration::from_secs(7 * 86_400) };

/// Receive deliveries on this machine: verify, record, show and forward them
///
/// Prints one line per delivery: time, submission, verdict, attempt and response. `--output ndjson` prints JSON with
/// the exact body of each delivery, which `--schema` describes. `--jq` and `--template` get each of these lines
/// separately; if they fail on a line, a warning names its delivery. Everything else is printed on standard error.
/// Deliveries are stored for a week, and at most 256 MiB of them.
///
/// Ctrl-C, SIGTERM or closing the terminal ends the listener with exit code 0, or with 11 if the deliveries of
/// `--expect` or `--count` did not arrive. The listener responds to deliveries in flight first; a second
/// signal ends it at once.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook listen --sandbox contact --forward-to 4242\n  formsvc webhook listen --poll contact --forward-to 4242/hook\n  formsvc --demo webhook listen --count 3\n  formsvc --demo webhook listen --count 1 --expect verdict=valid --output ndjson\n  formsvc --demo webhook listen --drop 1 --retry-base 1s --expect attempt=2\n  formsvc webhook listen --schema"
)]
pub(crate) struct Listen {
    /// Port to listen on; 0 chooses a free one [default: 9000, or 0 with --demo]
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
    /// Do not mask signatures and secrets. They allow others to replay the deliveries
    #[arg(long)]
    reveal: bool,
    #[cfg(feature = "sandbox")]
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
        let deadline = cx.deadline(self.end.max_time);
        let limits = ListenLimits { deliveries: self.end.count, ..ListenLimits::default() };
        let sender = self.forward.sender(cx)?;
        let forwarder = self.forward.forwarder(sender.clone(), limits.in_flight);
        let secrets = self.read_secrets(cx).await?;
        let sockets = self.open_sockets(cx)?;
        let address = sockets.address();
        let path = self.path.as_deref().unwrap_or("/");
        let url = format!("http://{address}{path}");
        let retry_base = self.responses.retry_base;
        #[cfg(feature = "sandbox")]
        let (secrets, sandbox) =
            self.sandbox.start(cx, &url, self.poll.form(), retry_base, secrets).await?;
        #[cfg(feature = "sandbox")]
        let client = sandbox.as_ref().map(|sandbox| sandbox.client(cx)).transpose()?;
        #[cfg(not(feature = "sandbox"))]
        let client = None;
        let poll = self.poll.prepare(cx, client, &secrets, retry_base, path);
        let poll = cx.until(deadline, poll).await?;
        let signal = cx.shutdown.drain_within(DRAIN);
        let (store, store_error) = self.open_store(cx).await?;
        let mut warnings = self.warnings(&secrets, store_error.as_ref());
        warnings.extend(forwarder.iter().flat_map(|forwarder| forwarder.warnings(address)));
        let setup = Setup { url, secrets, sender, forwarder: forwarder.map(Arc::new), store };

        let rules = self.rules(&setup, limits.body)?;
        let (listener, events) = Listener::start(sockets, rules, limits, setup.store.clone());
        let inspector = self.start_inspector(&setup, &listener)?;
        let ready = self.ready_line(&setup, inspector.as_ref().map(Inspector::url));
        let style = LineStyle {
            zone: TimeZone::system(),
            width: live.width(),
            secrets: setup.secrets.clone(),
            reveal: self.reveal,
            several_targets: ready.targets.len() > 1,
        };
        let goal = Goal::new(self.end.goal(), Instant::now());
        let report =
            Report { live, progress: &cx.progress, style, goal, totals: Totals::default() };
        let ended = async {
            ready_file::write(cx, self.ready_file.clone(), &ready).await?;
            report.ready(ready)?;
            #[cfg(feature = "sandbox")]
            if let Some(sandbox) = &sandbox {
                sandbox.report(cx, cx.settings.terminal.stdin && !self.secrets.uses_stdin());
            }
            warnings.iter().try_for_each(|warning| report.warning(warning))?;
            Session { listener, events, report, poll }.run(signal, deadline).await
        };
        let ended = ended.await;
        cx.shutdown.remove_files();
        if let Some(inspector) = inspector {
            inspector.stop().await;
        }
        setup.store.close().await;
        ended
    }

    async fn read_secrets(&self, cx: &Context) -> Result<SigningSecrets, CliError> {
        // A sandbox does not sign generated submissions with a stored secret.
        #[cfg(feature = "sandbox")]
        if self.sandbox.is_used(cx) {
            return self.secrets.read(cx).await;
        }
        self.secrets.read_or_stored(cx).await
    }

    fn open_sockets(&self, cx: &Context) -> Result<Sockets, CliError> {
        let port = self.port.unwrap_or(if is_demo(cx) { 0 } else { PORT });
        Sockets::open(self.bind, port).map_err(|error| {
            let at = self.bind.map(|bind| format!(" of {bind}")).unwrap_or_default();
            CliError::new(Exit::LocalIo, format!("cannot listen on port {port}{at}"))
                .because(&error)
                .hint("`--port 0` chooses a free port")
        })
    }

    /// Opens the store. If the file cannot be used, returns a store in memory and the error. The deliveries of
    /// a demo are never stored on disk.
    async fn open_store(&self, cx: &Context) -> Result<(CaptureStore, Option<CliError>), CliError> {
        let error = match captures::folder(cx) {
            _ if self.store.no_store || is_demo(cx) => None,
            Err(error) => Some(error),
            // Another process may lock the file, and the disk may be slow.
            Ok(folder) => match aside(move || CaptureStore::open(&folder, STORE_LIMITS)).await? {
                Ok(store) => return Ok((store, None)),
                Err(error) => Some(error.into()),
            },
        };
        Ok((CaptureStore::in_memory(STORE_LIMITS)?, error))
    }

    fn warnings(&self, secrets: &SigningSecrets, store_error: Option<&CliError>) -> Vec<Warning> {
        let not_verified = secrets.is_empty().then(Warning::not_verified);
        let reachable = self.bind.and_then(Warning::reachable);
        let in_memory = store_error.map(|error| Warning::in_memory(error.brief(), error.advice()));
        not_verified.into_iter().chain(reachable).chain(in_memory).collect()
    }

    fn rules(&self, setup: &Setup, max_body: usize) -> Result<ListenRules, CliError> {
        let verifier = setup.secrets.verifier(max_body).map_err(|error| {
            CliError::usage("these signing secrets cannot be used").because(&error)
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
        let state = InspectorState {
            store: setup.store.clone(),
            live: Some(listener.handle().deliveries()),
            secrets: setup.secrets.clone(),
            sender: setup.sender.clone(),
            forwarder: setup.forwarder.clone(),
            listener: Some(target::parse(&setup.url).map_err(CliError::usage)?),
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
