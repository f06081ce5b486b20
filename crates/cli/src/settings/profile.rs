//! Profiles, and the sources of their API keys.

use std::path::PathBuf;

use clap::ValueEnum;
use secrecy::SecretString;

use super::config::keys::Kind;
use super::config::{Entries, Value};
use crate::error::CliError;

/// The profile that commands use if no other is named.
pub(crate) const PROFILE_DEFAULT: &str = "default";
/// Longest name of a profile, in characters.
const PROFILE_MAX: usize = 64;

/// A store of API keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyStore {
    /// The keyring of the system
    #[default]
    Keyring,
    /// A file in the configuration folder that only its owner can read
    File,
}

/// A profile of the user's file. Its API key is sent to no other service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// The base URL.
    pub base_url: Option<String>,
    /// The store that contains the key.
    pub(crate) store: Option<KeyStore>,
    /// The program that prints the key, and its arguments; empty if there is none.
    pub api_key_command: Vec<String>,
}

impl Profile {
    /// Reads a profile. A setting that is missing or invalid counts as unset.
    pub(crate) fn read(entries: &Entries, name: &str) -> Self {
        let valid = |setting: &str, kind: Kind| {
            entries.get(Some(name), setting).filter(|value| value.check(kind).is_ok())
        };
        let store = valid("store", Kind::Store).map(Value::text);
        Self {
            name: name.to_owned(),
            base_url: valid("base_url", Kind::BaseUrl).map(Value::text),
            store: store.and_then(|store| KeyStore::from_str(&store, false).ok()),
            api_key_command: match valid("api_key_command", Kind::Words) {
                Some(Value::Words(words)) => words.clone(),
                _ => Vec::new(),
            },
        }
    }

    /// True if the file names a source of the key.
    pub(crate) fn has_key(&self) -> bool {
        self.store.is_some() || !self.api_key_command.is_empty()
    }
}

/// The source of a key that the user gives for one run. It is read only before a request.
#[derive(Debug)]
pub enum KeySource {
    /// Standard input.
    Stdin,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// The flag or variable with the path.
        named_by: &'static str,
    },
    /// The environment.
    Env(SecretString),
}

/// Checks the name of a profile, which is used in files, keyrings, dotted names and shell commands without
/// quoting.
pub(crate) fn check_profile(name: &str) -> Result<(), CliError> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_plain && !name.starts_with('-') && (1..=PROFILE_MAX).contains(&name.len()) {
        return Ok(());
    }
    let shown: String = name.chars().take(PROFILE_MAX).collect();
    let rule = Kind::ProfileName.rule();
    Err(CliError::usage(format!("`{shown}` cannot be the name of a profile: expected {rule}")))
}
