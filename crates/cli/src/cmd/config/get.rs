//! `formsvc config get`

use std::io::{self, Write};

use clap::Args;

use super::effective;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::config::{File, Place};

/// Print the effective value of a setting
///
/// The value alone, on one line. A setting that nobody set and that has no default is exit 3. A name
/// such as `profiles.work.output` asks what the file says there, whatever counts.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config get output\n  formsvc config get timeout --profile default"
)]
pub(crate) struct Get {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
}

impl Get {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let profile = &cx.settings.profile;
        let place = Place::within(&self.key, Some(profile)).or_else(|_| Place::parse(&self.key))?;
        let value = if self.key.contains('.') {
            File::load(&cx.settings.paths)?.get(&self.key)?
        } else {
            let row = cx.settings.resolved.row(place.setting.name);
            row.and_then(|row| effective(cx, row))
        };
        let Some(value) = value else {
            return Err(CliError::new(Exit::NotFound, format!("`{place}` is not set")));
        };
        writeln!(io::stdout().lock(), "{value}").map_err(|error| CliError::stdout(&error))
    }
}
