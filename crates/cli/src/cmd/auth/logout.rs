//! `formsvc auth logout`

use clap::Args;

use super::{service, setting, warn_of_stronger};
use crate::account::credentials::{Account, Stores};
use crate::context::Context;
use crate::error::CliError;
use crate::form_cache;
use crate::settings::{KeyStore, Profile, config};

/// Delete the stored API key of a profile
///
/// Fails if a copy of the key may be left on this machine. The key itself stays valid: revoke it in the
/// dashboard of the service if it is not needed any more.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth logout\n  formsvc auth logout --profile work\n  formsvc auth logout --forget --profile work"
)]
pub(crate) struct Logout {
    /// Also remove the profile with all its settings
    #[arg(long)]
    forget: bool,
}

impl Logout {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let (base_url, _) = service(cx);
        let profile = &cx.settings.saved_profile;
        let name = &profile.name;
        let account = account(profile, base_url.map(String::as_str))?;
        let stores = Stores::of(&cx.settings);
        let removed = account.as_ref().map_or(Ok(Vec::new()), |account| stores.remove(account))?;
        for (store, account) in removed.iter().zip(std::iter::repeat(account.as_ref())) {
            let origin = account.map(Account::origin).unwrap_or_default();
            let place = stores.place(*store);
            cx.progress.remark(&format!("removed from {place}: the key of `{name}` for {origin}"));
        }
        form_cache::remove(&cx.settings.paths, name);
        if !profile.api_key_command.is_empty() {
            let command = profile.api_key_command.join(" ");
            cx.progress.remark(&format!("the profile `{name}` no longer runs `{command}`"));
        }
        let is_saved = cx.settings.resolved.profiles.contains(name);
        if is_saved {
            config::edit(&cx.settings.paths, |edit| {
                if self.forget {
                    edit.forget(name);
                    return Ok(());
                }
                // `store = "file"` stays: it is the default of the next login.
                if profile.store != Some(KeyStore::File) {
                    edit.unset(&setting(name, "store"))?;
                }
                edit.unset(&setting(name, "api_key_command"))
            })?;
        }
        if self.forget && is_saved {
            cx.progress.remark(&format!("removed the profile `{name}`"));
        }
        if !removed.is_empty() {
            cx.progress.remark(
                "the key itself is still valid: revoke it in the dashboard of the service if it is not needed",
            );
        } else if profile.api_key_command.is_empty() {
            cx.progress.remark(&format!("no key is stored for the profile `{name}`"));
        }
        warn_of_stronger(cx);
        Ok(())
    }
}

/// Returns the account of the key to delete. Fails if the run names another service than the profile, because
/// it is then not clear which key to delete.
fn account(profile: &Profile, named: Option<&str>) -> Result<Option<Account>, CliError> {
    let own = Account::of_profile(profile)?;
    let Some(named) = named.map(|url| Account::new(&profile.name, url)).transpose()? else {
        return Ok(own);
    };
    match own {
        Some(own) if own.origin() != named.origin() => {
            let (name, origin) = (&profile.name, own.origin());
            let what = format!("the profile `{name}` is for {origin}, not for the given base URL");
            Err(CliError::usage(what).hint("leave out `--base-url`, and unset FORMSVC_BASE_URL"))
        }
        Some(own) => Ok(Some(own)),
        None => Ok(Some(named)),
    }
}
