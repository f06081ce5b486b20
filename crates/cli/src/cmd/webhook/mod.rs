//! `formsvc webhook …`: commands over the crate formsvc-workbench.

pub(in crate::cmd) mod args;
mod captures;
pub(crate) mod check;
pub(in crate::cmd) mod events;
mod expectation;
pub(in crate::cmd) mod fields;
mod line;
mod listen;
pub(in crate::cmd) mod replay;
pub(in crate::cmd) mod secret;
pub(super) mod sign;
mod trigger;
pub(super) mod verify;

use clap::Subcommand;

pub(in crate::cmd) use trigger::FIELDS as TRIGGER_FIELDS;

use crate::context::Context;
use crate::error::CliError;
use crate::settings::Service;

/// Receive, verify, send and replay webhook deliveries, and check receivers
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    Listen(listen::Listen),
    Trigger(trigger::Trigger),
    Verify(verify::Verify),
    Sign(sign::Sign),
    Check(check::CheckReceiver),
    Replay(replay::Replay),
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Show, compare, export and delete recorded deliveries (captures)
    #[command(subcommand)]
    Events(events::Events),
}

impl Webhook {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if cfg!(not(feature = "sandbox")) && is_demo(cx) {
            return Err(CliError::usage("this build has no sandbox, which `--demo` needs"));
        }
        match self {
            Self::Listen(listen) => Box::pin(listen.run(cx)).await,
            Self::Trigger(trigger) => trigger.run(cx).await,
            Self::Verify(verify) => verify.run(cx).await,
            Self::Sign(sign) => sign.run(cx).await,
            Self::Check(check) => check.run(cx).await,
            Self::Replay(replay) => replay.run(cx).await,
            Self::Secret(secret) => secret.run(cx).await,
            Self::Events(events) => events.run(cx).await,
        }
    }
}

/// Returns true with `--demo`.
fn is_demo(cx: &Context) -> bool {
    matches!(cx.settings.service, Service::Demo)
}
