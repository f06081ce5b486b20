//! Settings that last: the user's `config.toml`, and what may stand in it.
//!
//! [`keys`] is the table of all settings. A setting has a place (`Place`): at the top of the file,
//! or in the table of a profile. `File` reads and changes the file and keeps what people wrote
//! around the values.

mod file;
pub mod keys;
mod place;
mod replace;
mod text;
mod value;

pub(crate) use file::{File, read_project};
pub(crate) use keys::PROFILE;
pub(crate) use place::{NO_KEYS, Place, meant_setting};
pub(crate) use text::{Entries, Entry};
pub(crate) use value::Value;

/// Name of the file in the folder of the configuration.
pub(crate) const FILE_NAME: &str = "config.toml";
