//! The environment variables: one table, from which help and docs follow.

use std::ffi::OsString;

/// A variable the program reads.
#[derive(Clone, Copy, Debug)]
pub struct EnvVar {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// Address of the service.
pub const BASE_URL: EnvVar =
    EnvVar { name: "FORMSVC_BASE_URL", about: "address of the service, as `--base-url`" };
/// The API key.
pub const API_KEY: EnvVar =
    EnvVar { name: "FORMSVC_API_KEY", about: "the API key; weaker than the `--api-key-…` flags" };
/// A file that holds the API key.
pub const API_KEY_FILE: EnvVar = EnvVar {
    name: "FORMSVC_API_KEY_FILE",
    about: "a file that holds the API key, as `--api-key-file`; weaker than FORMSVC_API_KEY",
};
/// The profile.
pub const PROFILE: EnvVar =
    EnvVar { name: "FORMSVC_PROFILE", about: "the profile, as `--profile`" };
/// The folder of the configuration.
pub const CONFIG_DIR: EnvVar =
    EnvVar { name: "FORMSVC_CONFIG_DIR", about: "the folder of the configuration" };
/// The folder of what is kept between runs.
pub const STATE_DIR: EnvVar =
    EnvVar { name: "FORMSVC_STATE_DIR", about: "the folder of what is kept between runs" };
/// Switches colour off.
pub const NO_COLOR: EnvVar = EnvVar { name: "NO_COLOR", about: "when set, no colours" };
/// Switches colour on.
pub const CLICOLOR_FORCE: EnvVar =
    EnvVar { name: "CLICOLOR_FORCE", about: "when set and not 0, colours even in a pipe" };

/// Every variable the program reads.
pub const ENV_VARS: &[EnvVar] =
    &[BASE_URL, API_KEY, API_KEY_FILE, PROFILE, CONFIG_DIR, STATE_DIR, NO_COLOR, CLICOLOR_FORCE];

/// Looks a variable up; given to whoever reads the environment, so that tests own it.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;
