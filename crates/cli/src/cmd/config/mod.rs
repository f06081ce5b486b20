//! `formsvc config`

mod get;
mod path;
mod set;
mod unset;

use clap::Subcommand;

use crate::config::Place;
use crate::context::Context;
use crate::error::CliError;

/// Settings that last
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    Get(get::Get),
    Set(set::Set),
    Unset(unset::Unset),
    Path(path::Path),
}

impl Config {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Get(get) => get.run(cx),
            Self::Set(set) => set.run(cx),
            Self::Unset(unset) => unset.run(cx),
            Self::Path(path) => path.run(cx),
        }
    }
}

/// Where a command sets a setting: where its name says, or else in the profile that was named.
fn place(cx: &Context, key: &str) -> Result<Place, CliError> {
    Place::within(key, cx.settings.profile_named.as_deref())
}
