//! `formsvc auth use`

use clap::Args;

use super::profile::Profile;
use crate::config::File;
use crate::context::Context;
use crate::env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::suggest;

/// Use a profile from now on, unless a flag or a variable names another
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
            return Err(unknown(&profile.name, &known));
        }
        file.set("profile", &profile.name)?;
        file.save()?;
        let at = profile.base_url.map(|url| format!(", for {url}")).unwrap_or_default();
        cx.progress.remark(&format!("the profile `{}` is used now{at}", profile.name));
        let variable = env::PROFILE.name;
        if env::of_process(variable).is_some_and(|named| !named.is_empty()) {
            cx.progress.remark(&format!("warning: `{variable}` is set, and stronger"));
        }
        Ok(())
    }
}

fn unknown(name: &str, known: &[String]) -> CliError {
    let error = CliError::new(Exit::NotFound, format!("there is no profile `{name}`"));
    match suggest::did_you_mean(name, known.iter().map(String::as_str)) {
        Some(meant) => error.hint(meant),
        None => error.hint("`formsvc auth list` shows them; `formsvc auth login` makes one"),
    }
}
