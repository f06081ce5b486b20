//! `formsvc auth login`

use clap::Args;
use formsvc_client::User;
use secrecy::SecretString;

use super::{service, setting, warn_of_stronger};
use crate::account::credentials::{Account, StoreError, Stores};
use crate::account::key;
use crate::context::{Context, no_base_url};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::prompt;
use crate::settings::{KeySource, KeyStore, Profile, config};

/// Verify an API key and store it for a profile
///
/// Prompts for the key on a terminal, with hidden input; elsewhere use --api-key-stdin or --api-key-file. The
/// key is stored for the service that verified it, and is sent to no other service. There is no argument for
/// the key, because other users can list arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth login\n  formsvc auth login --profile work --base-url https://forms.example\n  pass show forms | formsvc auth login --api-key-stdin --store file\n  formsvc auth login --api-key-command pass show forms"
)]
pub(crate) struct Login {
    /// Store of the key [default: keyring]
    #[arg(long, value_name = "STORE")]
    store: Option<KeyStore>,
    /// Store the key without a request to the service
    #[arg(long)]
    no_verify: bool,
    /// Change the service of a profile, and delete the key for its old service
    #[arg(long)]
    overwrite: bool,
    /// Run this program for the key each time, instead of storing a key. It runs without a shell; must be the
    /// last flag
    #[arg(
        long,
        value_name = "PROGRAM",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with = "store"
    )]
    api_key_command: Vec<String>,
}

impl Login {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let (base_url, key) = service(cx);
        let saved = Profile::read(&config::load(&cx.settings.paths)?, &cx.settings.profile);
        let base_url = address(cx, base_url.or(saved.base_url.as_ref())).await?;
        let account = Account::new(&cx.settings.profile, &base_url)?;
        // A base URL that is not valid has no key.
        let old = Account::of_profile(&saved).ok().flatten();
        let old = old.filter(|old| old.origin() != account.origin());
        if let Some(old) = &old {
            self.may_replace(cx, old, &account).await?;
        }
        let account = account.stored_in(saved.store.filter(|_| old.is_none()));
        if !self.no_verify {
            cx.check_network(&base_url)?;
        }
        let by_command = !self.api_key_command.is_empty();
        let key = if by_command {
            key::from_command(&self.api_key_command, cx.settings.may_ask).await?
        } else {
            new_key(cx, key, account.origin()).await?
        };
        let user = self.verify(cx, &account, &key).await?;
        let stores = Stores::of(&cx.settings);
        let store = if by_command {
            None
        } else {
            let named = self.store.or(account.store().filter(|store| *store == KeyStore::File));
            Some(choose_store(cx, &stores, named).await?)
        };
        // A run that ends between two steps leaves a key, and a configuration that finds it: a copy that is
        // not needed any more is deleted last.
        let is_first = self.save(cx, &account, store.map(|store| (&stores, store, &key)))?;
        let removed = match store {
            Some(store) => stores.remove_other_copy(&account, store),
            None => stores.remove(&account).map(drop),
        };
        let old_removed = old.map_or(Ok(()), |old| stores.remove(&old).map(drop));
        for error in [removed, old_removed].into_iter().filter_map(Result::err) {
            cx.progress.warn(&error.to_string());
        }
        let (origin, name) = (account.origin(), account.profile());
        cx.progress.remark(&match user {
            Some(User { name: user, email, .. }) => {
                format!("logged in to {origin} as {user} <{email}> (profile `{name}`)")
            }
            None => format!("the key for {origin} was not verified (profile `{name}`)"),
        });
        cx.progress.remark(&match store {
            None => "no key is stored: the program runs each time".to_owned(),
            Some(store) => {
                let readers =
                    if store == KeyStore::File { ", which only you can read" } else { "" };
                format!("the key is stored in {}{readers}", stores.place(store))
            }
        });
        if is_first {
            cx.progress.remark(&format!("the profile `{name}` is used unless another is named"));
        }
        warn_of_stronger(cx);
        Ok(())
    }

    /// Fails unless the user agrees that the profile gets another service.
    async fn may_replace(
        &self,
        cx: &Context,
        old: &Account,
        new: &Account,
    ) -> Result<(), CliError> {
        let is = format!("the profile `{}` is for {}", old.profile(), old.origin());
        let question = format!("{is}. Make it one for {}?", new.origin());
        if self.overwrite || cx.settings.may_ask && prompt::confirm(&question).await? {
            return Ok(());
        }
        Err(CliError::usage(is).hint(
            "name another profile with `--profile NAME`, or replace this one with `--overwrite`",
        ))
    }

    async fn verify(
        &self,
        cx: &Context,
        account: &Account,
        key: &SecretString,
    ) -> Result<Option<User>, CliError> {
        if self.no_verify {
            return Ok(None);
        }
        let verified = cx.client_at(account.origin(), key)?.me().await;
        Ok(Some(verified.inspect_err(|_| cx.progress.remark("no key was stored"))?.into_inner()))
    }

    /// Stores the key, and saves the service and the store of the profile. Returns true if it is the first
    /// profile. If the configuration cannot be changed, no key is stored.
    fn save(
        &self,
        cx: &Context,
        account: &Account,
        key: Option<(&Stores, KeyStore, &SecretString)>,
    ) -> Result<bool, CliError> {
        let (name, mut is_first) = (account.profile(), false);
        config::edit(&cx.settings.paths, |edit| {
            is_first = edit.set_first_profile(name)?;
            edit.set(&setting(name, "base_url"), account.origin())?;
            let command = setting(name, "api_key_command");
            let Some((stores, store, key)) = key else {
                edit.unset(&setting(name, "store"))?;
                return edit.set(&command, &serde_json::json!(self.api_key_command).to_string());
            };
            edit.set(&setting(name, "store"), store.name())?;
            edit.unset(&command)?;
            Ok(stores.write(account, key, store)?)
        })?;
        Ok(is_first)
    }
}

/// Returns the base URL. Prompts for it if no setting has one.
async fn address(cx: &Context, known: Option<&String>) -> Result<String, CliError> {
    let address = match known {
        Some(address) => address.clone(),
        None if cx.settings.may_ask => {
            prompt::line("Address of the service").await?.ok_or_else(no_base_url)?
        }
        None => return Err(no_base_url()),
    };
    cx.settings.base_url(&address)?;
    Ok(address)
}

/// Returns the key to store. A key in a variable is for single commands, and is not stored.
async fn new_key(
    cx: &Context,
    given: Option<&KeySource>,
    origin: &str,
) -> Result<SecretString, CliError> {
    match given {
        Some(given) if given.named_by().starts_with("--") => {
            Ok(given.read(&cx.progress).await?.key)
        }
        _ if cx.settings.may_ask => {
            prompt::hidden(&format!("API key for {origin} (the input is hidden)")).await
        }
        _ => Err(CliError::new(Exit::Auth, "no API key to store")
            .hint("give it with --api-key-stdin or --api-key-file PATH, or log in on a terminal")),
    }
}

/// Returns the named store, or the keyring. Without a keyring, the user may agree to the file.
async fn choose_store(
    cx: &Context,
    stores: &Stores,
    named: Option<KeyStore>,
) -> Result<KeyStore, CliError> {
    let store = named.unwrap_or_default();
    let Some(why) = stores.check(store).err().filter(StoreError::is_unreachable) else {
        return Ok(store);
    };
    if named.is_none() && cx.settings.may_ask {
        cx.progress.remark(&format!("{why}."));
        let place = stores.place(KeyStore::File);
        if prompt::confirm(&format!("Store the key in {place}, which only you can read?")).await? {
            return Ok(KeyStore::File);
        }
    }
    let hint = key::store_hint(&cx.settings, &why).unwrap_or_default();
    Err(CliError::from(why).hint(hint))
}
