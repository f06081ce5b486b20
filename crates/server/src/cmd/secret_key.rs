//! The server's key, as commands are told of it.

use std::path::PathBuf;
use std::sync::Arc;

use formsvc_protocol::EndpointId;

use super::config::directory_of;
use super::error::CommandError;
use super::exit::Exit;
use super::place::Place;
use crate::secrets::{KeyFile, KeyFileError, KeyFileFault, Missing, OpenError, Vault};
use crate::store::{SealedSecret, Store};

#[derive(Debug, clap::Args)]
pub(super) struct SecretKeyArgs {
    /// File with the key under which webhook signing secrets are kept; made when there is none, unless
    /// secrets are kept under the one that was there
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
        let key = match file.open(Missing::Refuse) {
            Err(KeyFileError { fault: KeyFileFault::Absent, .. }) if missing == Missing::Create => {
                let made = file.open(Missing::Create);
                // Beside a file it can be nobody else's. Here the path may be mistyped.
                if made.is_ok() && database.file().is_none() {
                    let path = file.path().display().to_string();
                    tracing::warn!(
                        path,
                        "made a new server key: every server on this database needs a copy of it"
                    );
                }
                made
            }
            opened => opened,
        };
        Ok(Vault::new(&key.map_err(|error| refused(&error))?))
    }

    /// The vault that opens the secrets in a store. Without a key file a new key is made, unless the old
    /// one sealed secrets that are still there: a new one beside it could not open them, and would hide
    /// that the old one is missing. The file of another key is refused for the same reason.
    pub(super) async fn vault_of(
        &self,
        database: &Place,
        store: &Arc<dyn Store>,
    ) -> Result<Vault, CommandError> {
        match store.sealed_secrets().await?.as_slice() {
            [] => self.vault(database, Missing::Create),
            sealed => self.vault_for(database, sealed),
        }
    }

    /// The vault for a new secret of an endpoint. The key is made when that was asked for, and need not be
    /// the one that other secrets are sealed under.
    pub(super) async fn vault_to_rotate(
        &self,
        database: &Place,
        store: &Arc<dyn Store>,
        missing: Missing,
    ) -> Result<Vault, CommandError> {
        if missing == Missing::Refuse
            && let Some(refused) = self.lost(database, &store.sealed_secrets().await?)?
        {
            return Err(refused);
        }
        self.vault(database, missing)
    }

    /// The refusal of a key file that is not there, though secrets are sealed under what was in it.
    fn lost(
        &self,
        database: &Place,
        sealed: &[(EndpointId, SealedSecret)],
    ) -> Result<Option<CommandError>, CommandError> {
        Ok(match self.file(database)?.open(Missing::Refuse) {
            Err(error @ KeyFileError { fault: KeyFileFault::Absent, .. }) if !sealed.is_empty() => {
                let endpoints = named(sealed.iter().map(|(id, _)| id));
                Some(CommandError::of(Exit::LocalIo, &error).hint(format!(
                    "restore it from a backup, or name it with `--secret-key-file`. If it is lost, \
                     {AFRESH} under a new one, and `webhook remove ID` removes it: {endpoints}"
                )))
            }
            _ => None,
        })
    }

    /// Whether the key that there is opens secrets; none is made.
    pub(super) fn check_for(
        &self,
        database: &Place,
        sealed: &[(EndpointId, SealedSecret)],
    ) -> Result<(), CommandError> {
        if sealed.is_empty() { Ok(()) } else { self.vault_for(database, sealed).map(drop) }
    }

    fn vault_for(
        &self,
        database: &Place,
        sealed: &[(EndpointId, SealedSecret)],
    ) -> Result<Vault, CommandError> {
        if let Some(refused) = self.lost(database, sealed)? {
            return Err(refused);
        }
        let vault = self.vault(database, Missing::Refuse)?;
        match sealed_elsewhere(&vault, sealed) {
            Some(refused) => Err(refused.about(&self.path(database)?.display().to_string())),
            None => Ok(vault),
        }
    }

    /// Where the key is.
    pub(super) fn path(&self, database: &Place) -> Result<PathBuf, CommandError> {
        Ok(self.file(database)?.path().to_owned())
    }

    /// Where the key would be beside a database, which need not be there.
    pub(super) fn default_path(&self, database: &Place) -> Option<PathBuf> {
        let file = database.file()?;
        Some(self.path(database).unwrap_or_else(|_| KeyFile::named_after(file).path().to_owned()))
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

/// Endpoints that a refusal names.
const NAMED_MAX: usize = 5;

/// How an endpoint gets on when the key of its secret is lost.
const AFRESH: &str = "`formsvc-server webhook rotate ID --grace 0s` gives an endpoint a new secret";

/// Endpoints as a refusal names them.
fn named<'a>(endpoints: impl ExactSizeIterator<Item = &'a EndpointId>) -> String {
    let more = endpoints.len().saturating_sub(NAMED_MAX);
    let names: Vec<_> = endpoints.take(NAMED_MAX).map(|id| format!("`{id}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// The refusal of a key, when others sealed some of the secrets. What else is wrong with a secret is told
/// when it is to sign.
fn sealed_elsewhere(vault: &Vault, sealed: &[(EndpointId, SealedSecret)]) -> Option<CommandError> {
    let (mut keys, mut endpoints) = (Vec::new(), Vec::new());
    for (id, secret) in sealed {
        if let Err(OpenError::OtherKey { sealed_under, .. }) =
            vault.open(id.as_str().as_bytes(), &secret.0)
        {
            let key = sealed_under.to_string();
            if !keys.contains(&key) {
                keys.push(key);
            }
            endpoints.push(id);
        }
    }
    let count = endpoints.len();
    if count == 0 {
        return None;
    }
    let told = format!(
        "this is the server key {}, and the signing secrets of {count} of {} endpoints are sealed under {}",
        vault.key_id(),
        sealed.len(),
        keys.join(", "),
    );
    Some(CommandError::new(Exit::LocalIo, told).hint(format!(
        "restore that key. If it is lost, {AFRESH} under this one, and `webhook remove ID` removes it: {}",
        named(endpoints.into_iter()),
    )))
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
