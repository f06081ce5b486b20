//! The arguments as meant: flags, environment and terminal brought together, once.

use std::ffi::OsString;
use std::time::Duration;

use crate::args::{Color, ErrorFormat, Globals, OutputFormat, Rate};
use crate::env::{self, Lookup};
use crate::error::CliError;
pub use crate::key::KeySource;
use crate::paths::Paths;

/// The profile that is used when none is named.
pub(crate) const PROFILE_DEFAULT: &str = "default";

/// What every command needs to know.
#[derive(Debug)]
pub struct Settings {
    /// Which service, with which key.
    pub service: Service,
    /// The name of the profile, whether anything is kept under it or not.
    pub profile: String,
    /// The profile that a flag or a variable names.
    pub profile_named: Option<String>,
    /// How data is shown.
    pub output: OutputFormat,
    /// What is made of the JSON before it is shown.
    pub json: Json,
    /// When to use colours.
    pub color: Color,
    /// Whether long output may go through a pager.
    pub pager: bool,
    /// Whether a person may be asked: there is a terminal to ask on, and `--no-input` is not given.
    pub may_ask: bool,
    /// How errors are told.
    pub error_format: ErrorFormat,
    /// Where configuration, state and caches are.
    pub paths: Paths,
    /// Say nothing but errors.
    pub quiet: bool,
    /// How much more to say.
    pub verbose: u8,
    /// Time for one request.
    pub timeout: Option<Duration>,
    /// Longest single wait for a rate limit.
    pub max_wait: Option<Duration>,
    /// Requests a minute.
    pub max_rate: Option<Rate>,
    /// What standard output and error are.
    pub terminal: Terminal,
}

/// What is made of the JSON before it is shown: `--json`, `--jq`, `--template`.
#[derive(Debug, Default)]
pub struct Json {
    /// The fields, comma-separated; empty asks which there are.
    pub fields: Option<String>,
    /// The format given as a flag, which frames the fields: what is set elsewhere does not.
    pub format: Option<OutputFormat>,
    /// A jq expression.
    pub jq: Option<String>,
    /// A template.
    pub template: Option<String>,
}

/// Which service, with which key.
#[derive(Debug)]
pub enum Service {
    /// One started for this command.
    Demo,
    /// One that runs somewhere.
    At {
        /// Its address, if one was given.
        base_url: Option<String>,
        /// Where the key is, if one was given.
        key: Option<KeySource>,
    },
}

/// What the standard streams are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// Whether standard input is a terminal.
    pub stdin: bool,
    /// Whether standard output is a terminal.
    pub stdout: bool,
    /// Whether standard error is a terminal.
    pub stderr: bool,
}

/// Brings flags, environment and terminal together. Stronger first: flag, then environment, then
/// default.
pub(crate) fn resolve(
    globals: Globals,
    env: Lookup<'_>,
    terminal: Terminal,
) -> Result<Settings, CliError> {
    check_conflicts(&globals)?;
    let paths = Paths::of(env);
    let profile_named = match globals.profile {
        Some(profile) => Some(profile),
        None => text(env, env::PROFILE.name)?,
    };
    let profile = profile_named.clone().unwrap_or_else(|| PROFILE_DEFAULT.to_owned());
    let service = if globals.demo {
        Service::Demo
    } else {
        let base_url = match globals.base_url {
            Some(url) => Some(url),
            None => text(env, env::BASE_URL.name)?,
        };
        let key = if globals.api_key_stdin {
            Some(KeySource::Stdin)
        } else if let Some(path) = globals.api_key_file {
            Some(KeySource::File(path))
        } else if let Some(key) = text(env, env::API_KEY.name)? {
            Some(KeySource::Env(key.into()))
        } else {
            set(env, env::API_KEY_FILE.name).map(|path| KeySource::File(path.into()))
        };
        Service::At { base_url, key }
    };
    let default_output = if terminal.stdout { OutputFormat::Table } else { OutputFormat::Tsv };
    Ok(Settings {
        service,
        profile,
        profile_named,
        output: globals.output.unwrap_or(default_output),
        json: Json {
            fields: globals.json,
            format: globals.output,
            jq: globals.jq,
            template: globals.template,
        },
        color: globals.color,
        pager: !globals.no_pager,
        may_ask: terminal.stdin && terminal.stderr && !globals.no_input,
        error_format: globals.error_format,
        paths,
        quiet: globals.quiet,
        verbose: globals.verbose,
        timeout: globals.timeout,
        max_wait: globals.max_wait,
        max_rate: globals.max_rate,
        terminal,
    })
}

/// Flags that contradict each other. Not left to the parser, which does not see that a flag before
/// the command and one after it do.
fn check_conflicts(globals: &Globals) -> Result<(), CliError> {
    let (stdin, file) = (globals.api_key_stdin, globals.api_key_file.is_some());
    let conflicts = [
        (globals.demo && globals.base_url.is_some(), "--demo", "--base-url"),
        (globals.demo && stdin, "--demo", "--api-key-stdin"),
        (globals.demo && file, "--demo", "--api-key-file"),
        (stdin && file, "--api-key-stdin", "--api-key-file"),
        (globals.quiet && globals.verbose > 0, "--quiet", "--verbose"),
    ];
    match conflicts.iter().find(|(both, ..)| *both) {
        Some((_, one, other)) => {
            Err(CliError::usage(format!("`{one}` and `{other}` cannot be used together")))
        }
        None => Ok(()),
    }
}

/// A variable that is set to something.
fn set(env: Lookup<'_>, name: &str) -> Option<OsString> {
    env(name).filter(|value| !value.is_empty())
}

fn text(env: Lookup<'_>, name: &str) -> Result<Option<String>, CliError> {
    // The value stays out of the message: it may be a key.
    set(env, name)
        .map(OsString::into_string)
        .transpose()
        .map_err(|_| CliError::usage(format!("the variable `{name}` is not UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(globals: Globals, env: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        resolve(globals, &lookup, Terminal::default()).unwrap()
    }

    #[test]
    fn a_flag_beats_the_environment() {
        let globals = Globals { base_url: Some("https://flag".into()), ..Globals::default() };
        let settings = with(globals, &[("FORMSVC_BASE_URL", "https://env")]);
        let Service::At { base_url, .. } = settings.service else { panic!("not a service") };
        assert_eq!(base_url.as_deref(), Some("https://flag"));
        let stdin = Globals { api_key_stdin: true, ..Globals::default() };
        let Service::At { key, .. } = with(stdin, &[("FORMSVC_API_KEY", "env")]).service else {
            panic!("not a service")
        };
        assert!(matches!(key, Some(KeySource::Stdin)), "{key:?}");
    }

    #[test]
    fn an_empty_variable_is_as_good_as_none() {
        let settings =
            with(Globals::default(), &[("FORMSVC_API_KEY", ""), ("FORMSVC_BASE_URL", "")]);
        assert!(matches!(settings.service, Service::At { base_url: None, key: None }));
    }

    #[test]
    fn lists_in_a_pipe_are_for_programs() {
        assert_eq!(with(Globals::default(), &[]).output, OutputFormat::Tsv);
        let terminal = Terminal { stdout: true, ..Terminal::default() };
        let settings = resolve(Globals::default(), &|_| None, terminal).unwrap();
        assert_eq!(settings.output, OutputFormat::Table);
    }
}
