//! `formsvc config get`

use std::io::{self, Write};

use clap::Args;

use super::effective;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::config::{self, SettingLocation, Value};

/// Print the effective value of a setting
///
/// Prints only the value, on one line. Exits with 3 if the setting has no value and no default. For a name
/// such as `profiles.work.output`, it prints the value in the file, even if a flag or variable overrides it.
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
        let place = SettingLocation::within(&self.key, Some(profile))
            .or_else(|_| SettingLocation::parse(&self.key))?;
        let value = if self.key.contains('.') {
            let entries = config::load(&cx.settings.paths)?;
            entries.get(place.profile.as_deref(), place.setting.name).map(Value::text)
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
