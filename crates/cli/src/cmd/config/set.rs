//! `formsvc config set`

use clap::Args;

use super::{check_no_key_is_left, place, report_precedence};
use crate::base::masked::secret_prefix;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::PROFILE_DEFAULT;
use crate::settings::config::{self, NO_KEYS, PROFILE, no_profile};

/// Save a setting, in the profile of `--profile` or for all profiles
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config set output json\n  formsvc config set pager false\n  formsvc config set base_url https://staging.example --profile staging"
)]
pub(crate) struct Set {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    value: String,
}

impl Set {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let place = place(cx, &self.key)?;
        if secret_prefix(&self.value).is_some() {
            let what = format!("`{place}` cannot contain an API key or a signing secret");
            return Err(CliError::usage(what).hint(NO_KEYS));
        }
        let paths = &cx.settings.paths;
        if place.setting.name == PROFILE.name && self.value != PROFILE_DEFAULT {
            // A missing profile would stop every later command.
            let known = config::load(paths)?.profiles;
            if !known.contains(&self.value) {
                return Err(no_profile(&self.value, None, &known));
            }
        }
        if place.setting.name == "base_url" {
            check_no_key_is_left(cx, &place, Some(&self.value))?;
        }
        config::edit(paths, |edit| edit.set(&place.to_string(), &self.value))?;
        report_precedence(cx, &place);
        Ok(())
    }
}
