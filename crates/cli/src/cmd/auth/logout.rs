//! `formsvc auth logout`

use clap::Args;

use super::profile::{Profile, of_this_run};
use super::{no_demo, warn_of_stronger};
use crate::account::credentials::{Account, Stores};
use crate::base::sanitize::one_line;
use crate::context::Context;
use crate::error::CliError;
use crate::form_cache;
use crate::settings::config::ConfigFile;
use crate::settings::{Service, Store};

/// Delete the stored API key of a profile
///
/// Removes every copy that is kept on this machine, and fails if one may be left. The key itself still
/// works: revoke it in the dashboard of the service if nobody is to use it any more.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth logout\n  formsvc auth logout --profile work\n  formsvc auth logout --all\n  formsvc auth logout --forget --profile work"
)]
pub(crate) struct Logout {
    /// Forget the keys of all profiles
    #[arg(long)]
    all: bool,
    /// Forget the profile as well: its service, and every setting of it
    #[arg(long)]
    forget: bool,
}

impl Logout {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let Service::At { base_url, .. } = &cx.settings.service else { return Err(no_demo()) };
        let (mut file, profile) = of_this_run(cx)?;
        let stores = Stores::of(&cx.settings);
        let (listed, unlisted) = stores.accounts();
        let profiles = if self.all {
            let mut profiles = Profile::all(&file)?;
            for account in &listed {
                if profiles.iter().all(|profile| profile.name != account.profile()) {
                    profiles.push(Profile::read(&file, account.profile())?);
                }
            }
            profiles
        } else {
            vec![of_its_own_service(profile, base_url.as_deref())?]
        };
        let (mut forgotten, mut failed) = (0, None);
        for profile in &profiles {
            // Whatever cannot be listed may be of any of them.
            let record = unlisted.is_none().then_some(&mut file);
            let done = forget(cx, &stores, record, profile, &listed).and_then(|any| {
                // Last: as long as a copy of the key may be left, it is known whose it is.
                if self.forget && unlisted.is_none() && file.profiles()?.contains(&profile.name) {
                    file.forget(&profile.name)?;
                    file.save()?;
                    let name = &profile.name;
                    cx.progress.remark(&format!("the profile `{name}` is forgotten"));
                }
                Ok(any)
            });
            match done {
                Ok(any) => forgotten += usize::from(any),
                // The others are forgotten all the same.
                Err(error) => failed = Some(failed.unwrap_or(error)),
            }
        }
        if let Some(error) = failed.or(unlisted.map(Into::into)) {
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

/// The profile, unless the run names another service than the one its key is kept for: which of the two
/// keys is meant, nobody said. A profile without a service has the one that the run names.
fn of_its_own_service(profile: Profile, named: Option<&str>) -> Result<Profile, CliError> {
    let Some(named) = named else { return Ok(profile) };
    let Some(own) = profile.account()? else {
        return Ok(Profile { base_url: Some(named.to_owned()), ..profile });
    };
    if own.origin() == Account::new(&profile.name, named)?.origin() {
        return Ok(profile);
    }
    let (name, origin) = (&profile.name, own.origin());
    Err(CliError::usage(format!("the profile `{name}` is for {origin}, and another address is named"))
        .hint("leave `--base-url` out, and unset FORMSVC_BASE_URL: logout forgets every key of the profile"))
}

/// Forgets every key of a profile, and then what the configuration says of them. Says whether there was
/// one.
fn forget(
    cx: &Context,
    stores: &Stores,
    record: Option<&mut ConfigFile>,
    profile: &Profile,
    listed: &[Account],
) -> Result<bool, CliError> {
    let own = profile.account()?;
    let listed = listed.iter().filter(|account| account.profile() == profile.name);
    let (mut any, mut failed) = (false, None);
    for account in own.iter().chain(listed) {
        match remove(cx, stores, account) {
            Ok(removed) => any |= removed,
            Err(error) => failed = Some(failed.unwrap_or(error)),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    form_cache::remove(&cx.settings.paths, &profile.name);
    let Some(file) = record else { return Ok(any) };
    if !profile.command.is_empty() {
        let (name, command) = (&profile.name, profile.command.join(" "));
        cx.progress.remark(&format!("the profile `{name}` no longer asks `{command}` for a key"));
    }
    if file.profiles()?.contains(&profile.name) {
        // `store = "file"` stays: it is a choice of the user, and the default of the next login.
        let store = profile.store.filter(|store| *store == Store::File);
        Profile::set_kept(file, &profile.name, store, &[])?;
        file.save()?;
    }
    Ok(any || !profile.command.is_empty())
}

/// Removes every copy of one key, and says whether there was one.
fn remove(cx: &Context, stores: &Stores, account: &Account) -> Result<bool, CliError> {
    let removed = stores.remove(account)?;
    for store in &removed {
        let place = stores.place(*store);
        let (name, origin) = (account.profile(), one_line(account.origin()));
        cx.progress.remark(&format!("removed from {place}: the key of `{name}` for {origin}"));
    }
    Ok(!removed.is_empty())
}
