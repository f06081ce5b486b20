//! `formsvc auth use`

use clap::Args;

use super::profile::Profile;
use crate::base::env;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::config::{File, no_profile};

/// Set the default profile
///
/// `--profile` and FORMSVC_PROFILE take precedence over it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc auth use work\n  formsvc auth use default")]
pub(crate) struct Use {
    /// The profile
    #[arg(value_name = "NAME")]
    profile_name: String,
}

impl Use {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut file = File::load(&cx.settings.paths)?;
        let profile = Profile::read(&file, &self.profile_name)?;
        let known = file.profiles()?;
        if !known.contains(&profile.name) {
            return Err(no_profile(&profile.name, None, known.iter().map(String::as_str)));
        }
        file.set("profile", &profile.name)?;
        file.save()?;
        let at = profile.base_url.map(|url| format!(", for {url}")).unwrap_or_default();
        cx.progress.remark(&format!("the profile `{}` is used now{at}", profile.name));
        let variable = env::PROFILE.name;
        if env::of_process(variable).is_some_and(|named| !named.is_empty()) {
            cx.progress.warn(&format!("`{variable}` is set and takes precedence"));
        }
        Ok(())
    }
}
