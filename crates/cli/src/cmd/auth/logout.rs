//! `formsvc auth logout`

use clap::Args;

use super::profile::{Profile, of_this_run};
use super::{no_demo, stores, warn_of_stronger};
use crate::config::File;
use crate::context::Context;
use crate::credentials::{Account, Stores};
use crate::error::CliError;
use crate::settings::Service;

/// Forget the API key of a profile
///
/// Removes every copy that is kept on this machine, and fails if one may be left. The key itself still
/// works: revoke it in the dashboard of the service if nobody is to use it any more.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth logout\n  formsvc auth logout --profile work\n  formsvc auth logout --all"
)]
pub(crate) struct Logout {
    /// Forget the keys of all profiles
    #[arg(long)]
    all: bool,
}

impl Logout {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let Service::At { base_url, .. } = &cx.settings.service else { return Err(no_demo()) };
        let (mut file, mut profile) = of_this_run(cx)?;
        let profiles = if self.all {
            Profile::all(&file)?
        } else {
            profile.base_url = base_url.clone().or(profile.base_url);
            vec![profile]
        };
        let stores = stores(cx)?;
        let (mut forgotten, mut failed) = (0, None);
        for profile in &profiles {
            match forget(cx, &stores, &mut file, profile) {
                Ok(any) => forgotten += usize::from(any),
                // The others are forgotten all the same.
                Err(error) => failed = Some(failed.unwrap_or(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if forgotten > 0 {
            cx.progress.remark(
                "the key itself still works: revoke it in the dashboard of the service if nobody is to use it",
            );
        } else {
            cx.progress.remark(&match &*profiles {
                [one] => format!("no key is kept for the profile `{}`", one.name),
                _ => "no key is kept".to_owned(),
            });
        }
        warn_of_stronger(cx);
        Ok(())
    }
}

/// Forgets the key of a profile, and says whether there was one.
fn forget(
    cx: &Context,
    stores: &Stores,
    file: &mut File,
    profile: &Profile,
) -> Result<bool, CliError> {
    let account = match &profile.base_url {
        Some(base_url) => Account::new(&profile.name, base_url)?.kept_in(profile.store),
        None => return Ok(false),
    };
    let removed = stores.remove(&account)?;
    for store in &removed {
        let place = stores.place(*store);
        let (name, origin) = (account.profile(), account.origin());
        cx.progress.remark(&format!("removed from {place}: the key of `{name}` for {origin}"));
    }
    if !profile.command.is_empty() {
        let (name, command) = (&profile.name, profile.command.join(" "));
        cx.progress.remark(&format!("the profile `{name}` no longer asks `{command}` for a key"));
    }
    if file.profiles()?.contains(&profile.name) {
        Profile::set_kept(file, &profile.name, None, &[])?;
        file.save()?;
    }
    Ok(!removed.is_empty() || !profile.command.is_empty())
}
