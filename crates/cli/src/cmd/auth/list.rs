//! `formsvc auth list`

use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::{KeyStore, Profile, config};

pub(in crate::cmd) const FIELDS: &[Field] =
    &[Field::new("profile"), Field::address("base_url"), Field::new("store"), Field::new("active")];

/// List the profiles with their services and the stores of their API keys
///
/// Sends no request and does not open the keyring.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth list\n  formsvc auth list --output json\n  formsvc auth list --json profile,base_url"
)]
pub(crate) struct List {}

#[derive(Serialize)]
struct Row<'a> {
    profile: &'a str,
    base_url: Option<String>,
    store: Option<&'static str>,
    active: bool,
}

impl List {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let Self {} = self;
        let mut listing = cx.output.listing(FIELDS)?;
        let entries = config::load(&cx.settings.paths)?;
        let mut names = entries.profiles.clone();
        names.sort_unstable();
        for name in &names {
            let profile = Profile::read(&entries, name);
            let is_command = !profile.api_key_command.is_empty();
            listing.push(&Row {
                profile: name,
                base_url: profile.base_url,
                store: if is_command { Some("command") } else { profile.store.map(KeyStore::name) },
                active: *name == cx.settings.profile,
            });
        }
        if names.is_empty() {
            cx.progress.remark("no profiles: `formsvc auth login` adds one");
        }
        cx.output.list(&listing)
    }
}
