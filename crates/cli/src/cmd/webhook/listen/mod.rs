//! `formsvc webhook listen`

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_contract::send::{Sender, SenderOptions};
use formsvc_protocol::RetrySchedule;
use formsvc_receiver::Verifier;
use jiff::tz::TimeZone;
use serde::Serialize;
use tokio::sync::mpsc::Receiver;
use url::Url;

use crate::args::{duration, whole};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Live, Look};
use crate::webhook::history::{History, REMEMBERED};
use crate::webhook::inspector::{Inspected, Inspector, InspectorArgs};
use crate::webhook::listen::engine::Engine;
use crate::webhook::listen::faults::{Faults, Responses, respond};
use crate::webhook::listen::happened::Happened;
use crate::webhook::listen::intake::{Intake, Limits, Rules};
use crate::webhook::listen::keeper::Keeper;
use crate::webhook::listen::policy::OnInvalid;
use crate::webhook::listen::ready::ReadyFile;
use crate::webhook::listen::server::{self, Server, Sockets};
use crate::webhook::listen::text::{self, View};
use crate::webhook::secrets::SecretArgs;
use crate::webhook::store::{self, Caps, Store};

/// Time that deliveries under way have when it ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Receive deliveries here: verify them, show them, pass them on
#[derive(Debug, Args)]
pub(crate) struct Listen {
    /// Port to listen on; 0 finds a free one
    #[arg(long, value_name = "PORT", default_value_t = 9000, value_parser = whole::<u16>(0..=65_535))]
    port: u16,
    /// Address to listen on, instead of this machine's own alone (127.0.0.1 and ::1)
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Take deliveries at this path alone; others are answered 404
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<String>,
    /// Write a JSON object with the `url` to this file once the listener answers; it goes at the end
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
    #[command(flatten)]
    inspector: InspectorArgs,
    /// What to do with a delivery that is not valid
    #[arg(long, value_name = "WHAT", default_value = "reject")]
    on_invalid: OnInvalid,
    /// Answer the attempts of each submission with these statuses in turn, of which the last goes on;
    /// `pass` answers as without it
    #[arg(long, value_name = "STATUS,…", value_parser = respond)]
    respond: Option<Responses>,
    /// Hold every answer back so long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    respond_delay: Option<Duration>,
    /// Close the connection of the first N attempts of each submission, without an answer
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    drop: u32,
    /// Longest body taken, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = whole::<usize>(1..=1 << 30), hide_short_help = true)]
    max_body: usize,
    /// Time a sender has for the head of a request, and for its body
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, hide_short_help = true)]
    read_timeout: Duration,
    /// Deliveries handled at once; more are answered 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole::<usize>(1..=10_000), hide_short_help = true)]
    max_in_flight: usize,
}

/// What whoever started the listener reads.
#[derive(Serialize)]
struct Ready<'a> {
    url: &'a str,
    /// The address of the inspector page, token included.
    #[serde(skip_serializing_if = "Option::is_none")]
    ui_url: Option<&'a str>,
}

impl Listen {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let live = cx.output.live()?;
        let secrets = self.secrets.read(cx).await?;
        let verifier = secrets.verifier(self.max_body);
        if verifier.is_none() {
            cx.progress.remark(
                "no signing secret: deliveries are shown and not verified; give one with \
                 --secret-file or FORMSVC_WEBHOOK_SECRET",
            );
        }
        let stop = cx.end_within(DRAIN);
        let engine = Engine::start().map_err(|error| cannot_start(&error))?;
        let sockets = engine.within(|| self.open())?;
        let url = url(sockets.address(), self.path.as_deref());
        let ready_file = self.ready_file.clone();
        let history = History::new(REMEMBERED, RetrySchedule::default());
        let store = open_store(cx)?;
        let inspector_args = self.inspector;
        let keeper = Keeper(store.clone());
        let (intake, mut happened) = Intake::new(self.rules(verifier), history, keeper);
        let inspected = Inspected {
            store,
            bus: intake.bus(),
            secrets: secrets.clone(),
            targets: Vec::new(),
            address: Url::parse(&url).map_err(|error| CliError::usage(error.to_string()))?,
            sender: sender()?,
            reveal: false,
        };
        let inspector = engine.within(|| Inspector::start(&inspector_args, inspected))?;
        let server = engine.within(|| Server::start(sockets, intake));
        let ui_url = inspector.as_ref().map(Inspector::url);
        let ready = Ready { url: &url, ui_url };
        let ready_file = ready_file.map(|path| ReadyFile::write(path, &ready, &cx.abort));
        let _gone_at_the_end = ready_file.transpose()?;
        cx.progress.remark(&format!("ready: listening on {url} (Ctrl-C stops it)"));
        if let Some(ui_url) = ui_url {
            cx.progress.remark(&format!("inspector page: {ui_url}"));
        }
        let view = View { zone: TimeZone::system(), width: live.width(), secrets };
        let teller = Teller { live, view };
        let mut stop = stop;
        loop {
            tokio::select! {
                biased;
                _ = &mut stop => break,
                told = happened.recv() => match told {
                    Some(told) => teller.tell(&told)?,
                    None => break,
                },
            }
        }
        drained(&server, &mut happened, &teller).await?;
        if let Some(inspector) = inspector {
            inspector.stop().await;
        }
        Ok(())
    }

    fn open(&self) -> Result<Sockets, CliError> {
        server::open(self.bind, self.port).map_err(|error| {
            let (bind, port) = (self.bind, self.port);
            let at = bind
                .map_or(format!("port {port}"), |bind| format!("{}", SocketAddr::new(bind, port)));
            let failed = CliError::new(Exit::LocalIo, format!("cannot listen on {at}"));
            let failed = failed.because(&error);
            if error.kind() != std::io::ErrorKind::AddrInUse {
                return failed;
            }
            match server::free_port_near(bind, port) {
                Some(free) => failed.hint(format!("`--port {free}` is free; `--port 0` finds one")),
                None => failed.hint("`--port 0` finds a free port"),
            }
        })
    }

    fn rules(self, verifier: Option<Verifier>) -> Rules {
        Rules {
            limits: Limits {
                body: self.max_body,
                read: self.read_timeout,
                in_flight: self.max_in_flight,
            },
            path: self.path,
            verifier,
            on_invalid: self.on_invalid,
            faults: Faults {
                dropped: self.drop,
                respond: self.respond.unwrap_or_default().0,
                delay: self.respond_delay,
            },
        }
    }
}

/// Tells whoever reads.
struct Teller<'a> {
    live: Live<'a>,
    view: View,
}

impl Teller<'_> {
    fn tell(&self, happened: &Happened) -> Result<(), CliError> {
        let line = |line: &text::Line| {
            let parts: Vec<(Look, &str)> =
                line.iter().map(|(look, text)| (*look, &**text)).collect();
            self.live.line(&parts)
        };
        match happened {
            Happened::Delivered(told) => {
                text::delivered(told, &self.view).iter().try_for_each(line)
            }
            Happened::Refused(refused) => line(&text::refused(refused, &self.view)),
            Happened::Warned(_) => Ok(()),
        }
    }
}

/// Lets what is under way end, and tells of it.
async fn drained(
    server: &Server,
    happened: &mut Receiver<Happened>,
    teller: &Teller<'_>,
) -> Result<(), CliError> {
    let mut over = std::pin::pin!(tokio::time::timeout(DRAIN, server.drain()));
    loop {
        tokio::select! {
            _ = &mut over => break,
            Some(told) = happened.recv() => teller.tell(&told)?,
        }
    }
    while let Ok(told) = happened.try_recv() {
        teller.tell(&told)?;
    }
    Ok(())
}

/// The store of captures: in the folder of states, or in memory where that cannot be.
fn open_store(cx: &Context) -> Result<Store, CliError> {
    let kept =
        store::folder(&cx.settings.paths).and_then(|folder| Store::open(&folder, Caps::default()));
    kept.or_else(|error| {
        cx.progress.remark(&format!("warning: {error}; deliveries are kept in memory"));
        Ok(Store::in_memory(Caps::default())?)
    })
}

fn sender() -> Result<Sender, CliError> {
    Sender::new(SenderOptions::default())
        .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
}

fn url(address: SocketAddr, path: Option<&str>) -> String {
    format!("http://{address}{}", path.unwrap_or("/"))
}

fn cannot_start(error: &std::io::Error) -> CliError {
    CliError::new(Exit::LocalIo, "cannot start the listener").because(error)
}

/// Reads the path of a URL.
fn path(text: &str) -> Result<String, String> {
    let rule = "expected a path that begins with `/`, without `?` or `#`: /hooks/forms";
    let good = text.starts_with('/')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if good { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}
