//! Where the API key comes from, and what could keep it from getting there.

use secrecy::SecretString;

use super::{Check, files};
use crate::account::credentials::{Account, StoreError, Stores};
use crate::account::key::{self, Key};
use crate::base::env;
use crate::base::masked::masked;
use crate::context::{Context, no_base_url};
use crate::settings::Kept;
use crate::settings::KeySource;
use crate::settings::Store;

/// Everything that has to do with the key of this run, and the key itself, which is looked for once: a
/// program may print it, and a keyring may take its time. The service is asked nothing.
pub(crate) async fn keys(
    cx: &Context,
    base_url: Option<&str>,
    given: Option<&KeySource>,
) -> (Vec<Check>, Option<SecretString>) {
    let mut checks = vec![files::configuration(cx), service(cx, base_url)];
    checks.push(environment(cx));
    let (stores, kept) = (Stores::of(&cx.settings), cx.settings.kept.store);
    checks.push(keyring(&stores, kept));
    checks.push(key_file(&stores, kept));
    let (check, key) = key(cx, base_url, given).await;
    checks.push(check);
    (checks, key)
}

/// Which service the key is for.
fn service(cx: &Context, base_url: Option<&str>) -> Check {
    const NAME: &str = "profile";
    let profile = &cx.settings.profile;
    let Some(base_url) = base_url else {
        return Check::failed(NAME, &no_base_url());
    };
    let account = match Account::new(profile, base_url) {
        Ok(account) => account,
        Err(error) => return Check::failed(NAME, &error),
    };
    let said = |name: &str| {
        let origin = cx.settings.resolved.row(name).map(|row| row.origin.to_string());
        origin.unwrap_or_else(|| "default".to_owned())
    };
    Check::ok(
        NAME,
        format!(
            "`{profile}` ({}) is for {} ({})",
            said("profile"),
            account.origin(),
            said("base_url")
        ),
    )
}

/// Variables that hide what is kept.
fn environment(cx: &Context) -> Check {
    const NAME: &str = "environment";
    let Kept { base_url, .. } = &cx.settings.kept;
    let mut hides = Vec::new();
    if cx.settings.kept.has_key() {
        hides.extend(key::stronger_variables());
    }
    if base_url.is_some() && env::of_process(env::BASE_URL.name).is_some_and(|url| !url.is_empty())
    {
        hides.push(env::BASE_URL.name);
    }
    match &*hides {
        [] => Check::ok(NAME, "no variable hides what the profile keeps"),
        hides => {
            let names = hides.join("` and `");
            Check::warn(NAME, format!("`{names}` is stronger than what the profile keeps"))
                .hint("unset it where it is not meant")
        }
    }
}

/// Whether there is a keyring that can be used.
fn keyring(stores: &Stores, kept: Option<Store>) -> Check {
    const NAME: &str = "keyring";
    match stores.check(Store::Keyring) {
        Ok(()) => Check::ok(NAME, "it can be used"),
        Err(why) => match kept {
            Some(Store::Keyring) => advised(Check::fail(NAME, why.to_string()), &why),
            Some(Store::File) => Check::skip(NAME, "not needed: the key is kept in a file"),
            None => advised(Check::warn(NAME, why.to_string()), &why),
        },
    }
}

/// Whether the file of keys, if there is one, is its owner's alone.
fn key_file(stores: &Stores, kept: Option<Store>) -> Check {
    const NAME: &str = "key file";
    let place = stores.place(Store::File);
    match stores.check(Store::File) {
        Ok(()) if kept == Some(Store::File) => {
            Check::ok(NAME, format!("{place}, which only you can read"))
        }
        Ok(()) => Check::ok(NAME, format!("{place} is not used, and could be")),
        // It says only what would be in the way of keeping one there.
        Err(why) if kept != Some(Store::File) && !stores.has_file() => {
            advised(Check::warn(NAME, why.to_string()), &why)
        }
        Err(why) => advised(Check::fail(NAME, why.to_string()), &why),
    }
}

fn advised(check: Check, why: &StoreError) -> Check {
    match why.hint() {
        Some(hint) => check.hint(hint),
        None => check,
    }
}

/// Whether there is a key, and from where.
async fn key(
    cx: &Context,
    base_url: Option<&str>,
    given: Option<&KeySource>,
) -> (Check, Option<SecretString>) {
    const NAME: &str = "key";
    let Some(base_url) = base_url else {
        return (Check::fail(NAME, "without an address there is none to look for"), None);
    };
    let found = key::find(&cx.settings, given, base_url, &cx.progress).await;
    match found {
        Ok(Ok(Key { key, place })) => {
            (Check::ok(NAME, format!("{}, from {place}", masked(&key))), Some(key))
        }
        Ok(Err(missing)) => (Check::failed(NAME, &missing.into()), None),
        Err(error) => (Check::failed(NAME, &error), None),
    }
}
