//! Settings that last: the user's `config.toml`, and what may stand in it.
//!
//! [`keys`] is the table of all settings. A setting has a place (`Place`): at the top of the file,
//! or in the table of a profile. `File` reads and changes the file and keeps what people wrote
//! around the values.

mod file;
pub mod keys;
mod place;
mod text;
mod value;

pub(crate) use file::{File, read_project};
pub(crate) use keys::PROFILE;
pub(crate) use place::{NO_KEYS, Place, meant_setting};
pub(crate) use text::{Entries, Entry};
pub(crate) use value::Value;

use crate::base::suggest::did_you_mean;
use crate::error::CliError;
use crate::settings::Origin;

/// Name of the file in the folder of the configuration.
pub(crate) const FILE_NAME: &str = "config.toml";

/// No profile has this name. `origin` says where it was named, when that was not the command itself.
pub(crate) fn no_profile<'a>(
    name: &str,
    origin: Option<&Origin>,
    known: impl IntoIterator<Item = &'a str>,
) -> CliError {
    let at = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
    CliError::usage(format!("there is no profile `{name}`{at}")).hint(
        did_you_mean(name, known).unwrap_or_else(|| {
            format!(
                "`formsvc auth list` shows them; `formsvc auth login --profile {name}` makes it"
            )
        }),
    )
}
