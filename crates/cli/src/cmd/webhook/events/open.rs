//! `formsvc webhook events open`

use std::time::Duration;

use clap::Args;
use formsvc_workbench::forward::MAX_RESPONSE_BODY;
use formsvc_workbench::inspector::{Inspector, InspectorState};

use super::super::args::{SecretArgs, SenderArgs};
use super::super::captures;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::args::whole;

/// Time for open requests of the browser after a signal.
const STOP_TIME: Duration = Duration::from_secs(1);

/// Show recorded deliveries in a browser
///
/// Serves the inspector on this machine, prints its URL, and stops with Ctrl-C. The page lists deliveries, new
/// ones included, explains their signatures and replays them. The URL contains a token that gives access to the
/// deliveries, so keep it secret. Only replays and explanations need a signing secret.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events open\n  formsvc webhook events open --ui-port 4401 --secret-file secret.txt"
)]
pub(crate) struct Open {
    /// Port of the inspector; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = whole::<u16>(0..=65_535))]
    ui_port: u16,
    /// Do not mask signatures and secrets. They allow others to replay the deliveries
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl Open {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let state = InspectorState {
            store: captures::require(cx).await?,
            live: None,
            secrets: self.secrets.read_or_stored(cx).await?,
            sender: self.requests.sender(cx, MAX_RESPONSE_BODY)?,
            forwarder: None,
            listener: None,
            reveal: self.reveal,
        };
        let inspector = Inspector::start(self.ui_port, state)?;
        cx.output.exactly(format!("{}\n", inspector.url()).as_bytes())?;
        cx.progress.remark("Ctrl-C stops it. The URL contains a secret token");
        cx.shutdown.drain_within(STOP_TIME).cancelled().await;
        inspector.stop().await;
        Ok(())
    }
}
