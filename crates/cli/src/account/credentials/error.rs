//! Errors of the stores of keys.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use super::KEYRING_MAX;
use crate::base::files::FileError;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::KeyStore;

/// The error of a store. No text in it is a part of a key or of a key file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The user must unlock the keyring.
    #[error("the keyring is locked")]
    Locked,
    #[error("there is no keyring: {0}")]
    Absent(Absence),
    #[error("the keyring did not respond within {} s", KEYRING_MAX.as_secs())]
    Silent,
    #[error("the keyring failed")]
    Keyring(#[source] Box<dyn Error + Send + Sync>),
    #[error("the keyring has {0} entries for this account")]
    Ambiguous(usize),
    #[error("the key file has no folder: neither FORMSVC_CONFIG_DIR nor a home folder is set")]
    NoFolder,
    /// The key file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of the key file is not valid. `problem` contains no part of the content.
    #[error("`{}` is not a valid key file: {problem}", path.display())]
    Malformed { path: PathBuf, problem: String },
    /// The store returns another key than the one that was just stored.
    #[error("the {} does not return the key that was just stored", .0.name())]
    NotKept(KeyStore),
    /// A copy could not be removed.
    #[error("a copy of the key may still be in the {}", store.name())]
    Survives {
        store: KeyStore,
        #[source]
        why: Box<StoreError>,
    },
    /// The entry of signing secrets was changed by another program.
    #[error("the {} has an entry for signing secrets that is not a list of secrets", .0.name())]
    BadSecrets(KeyStore),
    #[error("the API key {0}")]
    NotAKey(&'static str),
}

/// The reason why there is no keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// No desktop session: over SSH, in a container, in CI.
    NoBus,
    /// A session without a secret service.
    NoService,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoBus => "no D-Bus session is running, as over SSH, in a container or in CI",
            Self::NoService => "this session has no secret service (org.freedesktop.secrets)",
        })
    }
}

/// Alternatives to a keyring.
const ALTERNATIVES: &str = "without a keyring, store the key in a file with \
     `formsvc auth login --store file`, or set FORMSVC_API_KEY, or pass `--api-key-file PATH`";

impl StoreError {
    /// Returns true if the store cannot be used now. Its content is then unknown.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Locked | Self::Absent(_) | Self::Silent | Self::Keyring(_))
            || matches!(self, Self::NoFolder)
    }

    /// Returns a remedy.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Locked => format!("unlock the keyring of your desktop; {ALTERNATIVES}"),
            Self::Silent => {
                format!(
                    "does the keyring show a window that asks for a password? Otherwise, {ALTERNATIVES}"
                )
            }
            Self::Absent(_) | Self::Keyring(_) => ALTERNATIVES.to_owned(),
            Self::Ambiguous(_) => {
                "`formsvc auth logout` removes them all; then log in again".to_owned()
            }
            Self::NoFolder => "set HOME or FORMSVC_CONFIG_DIR, or FORMSVC_API_KEY".to_owned(),
            Self::File(FileError::Unsafe { fix, .. }) => fix.clone(),
            Self::File(FileError::Locked(_)) => "try again when that run has ended".to_owned(),
            Self::Malformed { path, .. } | Self::File(FileError::Invalid { path, .. }) => {
                format!("move `{}` away and log in again", path.display())
            }
            Self::Survives { why, .. } => match why.hint() {
                Some(hint) => format!("{hint}; then `formsvc auth logout` again"),
                None => "try `formsvc auth logout` again, or revoke the key".to_owned(),
            },
            Self::BadSecrets(_) => {
                "`formsvc webhook secret remove --all` removes it; then add the secrets again"
                    .to_owned()
            }
            Self::File(FileError::Io { .. }) | Self::NotKept(_) | Self::NotAKey(_) => return None,
        })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::File(FileError::Locked(_) | FileError::Io { .. })
            | Self::Survives { .. }
            | Self::NotKept(_) => Exit::LocalIo,
            _ => Exit::Auth,
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let shown = Self::new(error.exit(), error.to_string()).because_of(&error);
        match error.hint() {
            Some(hint) => shown.hint(hint),
            None => shown,
        }
    }
}
