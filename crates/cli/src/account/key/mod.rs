//! Finds the API key of a run: from flags and variables, or from the profile.
//!
//! A key of a profile, from a command or a store, is sent only to the base URL for which it was stored. A key from a
//! flag or variable is sent to the base URL of the run.

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
use crate::settings::KeySource;
use crate::settings::Store;
use crate::settings::repeat_command::CommandLine;
use crate::settings::{ProfileService, Service, Settings};

pub(crate) use crate::error::usage::{KEY_PREFIX, KEY_TYPED};
pub(crate) use given::unless_a_key;

/// A key, and where it was found.
#[derive(Debug)]
pub(crate) struct Key {
    /// The key.
    pub(crate) key: SecretString,
    /// Where it was found.
    pub(crate) place: KeyPlace,
}

/// Where a key was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// Standard input.
    Stdin,
    /// A file that the caller named.
    File(PathBuf),
    /// The environment.
    Env,
    /// The profile's command.
    Command,
    /// A store.
    Store(Store),
    /// Somebody typed it.
    Typed,
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => write!(f, "`{}`", path.display()),
            Self::Env => f.write_str("FORMSVC_API_KEY"),
            Self::Command => f.write_str("api_key_command"),
            Self::Store(Store::Keyring) => f.write_str("the keyring"),
            Self::Store(Store::File) => f.write_str("the key file"),
            Self::Typed => f.write_str("the terminal"),
        }
    }
}

/// Returns the key for requests to an address: the given one, or else the one of the profile. Prints
/// warnings about where it comes from.
pub(crate) async fn find(
    settings: &Settings,
    given: Option<&KeySource>,
    base_url: &str,
    progress: &Progress,
) -> Result<Result<Key, Missing>, CliError> {
    match given {
        Some(given) => given.read(progress).await.map(Ok),
        None => stored(settings, &settings.profile, &settings.kept, base_url, progress).await,
    }
}

/// The key for requests to an address, if having it asks nobody, runs nothing and wakes no keyring.
pub(crate) fn at_hand(settings: &Settings, base_url: &str) -> Option<SecretString> {
    match &settings.service {
        Service::At { key: Some(KeySource::Env(key)), .. } => Some(key.clone()),
        Service::At { key: Some(KeySource::File { path, .. }), .. } => {
            given::from_file(&given::API_KEY, path).ok()
        }
        Service::At { key: None, .. } => {
            let profile = Profile::of(&settings.profile, &settings.kept).ok()?;
            if profile.command.is_some() {
                return None;
            }
            let account = profile.account(&settings.profile, base_url).ok()?;
            Stores::of(settings).find_in_file(&account).ok()?
        }
        _ => None,
    }
}

/// The variables that are set and stronger than any key that a profile keeps.
pub(crate) fn stronger_variables() -> Vec<&'static str> {
    let names = [env::API_KEY.name, env::API_KEY_FILE.name];
    let set = |name: &&str| env::of_process(name).is_some_and(|value| !value.is_empty());
    names.into_iter().filter(set).collect()
}

/// Runs a program that prints a key.
pub(crate) async fn from_command(words: &[String], may_ask: bool) -> Result<Key, CliError> {
    let key = command::run(words, may_ask).await?;
    Ok(Key { key, place: KeyPlace::Command })
}

impl KeySource {
    /// The flag or variable that names it.
    pub(crate) fn named_by(&self) -> &'static str {
        match self {
            Self::Stdin => "--api-key-stdin",
            Self::Env(_) => env::API_KEY.name,
            Self::File { named_by, .. } => named_by,
        }
    }

    /// Whether a flag names it, which is for this run alone.
    pub(crate) fn is_a_flag(&self) -> bool {
        self.named_by().starts_with("--")
    }

    /// Reads the key. Warns about a file that other users can read.
    pub(crate) async fn read(&self, progress: &Progress) -> Result<Key, CliError> {
        let (key, place) = match self {
            Self::Env(key) => {
                let key = given::only_one(&given::API_KEY, key.expose_secret(), env::API_KEY.name)?;
                (key, KeyPlace::Env)
            }
            // What is typed there would show.
            Self::Stdin if io::stdin().is_terminal() => {
                (prompt::hidden("API key (it does not show)").await?, KeyPlace::Stdin)
            }
            Self::Stdin => {
                let read =
                    aside(|| given::from_stdin(&given::API_KEY, &mut io::stdin().lock())).await??;
                (read, KeyPlace::Stdin)
            }
            Self::File { path, .. } => {
                if let Some(warning) = given::loose_file(&given::API_KEY, path) {
                    progress.warn(&warning);
                }
                let file = path.clone();
                let read = aside(move || given::from_file(&given::API_KEY, &file)).await??;
                (read, KeyPlace::File(path.clone()))
            }
        };
        Ok(Key { key, place })
    }
}

/// What a profile has: a key that its command prints, or one in a store.
pub(crate) async fn stored(
    settings: &Settings,
    profile: &str,
    kept: &ProfileService,
    base_url: &str,
    progress: &Progress,
) -> Result<Result<Key, Missing>, CliError> {
    let name = profile;
    let profile = Profile::of(name, kept)?;
    let account = profile.account(name, base_url)?;
    if let Some(words) = &profile.command {
        if profile.origin.as_deref() != Some(account.origin()) {
            return Err(command_is_for_another(&profile, &account));
        }
        let key = command::run(words, settings.may_ask).await?;
        return Ok(Ok(Key { key, place: KeyPlace::Command }));
    }
    let stores = Stores::of(settings);
    let asked = account.clone();
    let left_out = stores.left_out(&account);
    let empty_store = account.kept().map(|store| stores.place(store));
    let login = login_command(settings);
    let why = match aside(move || stores.find(&asked)).await? {
        Ok(Some(found)) => {
            if let Some(why) = found.passed_over {
                progress.warn(&format!("{why}; using the key in the file"));
            }
            return Ok(Ok(Key { key: found.key, place: KeyPlace::Store(found.store) }));
        }
        Ok(None) => None,
        Err(why) if why.is_unreachable() => Some(why),
        // Something is wrong that another way to give a key would only hide.
        Err(why) => return Err(why.into()),
    };
    Ok(Err(Missing {
        elsewhere: profile.elsewhere(&account),
        account,
        why,
        left_out,
        empty_store,
        login,
    }))
}

/// Returns the command that stores a key for the service of this run.
pub(crate) fn login_command(settings: &Settings) -> String {
    let line = CommandLine::new(settings, &["auth", "login"]);
    line.shown().unwrap_or_else(|| "formsvc auth login".to_owned())
}

/// There is no key for an address.
#[derive(Debug)]
pub(crate) struct Missing {
    account: Account,
    /// The address that the profile keeps a key for, if it is another one.
    elsewhere: Option<String>,
    /// Why a store could not be asked.
    pub(crate) why: Option<StoreError>,
    /// The store that was not asked, and the reason.
    left_out: Option<String>,
    /// The store of the profile, if it has no key.
    empty_store: Option<String>,
    /// The command that stores a key for this service.
    login: String,
}

impl Missing {
    /// Returns the text of a prompt for the key.
    pub(crate) fn prompt(&self) -> String {
        let (origin, login) = (self.account.origin(), &self.login);
        format!("API key for {origin} (used once; `{login}` stores it)")
    }
}

impl From<Missing> for CliError {
    fn from(missing: Missing) -> Self {
        let (profile, origin) = (missing.account.profile(), missing.account.origin());
        let mut error = Self::new(Exit::Auth, format!("no API key for `{origin}`"));
        if let Some(why) = &missing.why {
            error = error.because(why);
        }
        if let (None, Some(store)) = (&missing.why, &missing.empty_store) {
            error = error.cause(format!(
                "the profile `{profile}` stores its key in {store}, which has none"
            ));
        }
        if let Some(left_out) = &missing.left_out {
            error = error.cause(left_out.as_str());
        }
        if let Some(elsewhere) = &missing.elsewhere {
            error = error.cause(format!(
                "the key of the profile `{profile}` is for `{elsewhere}`, and goes nowhere else"
            ));
        }
        let login = &missing.login;
        let hint = missing.why.as_ref().and_then(StoreError::hint).unwrap_or_else(|| {
            format!(
                "store a key with `{login}`, set FORMSVC_API_KEY, or pass `--api-key-file PATH`; \
                 `--demo` needs no key"
            )
        });
        error.hint(hint.replace("formsvc auth login", login))
    }
}

/// Settings of the profile's API key.
struct Profile {
    origin: Option<String>,
    kept: Option<Store>,
    command: Option<Vec<String>>,
}

impl Profile {
    fn of(name: &str, kept: &ProfileService) -> Result<Self, CliError> {
        let base_url = kept.base_url.as_ref();
        let account = base_url.map(|url| Account::new(name, url)).transpose()?;
        Ok(Self {
            origin: account.map(|account| account.origin().to_owned()),
            kept: kept.store,
            command: Some(kept.api_key_command.clone()).filter(|words| !words.is_empty()),
        })
    }

    fn account(&self, name: &str, base_url: &str) -> Result<Account, CliError> {
        let account = Account::new(name, base_url)?;
        // The record is of the key for the profile's own address.
        let kept = self.kept.filter(|_| self.origin.as_deref() == Some(account.origin()));
        Ok(account.kept_in(kept))
    }

    /// The profile's own address, if it keeps a key for that and another is asked.
    fn elsewhere(&self, account: &Account) -> Option<String> {
        let origin = self.origin.clone().filter(|origin| origin != account.origin());
        origin.filter(|_| self.kept.is_some())
    }
}

fn command_is_for_another(profile: &Profile, account: &Account) -> CliError {
    let name = account.profile();
    let error = CliError::new(Exit::Auth, format!("no API key for `{}`", account.origin()));
    match &profile.origin {
        Some(origin) => error
            .cause(format!(
                "the `api_key_command` of the profile `{name}` is for `{origin}`, and its key goes nowhere else"
            ))
            .hint("name another profile with `--profile`, or set FORMSVC_API_KEY, or pass `--api-key-file PATH`"),
        None => error
            .cause(format!(
                "the profile `{name}` has an `api_key_command` and no `base_url`, which says where its key may go"
            ))
            .hint(format!("`formsvc config set profiles.{name}.base_url URL`")),
    }
}

/// What may take long, on a thread that is left behind when the run is stopped.
pub(crate) async fn aside<T: Send + 'static>(
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CliError> {
    let (done, ended) = oneshot::channel();
    thread::Builder::new()
        .name("key".into())
        // Nobody waits any more when a signal has ended the run.
        .spawn(move || drop(done.send(call())))
        .map_err(|error| CliError::new(Exit::LocalIo, "cannot start a thread").because(&error))?;
    ended.await.map_err(|_| CliError::new(Exit::Failed, "this is a bug in formsvc"))
}
