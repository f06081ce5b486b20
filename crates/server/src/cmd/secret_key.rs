//! The server's key, as commands are told of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::config::directory_of;
use super::error::CommandError;
use super::exit::Exit;
use super::place::Place;
use crate::secrets::{KeyFile, KeyFileError, KeyFileFault, Missing, Vault};
use crate::store::Store;

#[derive(Debug, clap::Args)]
pub(super) struct SecretKeyArgs {
    /// File with the key under which webhook signing secrets are kept; made when there is none
    /// [default: beside a database file, its name with `.key` added; none for PostgreSQL].
    #[arg(long, value_name = "PATH", env = "FORMSVC_SERVER_SECRET_KEY_FILE")]
    secret_key_file: Option<PathBuf>,
}

impl SecretKeyArgs {
    /// Whether a vault can be had; no key is made.
    pub(super) fn check(&self, database: &Place) -> Result<(), CommandError> {
        let file = match (&self.secret_key_file, database.file()) {
            (Some(path), _) => KeyFile::at(path),
            // Beside a database that is not there yet there is no key either.
            (None, Some(file)) if !file.exists() => return Ok(()),
            (None, _) => self.file(database)?,
        };
        match file.open(Missing::Refuse) {
            Err(KeyFileError { fault: KeyFileFault::Absent, .. }) => directory_of(file.path()),
            opened => opened.map(drop).map_err(|error| refused(&error)),
        }
    }

    /// The vault of a database that has been opened, and so is there.
    pub(super) fn vault(&self, database: &Place, missing: Missing) -> Result<Vault, CommandError> {
        let file = self.file(database)?;
        Ok(Vault::new(&file.open(missing).map_err(|error| refused(&error))?))
    }

    /// Where the key is.
    pub(super) fn path(&self, database: &Place) -> Result<PathBuf, CommandError> {
        Ok(self.file(database)?.path().to_owned())
    }

    fn file(&self, database: &Place) -> Result<KeyFile, CommandError> {
        Ok(match (&self.secret_key_file, database.file()) {
            (Some(path), _) => KeyFile::at(path),
            (None, Some(database)) => KeyFile::beside(database).map_err(|error| {
                CommandError::of(Exit::LocalIo, &error).about(&database.display().to_string())
            })?,
            (None, None) => {
                let told = "where is the key that webhook signing secrets are kept under?";
                return Err(CommandError::new(Exit::Usage, told)
                    .hint("name its file with `--secret-key-file`: the same on every machine"));
            }
        })
    }
}

/// What to do without a key file: make a new key, unless the old one sealed secrets that are still
/// there. A new one beside it could not open them, and would hide that the old one is missing.
pub(super) async fn missing_key(store: &Arc<dyn Store>) -> Result<Missing, CommandError> {
    Ok(if store.has_endpoints().await? { Missing::Refuse } else { Missing::Create })
}

fn refused(error: &KeyFileError) -> CommandError {
    CommandError::of(Exit::LocalIo, error).hint(match error.fault {
        KeyFileFault::Absent => "restore it from a backup, or name it with `--secret-key-file`",
        KeyFileFault::Exposed { .. } => {
            "`chmod 600` it, and replace the key if others have read it"
        }
        KeyFileFault::Foreign { .. } => "choose another file, or change its owner",
        KeyFileFault::NotAFile | KeyFileFault::NotAKey(_) => {
            "choose another path; a path where nothing is gets a new key"
        }
        _ => "check that its directory exists and can be written",
    })
}
