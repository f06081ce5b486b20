//! `formsvc config set`

use clap::Args;

use super::place;
use crate::config::File;
use crate::context::Context;
use crate::error::CliError;

/// Set a setting, in the profile named by `--profile` or for all profiles
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config set output json\n  formsvc config set base_url https://forms.example --profile work"
)]
pub(crate) struct Set {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
    /// Its value
    value: String,
}

impl Set {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let place = place(cx, &self.key)?;
        let mut file = File::load(&cx.settings.paths)?;
        file.set(&place.to_string(), &self.value)?;
        file.save()
    }
}
