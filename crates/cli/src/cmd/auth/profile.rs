//! A profile as the configuration has it.

use clap::ValueEnum;

use crate::config::File;
use crate::context::Context;
use crate::credentials::{Account, Store, check_profile};
use crate::error::CliError;

/// A profile as the configuration has it: which service, and where the key is.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    /// Where the key was put.
    pub(super) store: Option<Store>,
    /// What prints the key.
    pub(super) command: Option<String>,
}

impl Profile {
    /// Reads one; what is not set there is absent. Refuses what cannot be the name of a profile.
    pub(super) fn read(file: &File, name: &str) -> Result<Self, CliError> {
        check_profile(name)?;
        let get = |setting: &str| file.get(&place(name, setting));
        let store = get("store")?.and_then(|store| Store::from_str(&store, false).ok());
        Ok(Self {
            name: name.to_owned(),
            base_url: get("base_url")?,
            store,
            command: get("api_key_command")?,
        })
    }

    /// All of them, by name.
    pub(super) fn all(file: &File) -> Result<Vec<Self>, CliError> {
        let mut names = file.profiles()?;
        names.sort_unstable();
        names.iter().map(|name| Self::read(file, name)).collect()
    }

    /// Whose key is kept for it; nobody's where it has no service.
    pub(super) fn account(&self) -> Result<Option<Account>, CliError> {
        let account = self.base_url.as_ref().map(|base_url| Account::new(&self.name, base_url));
        Ok(account.transpose()?.map(|account| account.kept_in(self.store)))
    }

    /// Where the key is, in a word.
    pub(super) fn kept(&self) -> Option<&'static str> {
        if self.command.is_some() { Some("command") } else { self.store.map(Store::name) }
    }

    /// What the configuration is told of where the key is.
    pub(super) fn set_kept(
        file: &mut File,
        name: &str,
        store: Option<Store>,
    ) -> Result<(), CliError> {
        let at = place(name, "store");
        match store {
            Some(store) => file.set(&at, store.name())?,
            None => file.unset(&at)?,
        }
        file.unset(&place(name, "api_key_command"))
    }
}

/// Where a setting of a profile stands in the configuration.
pub(super) fn place(profile: &str, setting: &str) -> String {
    format!("profiles.{profile}.{setting}")
}

/// The configuration, and the profile of this run in it.
pub(super) fn of_this_run(cx: &Context) -> Result<(File, Profile), CliError> {
    let file = File::load(&cx.settings.paths)?;
    let profile = Profile::read(&file, &cx.settings.profile)?;
    Ok((file, profile))
}
