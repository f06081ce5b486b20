//! `formsvc config path`

use std::io::{self, Write};

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::settings::config::path_in;

/// Print the path of the configuration file
///
/// The file need not exist.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc config path\n  cat \"$(formsvc config path)\"")]
pub(crate) struct Path {}

impl Path {
    #[expect(clippy::unused_self, reason = "all commands have a method `run`")]
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let path = path_in(&cx.settings.paths)?;
        let shown = path.as_os_str().as_encoded_bytes();
        let mut out = io::stdout().lock();
        out.write_all(shown)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| CliError::stdout(&error))
    }
}
