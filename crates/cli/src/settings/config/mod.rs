//! The user's `config.toml` and the project file `.formsvc.toml`.
//!
//! [`keys`] is the table of all settings. [`edit`] changes the user's file and keeps comments and
//! layout.

mod file;
pub mod keys;
mod place;
mod text;
mod value;

pub(crate) use file::{edit, load, path_in, read_project};
pub(crate) use keys::PROFILE;
pub(crate) use place::{NO_KEYS, SettingLocation, suggested};
pub(crate) use text::{Entries, Entry};
pub(crate) use value::{Value, hosts};

use crate::base::masked::secret_prefix;
use crate::base::suggest::did_you_mean;
use crate::error::CliError;
use crate::error::usage::KEY_TYPED;
use crate::settings::Origin;

/// Name of the file in the configuration folder.
pub(crate) const FILE_NAME: &str = "config.toml";

/// The error for a profile that does not exist. `origin` is the origin of its name, if that is not an
/// argument of the command.
pub(crate) fn no_profile(name: &str, origin: Option<&Origin>, known: &[String]) -> CliError {
    let at = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
    let error = CliError::usage(format!("there is no profile `{name}`{at}"));
    if secret_prefix(name).is_some() {
        return error.hint(KEY_TYPED);
    }
    error.hint(did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| {
        format!("`formsvc auth list` lists the profiles; `formsvc auth login --profile {name}` adds this one")
    }))
}
