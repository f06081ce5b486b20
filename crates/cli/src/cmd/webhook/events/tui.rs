//! `formsvc webhook events tui`

use clap::Args;
use formsvc_contract::send::ANSWER_MAX;
use formsvc_protocol::RetrySchedule;
use tokio::runtime::Handle;

use super::list::List;
use crate::context::Context;
use crate::error::CliError;
use crate::webhook::kept::{FilterArgs, some_captures};
use crate::webhook::secrets::{SecretArgs, Secrets};
use crate::webhook::sender::{SenderArgs, Timeout, answer_limit};
use crate::webhook::tui::{self, Watched};

/// Browse and replay recorded deliveries in a terminal interface
///
/// What listeners on this machine received and kept, and what they go on to keep: a list, and of each
/// delivery its request, its answers, its verdict and its other attempts. `?` tells the keys. Replays are
/// signed with the secret that is given; without one they go with the signature they came with. Where there
/// is no terminal, it is `events list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events tui\n  formsvc webhook events tui --status failed --secret-file secret.txt"
)]
pub(crate) struct Tui {
    #[command(flatten)]
    filter: FilterArgs,
    /// Show signatures and secrets whole; whoever has them can replay the delivery
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl Tui {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let instead = |why: &str| format!("no interface, but a list: {why}");
        if !tui::can_be_shown(cx, cx.output.is_for_reading(), instead) {
            return List::of(self.filter).run(cx).await;
        }
        let captures = some_captures(cx).await?;
        let limit = answer_limit(cx, Timeout::OfAnswers);
        let sender = self.requests.sender(cx, limit, ANSWER_MAX)?;
        let watched = Watched {
            captures,
            bus: None,
            secrets: self.signing(cx).await?,
            plain: sender.clone(),
            sender,
            schedule: RetrySchedule::default(),
            address: None,
            targets: Vec::new(),
            reveal: self.reveal,
            within: self.filter.query(cx)?,
            narrowed: self.filter.is_given(),
            colors: cx.output.has_colors(),
            runtime: Handle::current(),
            abort: cx.abort.clone(),
        };
        let mut shown = tui::Tui::start(watched, &cx.progress)?;
        let ended = shown.ended().await;
        shown.leave().await;
        ended
    }

    /// The secrets, if there are any. Captures of a demo are of an endpoint of its own.
    async fn signing(&self, cx: &Context) -> Result<Secrets, CliError> {
        let secrets = self.secrets.read(cx).await?;
        #[cfg(feature = "sandbox")]
        if secrets.is_empty() && matches!(cx.settings.service, crate::settings::Service::Demo) {
            return Ok(crate::webhook::kept::demo_secrets());
        }
        Ok(secrets)
    }
}
