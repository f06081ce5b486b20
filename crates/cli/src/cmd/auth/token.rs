//! `formsvc auth token`

use std::io::{self, Write};

use clap::Args;
use secrecy::ExposeSecret;

use super::no_demo;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::Service;

/// Print the API key, for use by other programs
///
/// Nothing else is printed. On a terminal it takes --reveal: what stands on a screen is seen, recorded
/// and scrolled back to.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  (umask 077; formsvc auth token --profile work > key)\n  FORMSVC_API_KEY=$(formsvc auth token) python3 report.py"
)]
pub(crate) struct Token {
    /// Show it on a terminal too
    #[arg(long)]
    reveal: bool,
}

impl Token {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if matches!(cx.settings.service, Service::Demo) {
            return Err(no_demo());
        }
        if cx.settings.terminal.stdout && !self.reveal {
            return Err(CliError::usage("the key is not shown on a terminal")
                .hint("pipe it to where it is needed, or show it with `--reveal`"));
        }
        let key = super::key(cx).await?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", key.expose_secret())
            .and_then(|()| out.flush())
            .map_err(|error| CliError::stdout(&error))
    }
}
