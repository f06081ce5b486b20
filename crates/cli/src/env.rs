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
/// Where keys are kept.
pub const CREDENTIAL_STORE: EnvVar = EnvVar {
    name: "FORMSVC_CREDENTIAL_STORE",
    about: "where keys are kept and looked for: auto (both), keyring or file",
};
/// The folder of the configuration.
pub const CONFIG_DIR: EnvVar =
    EnvVar { name: "FORMSVC_CONFIG_DIR", about: "the folder of the configuration" };
/// The folder of what is kept between runs.
pub const STATE_DIR: EnvVar =
    EnvVar { name: "FORMSVC_STATE_DIR", about: "the folder of what is kept between runs" };
/// How data is shown.
pub const OUTPUT: EnvVar =
    EnvVar { name: "FORMSVC_OUTPUT", about: "how data is shown, as `--output`" };
/// When to use colours.
pub const COLOR: EnvVar =
    EnvVar { name: "FORMSVC_COLOR", about: "when to use colours, as `--color`" };
/// What shows long output.
pub const PAGER: EnvVar = EnvVar {
    name: "FORMSVC_PAGER",
    about: "the command that shows long output on a terminal, or false; stronger than PAGER",
};
/// How errors are told.
pub const ERROR_FORMAT: EnvVar =
    EnvVar { name: "FORMSVC_ERROR_FORMAT", about: "how errors are told, as `--error-format`" };
/// Whether anything is asked.
pub const NO_INPUT: EnvVar =
    EnvVar { name: "FORMSVC_NO_INPUT", about: "true asks nothing, as `--no-input`" };
/// Time for one request.
pub const TIMEOUT: EnvVar =
    EnvVar { name: "FORMSVC_TIMEOUT", about: "time for one request, as `--timeout`" };
/// Longest wait for a rate limit.
pub const MAX_WAIT: EnvVar = EnvVar {
    name: "FORMSVC_MAX_WAIT",
    about: "longest single wait for a rate limit, as `--max-wait`",
};
/// Requests a minute.
pub const MAX_RATE: EnvVar =
    EnvVar { name: "FORMSVC_MAX_RATE", about: "requests a minute at most, as `--max-rate`" };
/// Switches colour off.
pub const NO_COLOR: EnvVar = EnvVar { name: "NO_COLOR", about: "when set, no colours" };
/// Switches colour on.
pub const CLICOLOR_FORCE: EnvVar =
    EnvVar { name: "CLICOLOR_FORCE", about: "when set and not 0, colours even in a pipe" };

/// Every variable the program reads.
pub const ENV_VARS: &[EnvVar] = &[
    BASE_URL,
    API_KEY,
    API_KEY_FILE,
    PROFILE,
    CREDENTIAL_STORE,
    CONFIG_DIR,
    STATE_DIR,
    NO_COLOR,
    CLICOLOR_FORCE,
];

/// Looks a variable up; given to whoever reads the environment, so that tests own it.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;
