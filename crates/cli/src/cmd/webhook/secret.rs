//! `formsvc webhook secret …`: the stored signing secrets of a profile.

use clap::{Args, Subcommand};
use formsvc_workbench::secrets::SigningSecrets;
use serde::Serialize;

use super::{args, is_demo};
use crate::account::credentials::{StoreError, StoredSecrets, Stores, check_secret_name};
use crate::account::key::aside;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Field;
use crate::settings::KeyStore;

pub(in crate::cmd) const FIELDS: &[Field] =
    &[Field::new("name"), Field::new("current"), Field::new("store")];

/// The name of a secret without a name.
const DEFAULT_NAME: &str = "default";
/// What to do without a keyring.
const WITHOUT_KEYRING: &str = "`--store file` stores it in a file that only you can read; or pass the \
    secret to each command with `--secret-file` or FORMSVC_SIGNING_SECRET";

/// Store the signing secrets of your endpoints, for `listen`, `verify`, `replay` and `events open`
///
/// They are stored in the keyring of the system, or in a file that only you can read, separately for each profile.
/// During a rotation, add the new secret and remove the old one later. All stored secrets verify deliveries, and sign
/// replays of valid ones; the newest one is current and comes first. Secrets in flags and variables take precedence.
/// `trigger`, `sign`, `check` and `listen --sandbox` never use stored secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    Add(Add),
    List(List),
    Remove(Remove),
}

/// Store a signing secret; it becomes the current one
///
/// Asks for the secret on a terminal, where it does not show, and reads it from standard input otherwise.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook secret add\n  formsvc webhook secret add --store file < secret.txt\n  formsvc webhook secret add 2026-03 --store file < secret.txt"
)]
pub(crate) struct Add {
    /// Name of the secret, which verdicts show
    #[arg(value_name = "NAME", default_value = DEFAULT_NAME, value_parser = check_secret_name)]
    name: String,
    /// Where to store the secrets [default: the store that the profile uses, else keyring]
    #[arg(long, value_name = "STORE")]
    store: Option<KeyStore>,
}

/// List the names of the stored signing secrets, the current one first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook secret list\n  formsvc webhook secret list --output json"
)]
pub(crate) struct List {}

/// Remove a stored signing secret from this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc webhook secret remove\n  formsvc webhook secret remove 2026-03\n  formsvc webhook secret remove --all"
)]
pub(crate) struct Remove {
    /// Name of the secret
    #[arg(value_name = "NAME", default_value = DEFAULT_NAME)]
    name: String,
    /// Remove all secrets of the profile
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    current: bool,
    store: Option<&'static str>,
}

impl Secret {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if is_demo(cx) {
            return Err(CliError::usage("`--demo` stores no secrets"));
        }
        match self {
            Self::Add(add) => add.run(cx).await,
            Self::List(list) => list.run(cx).await,
            Self::Remove(remove) => remove.run(cx).await,
        }
    }
}

impl Add {
    async fn run(self, cx: &Context) -> Result<(), CliError> {
        // A name in use or a locked keyring is reported before the secret is asked for.
        let mut entry = load(cx, self.store == Some(KeyStore::File)).await?;
        entry.check_unused(&self.name)?;
        let secret = args::read_stdin().await;
        let secret =
            secret.map_err(|error| error.hint_too("`webhook secret add < FILE` reads a file"))?;
        // Checks the secret before it is stored.
        SigningSecrets::default().add(&self.name, secret.clone())?;
        entry.add(&self.name, secret)?;
        let stores = Stores::of(&cx.settings);
        let store = self.store.or(entry.store).unwrap_or_default();
        write(cx, entry, store).await?;
        let place = stores.place(store);
        cx.progress.remark(&format!("the signing secret `{}` is stored in {place}", self.name));
        Ok(())
    }
}

impl List {
    async fn run(self, cx: &Context) -> Result<(), CliError> {
        let Self {} = self;
        let mut listing = cx.output.listing(FIELDS)?;
        let entry = load(cx, false).await?;
        for (index, (name, _)) in entry.secrets.iter().enumerate() {
            listing.push(&Row {
                name,
                current: index == 0,
                store: entry.store.map(KeyStore::name),
            });
        }
        if entry.secrets.is_empty() {
            cx.progress
                .remark("no stored signing secrets: `formsvc webhook secret add` stores one");
        }
        cx.output.list(&listing)
    }
}

impl Remove {
    async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut entry = StoredSecrets::default();
        if !self.all {
            entry = load(cx, false).await?;
            if !entry.remove(&self.name) {
                let what = format!("there is no stored signing secret `{}`", self.name);
                let names: Vec<_> = entry.secrets.iter().map(|(name, _)| &**name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(CliError::new(Exit::NotFound, what).hint(format!("stored: {names}")));
            }
        }
        let store = entry.store.unwrap_or_default();
        write(cx, entry, store).await?;
        cx.progress.remark(&if self.all {
            "all stored signing secrets of this profile are removed".to_owned()
        } else {
            format!("the signing secret `{}` is removed", self.name)
        });
        Ok(())
    }
}

/// Returns the stored secrets of the profile; with `--demo`, those of its captures. A keyring that cannot be read
/// causes a warning, and its secrets are missing.
pub(in crate::cmd) async fn stored(cx: &Context) -> Result<SigningSecrets, CliError> {
    #[cfg(feature = "sandbox")]
    if is_demo(cx) {
        return Ok(super::captures::demo_secrets());
    }
    let mut secrets = SigningSecrets::default();
    for (name, secret) in load(cx, true).await?.secrets {
        secrets.add(&name, secret)?;
    }
    Ok(secrets)
}

/// Reads the stored secrets. Without a keyring, those of the file. If the keyring is `optional` and cannot be read,
/// a warning reports it, and there are no secrets.
async fn load(cx: &Context, optional: bool) -> Result<StoredSecrets, CliError> {
    let stores = Stores::of(&cx.settings);
    let profile = cx.settings.profile.clone();
    match aside(move || stores.signing_secrets(&profile)).await? {
        Ok(entry) => Ok(entry),
        Err(StoreError::Absent(_)) => Ok(StoredSecrets::default()),
        Err(StoreError::NoFolder) if optional => Ok(StoredSecrets::default()),
        Err(error) if optional && error.is_unreachable() => {
            cx.progress.warn(&format!("stored signing secrets cannot be read: {error}"));
            Ok(StoredSecrets::default())
        }
        Err(error) => Err(failed(error)),
    }
}

fn failed(error: StoreError) -> CliError {
    if error.is_unreachable() {
        let failed = CliError::new(Exit::Auth, error.to_string()).because_of(&error);
        return failed.hint(WITHOUT_KEYRING);
    }
    error.into()
}

async fn write(cx: &Context, entry: StoredSecrets, store: KeyStore) -> Result<(), CliError> {
    let stores = Stores::of(&cx.settings);
    let profile = cx.settings.profile.clone();
    let write = move || stores.set_signing_secrets(&profile, &entry, store);
    aside(write).await?.map_err(failed)
}
