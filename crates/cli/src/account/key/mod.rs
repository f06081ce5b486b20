//! Finds the API key of a run: from flags and variables, or from the profile.
//!
//! A key of a profile, from a command or a store, is sent only to the base URL for which it was stored. A key
//! from a flag or variable is sent to the base URL of the run.

mod command;
pub(crate) mod given;

use std::fmt;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::thread;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::oneshot;

use crate::account::credentials::{Account, StoreError, Stores};
use crate::base::env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::prompt;
use crate::settings::repeat_command::CommandLine;
use crate::settings::{KeySource, KeyStore, Profile, Service, Settings};

pub(crate) use crate::error::usage::{KEY_PREFIX, KEY_TYPED};
pub(crate) use command::run as from_command;
pub(crate) use given::unless_a_key;

/// A key and its origin.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) key: SecretString,
    pub(crate) origin: KeyOrigin,
}

/// The place from which a key was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    Stdin,
    File(PathBuf),
    Env,
    /// The profile's command.
    Command,
    Store(KeyStore),
    /// A prompt.
    Terminal,
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdin => "standard input",
            Self::File(path) => return write!(f, "`{}`", path.display()),
            Self::Env => "FORMSVC_API_KEY",
            Self::Command => "api_key_command",
            Self::Store(KeyStore::Keyring) => "the keyring",
            Self::Store(KeyStore::File) => "the key file",
            Self::Terminal => "the terminal",
        })
    }
}

/// Returns the key for requests to a base URL: the given one, or else the one of the profile.
pub(crate) async fn find(
    settings: &Settings,
    given: Option<&KeySource>,
    base_url: &str,
    progress: &Progress,
) -> Result<Result<Key, Missing>, CliError> {
    if let Some(given) = given {
        return given.read(progress).await.map(Ok);
    }
    let profile = &settings.saved_profile;
    let own = Account::of_profile(profile)?;
    let account = Account::new(&settings.profile, base_url)?;
    let is_own = own.as_ref().is_some_and(|own| own.origin() == account.origin());
    if !profile.api_key_command.is_empty() {
        if !is_own {
            return Err(command_of_other_service(profile, own.as_ref(), &account));
        }
        let key = command::run(&profile.api_key_command, settings.may_ask).await?;
        return Ok(Ok(Key { key, origin: KeyOrigin::Command }));
    }
    let account = account.stored_in(profile.store.filter(|_| is_own));
    let (stores, searched) = (Stores::of(settings), account.clone());
    match aside(move || stores.find(&searched)).await? {
        Ok(Some((store, key))) => Ok(Ok(Key { key, origin: KeyOrigin::Store(store) })),
        Ok(None) => Ok(Err(Missing::new(settings, &account, own.as_ref(), None))),
        Err(why) if why.is_unreachable() => {
            Ok(Err(Missing::new(settings, &account, own.as_ref(), Some(why))))
        }
        // No other source is tried, because its key would hide this error.
        Err(why) => Err(why.into()),
    }
}

/// Returns the key of a variable or a file that the user named.
pub(crate) fn without_prompt(settings: &Settings) -> Option<SecretString> {
    match &settings.service {
        Service::At { key: Some(KeySource::Env(key)), .. } => Some(key.clone()),
        Service::At { key: Some(KeySource::File { path, .. }), .. } => {
            given::from_file(&given::API_KEY, path).ok()
        }
        _ => None,
    }
}

/// Returns the variables that are set and take precedence over the key of a profile.
pub(crate) fn stronger_variables() -> Vec<&'static str> {
    let names = [env::API_KEY.name, env::API_KEY_FILE.name];
    let set = |name: &&str| env::of_process(name).is_some_and(|value| !value.is_empty());
    names.into_iter().filter(set).collect()
}

impl KeySource {
    /// Returns the flag or variable that names the source.
    pub(crate) fn named_by(&self) -> &'static str {
        match self {
            Self::Stdin => "--api-key-stdin",
            Self::Env(_) => env::API_KEY.name,
            Self::File { named_by, .. } => named_by,
        }
    }

    /// Reads the key. Warns about a file that other users can read.
    pub(crate) async fn read(&self, progress: &Progress) -> Result<Key, CliError> {
        let (key, origin) = match self {
            Self::Env(key) => {
                let key = given::only_one(&given::API_KEY, key.expose_secret(), env::API_KEY.name)?;
                (key, KeyOrigin::Env)
            }
            // A terminal would show the typed key.
            Self::Stdin if io::stdin().is_terminal() => {
                (prompt::hidden("API key (the input is hidden)").await?, KeyOrigin::Stdin)
            }
            Self::Stdin => {
                let read =
                    aside(|| given::from_stdin(&given::API_KEY, &mut io::stdin().lock())).await??;
                (read, KeyOrigin::Stdin)
            }
            Self::File { path, .. } => {
                if let Some(warning) = given::loose_file(&given::API_KEY, path) {
                    progress.warn(&warning);
                }
                let file = path.clone();
                let read = aside(move || given::from_file(&given::API_KEY, &file)).await??;
                (read, KeyOrigin::File(path.clone()))
            }
        };
        Ok(Key { key, origin })
    }
}

/// Returns the hint of an error of a store. Its login command repeats the flags of this run.
pub(crate) fn store_hint(settings: &Settings, error: &StoreError) -> Option<String> {
    Some(error.hint()?.replace("formsvc auth login", &login_command(settings)))
}

/// Returns the command that stores a key for the service of this run.
fn login_command(settings: &Settings) -> String {
    let line = CommandLine::of_other(settings, &["auth", "login"]);
    line.shown().unwrap_or_else(|| "formsvc auth login".to_owned())
}

/// The error for a base URL without an API key.
#[derive(Debug)]
pub(crate) struct Missing {
    error: CliError,
    /// The text of a prompt for the key.
    pub(crate) prompt: String,
    /// The reason why a store could not be read.
    pub(crate) warning: Option<String>,
}

impl Missing {
    fn new(
        settings: &Settings,
        account: &Account,
        own: Option<&Account>,
        why: Option<StoreError>,
    ) -> Self {
        let (profile, origin) = (account.profile(), account.origin());
        let login = login_command(settings);
        let mut error = CliError::new(Exit::Auth, format!("no API key for `{origin}`"));
        if let Some(why) = &why {
            error = error.because(why);
        } else if let Some(store) = account.store() {
            let store = Stores::of(settings).place(store);
            error = error.cause(format!(
                "the profile `{profile}` stores its key in {store}, which has none"
            ));
        }
        let is_other = |own: &&Account| own.origin() != origin && own.store().is_some();
        if let Some(own) = own.filter(is_other) {
            error = error.cause(format!(
                "the key of the profile `{profile}` is sent only to `{}`",
                own.origin()
            ));
        }
        let hint = why.as_ref().and_then(|why| store_hint(settings, why)).unwrap_or_else(|| {
            format!(
                "store a key with `{login}`, set FORMSVC_API_KEY, or pass `--api-key-file PATH`; \
                 `--demo` needs no key"
            )
        });
        Self {
            error: error.hint(hint),
            prompt: format!("API key for {origin} (used once; `{login}` stores it)"),
            warning: why.map(|why| why.to_string()),
        }
    }
}

impl From<Missing> for CliError {
    fn from(missing: Missing) -> Self {
        missing.error
    }
}

fn command_of_other_service(profile: &Profile, own: Option<&Account>, asked: &Account) -> CliError {
    let name = &profile.name;
    let unset =
        || format!("its base URL, which `formsvc config set profiles.{name}.base_url URL` sets");
    let of = own.map_or_else(unset, |own| format!("`{}`", own.origin()));
    CliError::new(Exit::Auth, format!("no API key for `{}`", asked.origin()))
        .cause(format!(
            "the `api_key_command` of the profile `{name}` prints a key that is sent only to {of}"
        ))
        .hint(
            "name another profile with `--profile`, or set FORMSVC_API_KEY, or pass \
             `--api-key-file PATH`",
        )
}

/// Runs a call that may block on a separate thread. The thread is abandoned when a signal ends the command.
pub(crate) async fn aside<T: Send + 'static>(
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CliError> {
    let (done, ended) = oneshot::channel();
    thread::Builder::new()
        .name("key".into())
        // The receiver is dropped only after a signal ended the command.
        .spawn(move || drop(done.send(call())))
        .map_err(|error| CliError::new(Exit::LocalIo, "cannot start a thread").because(&error))?;
    ended.await.map_err(|_| CliError::new(Exit::Failed, "this is a bug in formsvc"))
}
