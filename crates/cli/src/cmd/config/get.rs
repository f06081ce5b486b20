//! `formsvc config get`

use std::io::{self, Write};

use clap::Args;

use super::place;
use crate::config::File;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Show the value of a setting
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config get output\n  formsvc config get base_url --profile work"
)]
pub(crate) struct Get {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
}

impl Get {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let place = place(cx, &self.key)?;
        let Some(value) = File::load(&cx.settings.paths)?.get(&place.to_string())? else {
            return Err(CliError::new(Exit::NotFound, format!("`{place}` is not set")));
        };
        writeln!(io::stdout().lock(), "{value}").map_err(|error| CliError::stdout(&error))
    }
}
