//! A listener that answers: what it is made of, and in which order that goes.

use std::path::PathBuf;

use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use jiff::Timestamp;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc::Receiver;
use url::Url;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::key::aside;
use crate::webhook::history::{History, REMEMBERED};
use crate::webhook::inspector::{Inspected, Inspector, InspectorArgs};
use crate::webhook::listen::engine::Engine;
use crate::webhook::listen::happened::Happened;
use crate::webhook::listen::intake::{Intake, Rules};
use crate::webhook::listen::policy::OnInvalid;
use crate::webhook::listen::ready::ReadyFile;
use crate::webhook::listen::record::Ready;
use crate::webhook::listen::server::{Server, Sockets};
use crate::webhook::mask;
use crate::webhook::secrets::Secrets;
use crate::webhook::store::Store;

/// What is known of a listener before it answers.
pub(super) struct Facts {
    pub(super) url: String,
    /// The same, to be sent to.
    pub(super) address: Url,
    /// The only path that deliveries are taken at.
    pub(super) path: Option<String>,
    pub(super) on_invalid: OnInvalid,
    pub(super) secrets: Secrets,
    /// What it forwards to.
    pub(super) targets: Vec<Url>,
    /// When the sender tries again.
    pub(super) schedule: RetrySchedule,
    /// Whether signatures are shown.
    pub(super) reveal: bool,
}

/// A listener that answers. What holds something beyond this process ends by [`end`](Self::end).
pub(super) struct Running {
    pub(super) facts: Facts,
    pub(super) engine: Engine,
    pub(super) server: Server,
    pub(super) intake: Intake,
    pub(super) happened: Receiver<Happened>,
    inspector: Option<Inspector>,
    store: Store,
    ready_file: Option<ReadyFile>,
}

impl Running {
    /// Begins to answer.
    pub(super) async fn start(
        facts: Facts,
        rules: Rules,
        (engine, sockets): (Engine, Sockets),
        store: Store,
        (page, sender): (InspectorArgs, HttpSender),
    ) -> Result<Self, CliError> {
        let history = History::new(REMEMBERED, facts.schedule);
        let (intake, happened) = Intake::new(rules, history, store.clone());
        let inspected = Inspected {
            store: store.clone(),
            bus: intake.bus(),
            secrets: facts.secrets.clone(),
            targets: facts.targets.clone(),
            address: facts.address.clone(),
            sender,
            schedule: facts.schedule,
            reveal: facts.reveal,
        };
        let inspector = match engine.within(|| Inspector::start(page, inspected)) {
            Ok(inspector) => inspector,
            Err(error) => {
                store.close().await;
                return Err(error);
            }
        };
        let server = engine.within(|| Server::start(sockets, intake.clone()));
        let ready_file = None;
        Ok(Self { facts, engine, server, intake, happened, inspector, store, ready_file })
    }

    /// What is told once it answers.
    pub(super) fn ready(&self) -> Ready<'_> {
        let facts = &self.facts;
        Ready {
            at: Timestamp::now(),
            url: &facts.url,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            secrets: facts.secrets.0.iter().map(|(name, _)| &**name).collect(),
            on_invalid: facts.on_invalid.name(),
            path: facts.path.as_deref(),
            targets: facts
                .targets
                .iter()
                .map(|url| mask::url(url.as_str(), facts.reveal))
                .collect(),
            store: self.store.folder().map(|folder| folder.display().to_string()),
            ui_url: self.inspector.as_ref().map(Inspector::url),
        }
    }

    /// Writes the ready file, which goes with the listener.
    pub(super) async fn write_ready(
        &mut self,
        path: PathBuf,
        cx: &Context,
    ) -> Result<(), CliError> {
        let content = to_raw_value(&self.ready()).map_err(|error| {
            CliError::new(Exit::Failed, "the ready file cannot be written").because(&error)
        })?;
        let abort = cx.abort.clone();
        let written = aside(move || ReadyFile::write(path, &content, &abort)).await?;
        self.ready_file = Some(written?);
        Ok(())
    }

    /// Answers nobody any more, and carries out what is left.
    pub(super) async fn end(self) {
        let Self { engine, server, inspector, store, ready_file, .. } = self;
        drop(server);
        // Only now: whoever sees it gone finds nobody who answers.
        drop(ready_file);
        if let Some(inspector) = inspector {
            inspector.stop().await;
        }
        store.close().await;
        drop(engine);
    }
}
