//! A profile as the configuration has it.

use clap::ValueEnum;

use crate::account::credentials::Account;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::Kept;
use crate::settings::config::{File, Place, Value};
use crate::settings::{Store, check_profile};

/// A profile as the configuration has it: which service, and where the key is.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    /// Where the key was put.
    pub(super) store: Option<Store>,
    /// What prints the key: a program and its arguments.
    pub(super) command: Vec<String>,
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
            command: match file.value(&Place::parse(&place(name, "api_key_command"))?)? {
                Some(Value::Words(words)) => words,
                _ => Vec::new(),
            },
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
        if self.command.is_empty() { self.store.map(Store::name) } else { Some("command") }
    }

    /// What settings would say of it, were it the profile of this run.
    pub(super) fn settings(&self) -> Kept {
        Kept {
            base_url: self.base_url.clone(),
            store: self.store,
            api_key_command: self.command.clone(),
        }
    }

    /// Has the configuration say what it said of this profile when it was read.
    pub(super) fn put_back(&self, file: &mut File, was_none_in_use: bool) -> Result<(), CliError> {
        let (name, at) = (&self.name, place(&self.name, "base_url"));
        match &self.base_url {
            Some(base_url) => file.set(&at, base_url)?,
            None => file.unset(&at)?,
        }
        Self::set_kept(file, name, self.store, &self.command)?;
        if was_none_in_use {
            file.unset("profile")?;
        }
        file.save()
    }

    /// What the configuration is told of where the key is.
    pub(super) fn set_kept(
        file: &mut File,
        name: &str,
        store: Option<Store>,
        command: &[String],
    ) -> Result<(), CliError> {
        let (at, at_command) = (place(name, "store"), place(name, "api_key_command"));
        match store {
            Some(store) => file.set(&at, store.name())?,
            None => file.unset(&at)?,
        }
        match command {
            [] => file.unset(&at_command),
            words => file.set(&at_command, &serde_json::json!(words).to_string()),
        }
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
