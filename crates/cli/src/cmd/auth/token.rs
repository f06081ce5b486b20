//! `formsvc auth token`

use std::io::{self, Write};

use clap::Args;
use secrecy::ExposeSecret;

use super::service;
use crate::account::key;
use crate::context::{Context, no_base_url};
use crate::error::CliError;

/// Print the API key, for use by other programs
///
/// Prints only the key. A terminal shows it only with --reveal, because other people may see or record the
/// screen.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  (umask 077; formsvc auth token --profile work > key)\n  FORMSVC_API_KEY=$(formsvc auth token) python3 report.py"
)]
pub(crate) struct Token {
    /// Show the key on a terminal
    #[arg(long)]
    reveal: bool,
}

impl Token {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let (base_url, key) = service(cx);
        if cx.settings.terminal.stdout && !self.reveal {
            return Err(CliError::usage("the key is not shown on a terminal")
                .hint("write it to a pipe or file, or show it with `--reveal`"));
        }
        let base_url = base_url.ok_or_else(no_base_url)?;
        let key = key::find(&cx.settings, key, base_url, &cx.progress).await??.key;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", key.expose_secret())
            .and_then(|()| out.flush())
            .map_err(|error| CliError::stdout(&error))
    }
}
