//! `formsvc auth login`

use clap::Args;
use formsvc_client::User;
use secrecy::SecretString;

use super::profile::{Profile, of_this_run, place};
use super::{keep, no_demo, warn_of_stronger};
use crate::account::credentials::{Account, Stores};
use crate::account::key;
use crate::context::{Context, no_base_url};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::prompt;
use crate::settings::Store;
use crate::settings::base_url;
use crate::settings::config::File;
use crate::settings::{KeySource, Service};

/// Verify an API key and store it for a profile
///
/// Asks for the key on a terminal, where nothing of it shows; elsewhere give it with --api-key-stdin or
/// --api-key-file. It is kept for the address it was verified at, and is never sent to another one. An
/// API key cannot be given as an argument: whoever can list processes can read those.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth login\n  formsvc auth login --profile work --base-url https://forms.example\n  pass show forms | formsvc auth login --api-key-stdin --store file\n  formsvc auth login --api-key-command pass show forms"
)]
pub(crate) struct Login {
    /// Where to keep the key [default: keyring]
    #[arg(long, value_name = "STORE")]
    store: Option<Store>,
    /// Do not ask the service whether it takes the key
    #[arg(long)]
    no_verify: bool,
    /// Give a profile another service, and forget the key for the one it had
    #[arg(long)]
    overwrite: bool,
    /// Keep no key: this program prints it each time. No shell is involved; give it last
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
        let Service::At { base_url, key } = &cx.settings.service else { return Err(no_demo()) };
        let (mut file, before) = of_this_run(cx)?;
        let base_url = address(cx, base_url.as_ref().or(before.base_url.as_ref())).await?;
        let account = Account::new(&before.name, &base_url)?;
        let left = self.left_behind(cx, &before, &account).await?;
        let account = account.kept_in(if left.is_none() { before.store } else { None });
        let by_command = !self.api_key_command.is_empty();
        if !self.no_verify {
            cx.check_network(&base_url)?;
        }
        let key = if by_command {
            key::from_command(&self.api_key_command, cx.settings.may_ask).await?.key
        } else {
            new_key(cx, key.as_ref(), account.origin()).await?
        };
        let user = self.verify(cx, &account, &key).await?;
        let stores = Stores::of(&cx.settings);
        let first = file.profiles()?.is_empty() && file.get("profile")?.is_none();
        // A run that ends between any two of these steps leaves the old key or the new one, and a
        // configuration under which it is found: what is no longer used is forgotten last.
        let put = if by_command {
            None
        } else {
            Some(keep::put(cx, &stores, &account, &key, self.store).await?)
        };
        let noted = self.note(&mut file, &account, put.as_ref().map(|put| put.store), first);
        let settled = noted.and_then(|()| {
            let settled = put.as_ref().map_or(Ok(None), |put| stores.settle(put));
            settled.map_err(|why| {
                if let Err(error) = before.put_back(&mut file, first) {
                    cx.progress.warn(&error.brief());
                }
                CliError::from(why)
            })
        });
        let older_copy = settled.inspect_err(|_| {
            if let Some(put) = &put {
                keep::take_back(cx, &stores, put);
            }
        })?;
        for without_use in left.iter().chain(by_command.then_some(&account)) {
            if let Err(why) = stores.remove(without_use) {
                cx.progress.warn(&why.to_string());
            }
        }
        tell(cx, &account, user.as_ref());
        match &put {
            Some(put) => keep::tell(cx, &stores, put.store, older_copy.as_ref()),
            None => cx.progress.remark("no key is kept: the program is asked for it each time"),
        }
        if first {
            let name = account.profile();
            cx.progress.remark(&format!("the profile `{name}` is used unless another is named"));
        }
        warn_of_stronger(cx);
        Ok(())
    }

    /// The account whose key this login leaves without a use: of the service that the profile had.
    async fn left_behind(
        &self,
        cx: &Context,
        before: &Profile,
        account: &Account,
    ) -> Result<Option<Account>, CliError> {
        // An address that cannot be read has no key either.
        let Ok(Some(old)) = before.account() else { return Ok(None) };
        if old.origin() == account.origin() {
            return Ok(None);
        }
        let (name, was) = (account.profile(), old.origin());
        if !self.overwrite {
            let is = format!("the profile `{name}` is for {was}");
            let question = format!("{is}. Make it one for {}?", account.origin());
            if !(cx.settings.may_ask && prompt::confirm(&question).await?) {
                return Err(CliError::usage(is).hint(
                    "name another profile with `--profile NAME`, or replace this one with `--overwrite`",
                ));
            }
        }
        Ok(Some(old))
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
        let client = cx.client_at(account.origin(), key)?;
        let verified = client.me().await;
        Ok(Some(verified.inspect_err(|_| cx.progress.remark("no key was kept"))?.into_inner()))
    }

    /// Writes down which service the profile is for, and where the key is.
    fn note(
        &self,
        file: &mut File,
        account: &Account,
        store: Option<Store>,
        first: bool,
    ) -> Result<(), CliError> {
        let name = account.profile();
        file.set(&place(name, "base_url"), account.origin())?;
        Profile::set_kept(file, name, store, &self.api_key_command)?;
        if first {
            file.set("profile", name)?;
        }
        file.save()
    }
}

/// Which service.
async fn address(cx: &Context, known: Option<&String>) -> Result<String, CliError> {
    let address = match known {
        Some(address) => address.clone(),
        None if cx.settings.may_ask => {
            prompt::line("Address of the service").await?.ok_or_else(no_base_url)?
        }
        None => return Err(no_base_url()),
    };
    base_url::read(&address)?;
    Ok(address)
}

/// The key to keep. One in the environment is not: nobody asked for that.
async fn new_key(
    cx: &Context,
    given: Option<&KeySource>,
    origin: &str,
) -> Result<SecretString, CliError> {
    match given {
        Some(given) if given.is_a_flag() => Ok(given.read(&cx.progress).await?.key),
        _ if cx.settings.may_ask => {
            prompt::hidden(&format!("API key for {origin} (it does not show)")).await
        }
        _ => Err(CliError::new(Exit::Auth, "no API key to keep")
            .hint("give it with --api-key-stdin or --api-key-file PATH, or log in on a terminal")),
    }
}

fn tell(cx: &Context, account: &Account, user: Option<&User>) {
    let (origin, profile) = (account.origin(), account.profile());
    cx.progress.remark(&match user {
        Some(user) => {
            let User { name, email, .. } = user;
            format!("logged in to {origin} as {name} <{email}> (profile `{profile}`)")
        }
        None => format!("a key for {origin} is kept that was not verified (profile `{profile}`)"),
    });
}
