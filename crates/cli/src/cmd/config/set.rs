//! `formsvc config set`

use clap::Args;

use super::{hidden, no_key_is_left, place};
use crate::account::key::KEY_PREFIX;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::PROFILE_DEFAULT;
use crate::settings::config::{File, NO_KEYS, PROFILE, no_profile};

/// Save a setting, in the profile of `--profile` or for all profiles
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config set output json\n  formsvc config set pager false\n  formsvc config set base_url https://staging.example --profile staging"
)]
pub(crate) struct Set {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
    /// Its value
    #[arg(allow_hyphen_values = true)]
    value: String,
}

impl Set {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let place = place(cx, &self.key)?;
        if self.value.contains(KEY_PREFIX) {
            return Err(CliError::usage(format!("`{place}` cannot hold an API key")).hint(NO_KEYS));
        }
        let mut file = File::load(&cx.settings.paths)?;
        if place.setting.name == PROFILE.name {
            exists(&file, &self.value)?;
        }
        if place.setting.name == "base_url" {
            no_key_is_left(cx, &file, &place, Some(&self.value))?;
        }
        file.set(&place.to_string(), &self.value)?;
        file.save()?;
        hidden(cx, &place);
        Ok(())
    }
}

/// A profile that is not there would stop every command that comes after.
fn exists(file: &File, profile: &str) -> Result<(), CliError> {
    let known = file.profiles()?;
    if profile == PROFILE_DEFAULT || known.iter().any(|known| known == profile) {
        return Ok(());
    }
    Err(no_profile(profile, None, known.iter().map(String::as_str)))
}
