//! `formsvc auth use`

use clap::Args;

use crate::base::env;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::config::{self, no_profile};
use crate::settings::{Profile, check_profile};

/// Set the default profile
///
/// `--profile` and FORMSVC_PROFILE take precedence over it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc auth use work\n  formsvc auth use default")]
pub(crate) struct Use {
    /// Name of the profile
    #[arg(value_name = "NAME")]
    profile_name: String,
}

impl Use {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let name = &self.profile_name;
        check_profile(name)?;
        let entries = config::load(&cx.settings.paths)?;
        if !entries.profiles.contains(name) {
            return Err(no_profile(name, None, &entries.profiles));
        }
        config::edit(&cx.settings.paths, |edit| edit.set("profile", name))?;
        let base_url = Profile::read(&entries, name).base_url;
        let service = base_url.map(|url| format!(", for {url}")).unwrap_or_default();
        cx.progress.remark(&format!("the default profile is now `{name}`{service}"));
        let variable = env::PROFILE.name;
        if env::of_process(variable).is_some_and(|named| !named.is_empty()) {
            cx.progress.warn(&format!("`{variable}` is set and takes precedence"));
        }
        Ok(())
    }
}
