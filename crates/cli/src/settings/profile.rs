//! Names of profiles, and where the key of a profile is stored.

use std::path::PathBuf;

use clap::ValueEnum;
use secrecy::SecretString;

use crate::error::CliError;

const PROFILE_MAX: usize = 64;

/// Where a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// The keyring of the system
    Keyring,
    /// A file in the configuration folder that only its owner can read
    File,
}

/// Where keys may be looked for and kept: `FORMSVC_CREDENTIAL_STORE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    /// In both; the keyring is asked first.
    #[default]
    Auto,
    /// In the keyring alone.
    Keyring,
    /// In the file alone.
    File,
}

/// Where the key is that the caller gives; read only when a request is about to be made.
#[derive(Debug)]
pub enum KeySource {
    /// Standard input.
    Stdin,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// The flag or variable that names it.
        named_by: &'static str,
    },
    /// The environment.
    Env(SecretString),
}

/// Names that can stand in a file, a keyring, a dotted name and a shell's line as they are.
pub(crate) fn check_profile(name: &str) -> Result<(), CliError> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if plain && !name.starts_with('-') && (1..=PROFILE_MAX).contains(&name.len()) {
        return Ok(());
    }
    let shown: String = name.chars().take(PROFILE_MAX).collect();
    Err(CliError::usage(format!("`{shown}` cannot be the name of a profile"))
        .hint("a name has up to 64 of A-Z, a-z, 0-9, `-` and `_`, and does not begin with `-`"))
}
