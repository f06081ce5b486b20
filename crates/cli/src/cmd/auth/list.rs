//! `formsvc auth list`

use clap::Args;
use serde::Serialize;

use super::profile::Profile;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::config::File;

pub(in crate::cmd) const FIELDS: &[Field] =
    &[Field::new("profile"), Field::address("base_url"), Field::new("store"), Field::new("active")];

/// List the profiles with their services and the places of their API keys
///
/// Asks neither the service nor a keyring.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth list\n  formsvc auth list --output json\n  formsvc auth list --json profile,base_url"
)]
pub(crate) struct List {}

#[derive(Serialize)]
struct Row<'a> {
    profile: &'a str,
    base_url: Option<&'a str>,
    store: Option<&'static str>,
    active: bool,
}

impl List {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let Self {} = self;
        let mut listing = cx.output.listing(FIELDS)?;
        let profiles = Profile::all(&File::load(&cx.settings.paths)?)?;
        for profile in &profiles {
            listing.push(&Row {
                profile: &profile.name,
                base_url: profile.base_url.as_deref(),
                store: profile.kept(),
                active: profile.name == cx.settings.profile,
            });
        }
        if profiles.is_empty() {
            cx.progress.remark("no profiles: `formsvc auth login` makes one");
        }
        cx.output.list(listing)
    }
}
