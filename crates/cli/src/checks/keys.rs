//! The checks of the config file, the profile, the stores of keys and the API key. They send no request.

use secrecy::SecretString;

use super::{Check, Outcome};
use crate::account::credentials::{Account, Stores};
use crate::account::key::{self, Key};
use crate::base::env;
use crate::base::masked::masked;
use crate::context::{Context, no_base_url};
use crate::settings::config;
use crate::settings::{KeySource, KeyStore};

/// Runs the checks. Returns the key as well, because a program that prints it, or a keyring that asks for a
/// password, must not be called twice.
pub(crate) async fn keys(
    cx: &Context,
    base_url: Option<&str>,
    source: Option<&KeySource>,
) -> (Vec<Check>, Option<SecretString>) {
    let (stores, chosen) = (Stores::of(&cx.settings), cx.settings.saved_profile.store);
    let mut checks = vec![
        config_file(cx),
        profile(cx, base_url),
        environment(cx),
        store(cx, &stores, KeyStore::Keyring, chosen),
        store(cx, &stores, KeyStore::File, chosen),
    ];
    let (check, key) = api_key(cx, base_url, source).await;
    checks.push(check);
    (checks, key)
}

/// Checks that the config file is readable, and that other users cannot write to it.
fn config_file(cx: &Context) -> Check {
    const NAME: &str = "configuration";
    let path = config::path_in(&cx.settings.paths);
    match path.and_then(|path| config::load(&cx.settings.paths).map(|_| path)) {
        Err(error) => Check::error(NAME, &error),
        Ok(path) if path.exists() => Check::passed(NAME, format!("`{}`", path.display())),
        Ok(path) => Check::passed(NAME, format!("no config file yet at `{}`", path.display())),
    }
}

/// Shows the profile, its base URL, and where both are set.
fn profile(cx: &Context, base_url: Option<&str>) -> Check {
    const NAME: &str = "profile";
    let profile = &cx.settings.profile;
    let account = base_url.ok_or_else(no_base_url).and_then(|url| Account::new(profile, url));
    let account = match account {
        Ok(account) => account,
        Err(error) => return Check::error(NAME, &error),
    };
    let set_by = |name: &str| {
        let row = cx.settings.resolved.row(name);
        row.map_or("default".to_owned(), |row| row.origin.to_string())
    };
    let (profile_by, url_by) = (set_by("profile"), set_by("base_url"));
    let found = format!("`{profile}` ({profile_by}) uses {} ({url_by})", account.origin());
    Check::passed(NAME, found)
}

/// Warns of variables that take precedence over the profile.
fn environment(cx: &Context) -> Check {
    const NAME: &str = "environment";
    let stored = &cx.settings.saved_profile;
    let mut names = Vec::new();
    if stored.has_key() {
        names.extend(key::stronger_variables());
    }
    let is_set = |name: &str| env::of_process(name).is_some_and(|value| !value.is_empty());
    if stored.base_url.is_some() && is_set(env::BASE_URL.name) {
        names.push(env::BASE_URL.name);
    }
    if names.is_empty() {
        return Check::passed(NAME, "no variable overrides the profile");
    }
    let found = format!("the profile is overridden by `{}`", names.join("` and `"));
    Check::warning(NAME, found).hint(Some("unset the variable, unless this is intended"))
}

/// Checks that a store of keys is available, and that only its owner can read it. A store that the profile does
/// not use fails only if it contains keys.
fn store(cx: &Context, stores: &Stores, store: KeyStore, chosen: Option<KeyStore>) -> Check {
    let (name, has_keys) = match store {
        KeyStore::Keyring => ("keyring", false),
        KeyStore::File => ("key file", stores.has_file()),
    };
    let is_used = chosen == Some(store);
    match stores.check(store) {
        Ok(()) if is_used => {
            Check::passed(name, format!("the profile uses {}", stores.place(store)))
        }
        Ok(()) => Check::passed(name, "available; the profile does not use it"),
        Err(_) if chosen.is_some() && !is_used && !has_keys => {
            Check::skipped(name, "the profile does not use it")
        }
        Err(error) => {
            let outcome = if is_used || has_keys { Outcome::Failed } else { Outcome::Warning };
            Check::new(name, outcome, error.to_string()).hint(key::store_hint(&cx.settings, &error))
        }
    }
}

/// Looks for the API key.
async fn api_key(
    cx: &Context,
    base_url: Option<&str>,
    source: Option<&KeySource>,
) -> (Check, Option<SecretString>) {
    const NAME: &str = "key";
    let Some(base_url) = base_url else {
        return (Check::skipped(NAME, "not checked: no base URL is set"), None);
    };
    match key::find(&cx.settings, source, base_url, &cx.progress).await {
        Ok(Ok(Key { key, origin })) => {
            (Check::passed(NAME, format!("{}, from {origin}", masked(&key))), Some(key))
        }
        Ok(Err(missing)) => (Check::error(NAME, &missing.into()), None),
        Err(error) => (Check::error(NAME, &error), None),
    }
}
