//! Profiles, and the sources of their API keys.

use std::path::PathBuf;

use clap::ValueEnum;
use secrecy::SecretString;

use crate::base::masked::without_secrets;
use crate::error::CliError;

/// Longest name of a profile, in characters.
const PROFILE_MAX: usize = 64;

/// A store of API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// The keyring of the system
    Keyring,
    /// A file in the configuration folder that only its owner can read
    File,
}

/// The stores that may be used: `FORMSVC_CREDENTIAL_STORE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreChoice {
    /// Both stores, the keyring first.
    #[default]
    Auto,
    Keyring,
    File,
}

/// The service of a profile, from the user's file. The API key of the profile is sent to no other service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileService {
    /// The base URL.
    pub base_url: Option<String>,
    /// The store that contains the key.
    pub(crate) store: Option<Store>,
    /// The program that prints the key, and its arguments; empty if there is none.
    pub api_key_command: Vec<String>,
}

impl ProfileService {
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
    let shown: String = without_secrets(name).chars().take(PROFILE_MAX).collect();
    Err(CliError::usage(format!("`{shown}` cannot be the name of a profile")).hint(
        "a name has up to 64 characters of A-Z, a-z, 0-9, `-` and `_`, and does not begin with `-`",
    ))
}
