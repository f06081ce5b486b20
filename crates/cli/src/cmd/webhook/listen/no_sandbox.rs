//! A build without the sandbox cannot start one.

use clap::Args;
use formsvc_client::Client;
use formsvc_protocol::RetrySchedule;
use formsvc_workbench::secrets::SigningSecrets;

use super::is_demo;
use crate::context::Context;
use crate::error::CliError;

#[derive(Debug, Args)]
pub(super) struct SandboxArgs {}

pub(super) enum ListenSandbox {}

#[expect(clippy::unused_self, clippy::unused_async, reason = "the signatures of the sandbox")]
impl SandboxArgs {
    pub(super) fn is_used(&self, cx: &Context) -> bool {
        is_demo(cx)
    }

    pub(super) async fn start(
        &self,
        cx: &Context,
        _: &str,
        _: Option<&str>,
        _: RetrySchedule,
        _: &mut SigningSecrets,
    ) -> Result<Option<ListenSandbox>, CliError> {
        if is_demo(cx) {
            return Err(CliError::usage("this build has no sandbox, which `--demo` needs"));
        }
        Ok(None)
    }
}

impl ListenSandbox {
    pub(super) fn client(&self, _: &Context) -> Result<Client, CliError> {
        match *self {}
    }

    pub(super) fn report(&self, _: &Context, _: bool) {
        match *self {}
    }
}
