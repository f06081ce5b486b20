//! The arguments as meant: flags, environment and terminal brought together, once.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use formsvc_client::SecretString;

use crate::args::{Color, ErrorFormat, Globals, OutputFormat, Rate};
use crate::env::{self, Lookup};
use crate::error::CliError;
use crate::exit::Exit;
use crate::paths::Paths;

/// How keys begin; a file name that does is a key in the wrong place, and must not be shown.
const KEY_PREFIX: &str = "fsk_";
/// Longest key file that is read; a key has a few dozen characters.
const KEY_FILE_MAX: u64 = 4096;

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

/// Where the API key comes from; read only when a request is about to be made.
#[derive(Debug)]
pub enum KeySource {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
    /// The environment.
    Env(SecretString),
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

impl KeySource {
    /// Reads the key: the first line, without the white space around it.
    pub(crate) fn read(&self, stdin: &mut dyn Read) -> Result<SecretString, CliError> {
        let (text, place) = match self {
            Self::Env(key) => return Ok(key.clone()),
            Self::Stdin => {
                let read = read_text(stdin).map_err(|error| {
                    CliError::new(Exit::LocalIo, "cannot read the API key from standard input")
                        .because(&error)
                })?;
                (read, "standard input".to_owned())
            }
            Self::File(path) => (read_file(path)?, format!("`{}`", path.display())),
        };
        let key = text.trim();
        let wrong = if key.is_empty() {
            "is empty"
        } else if key.contains(char::is_whitespace) {
            "holds more than one word; it must hold the key alone"
        } else {
            return Ok(key.into());
        };
        Err(CliError::new(Exit::Auth, format!("no API key: {place} {wrong}")))
    }
}

/// What is worth a word about a key file: that others can read it.
#[cfg(unix)]
pub(crate) fn loose_key_file(key: &KeySource) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let KeySource::File(path) = key else { return None };
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "warning: others can read the key file `{}`; chmod 600 keeps it yours",
            path.display()
        )
    })
}

#[cfg(not(unix))]
pub(crate) fn loose_key_file(_: &KeySource) -> Option<String> {
    None
}

fn read_file(path: &Path) -> Result<String, CliError> {
    if path.to_string_lossy().starts_with(KEY_PREFIX) && !path.exists() {
        let what = "the API key itself was given where the name of its file belongs";
        return Err(CliError::usage(what).hint("anyone can read arguments: revoke this key"));
    }
    std::fs::File::open(path).and_then(|mut file| read_text(&mut file)).map_err(|error| {
        let message = format!("cannot read the API key file `{}`", path.display());
        CliError::new(Exit::LocalIo, message).because(&error)
    })
}

fn read_text(from: &mut dyn Read) -> std::io::Result<String> {
    let mut text = String::new();
    if from.take(KEY_FILE_MAX + 1).read_to_string(&mut text)? as u64 > KEY_FILE_MAX {
        let rule = format!("longer than {KEY_FILE_MAX} bytes, which no API key is");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, rule));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use formsvc_client::ExposeSecret;

    use super::*;

    fn with(globals: Globals, env: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        resolve(globals, &lookup, Terminal::default()).unwrap()
    }

    fn key(settings: Settings, stdin: &str) -> Result<String, String> {
        let Service::At { key: Some(key), .. } = settings.service else { panic!("no key") };
        match key.read(&mut stdin.as_bytes()) {
            Ok(key) => Ok(key.expose_secret().to_owned()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    #[test]
    fn a_flag_beats_the_environment() {
        let globals = Globals { base_url: Some("https://flag".into()), ..Globals::default() };
        let settings = with(globals, &[("FORMSVC_BASE_URL", "https://env")]);
        let Service::At { base_url, .. } = settings.service else { panic!("not a service") };
        assert_eq!(base_url.as_deref(), Some("https://flag"));
        let stdin = Globals { api_key_stdin: true, ..Globals::default() };
        assert_eq!(key(with(stdin, &[("FORMSVC_API_KEY", "env")]), "fsk_1\n").unwrap(), "fsk_1");
    }

    #[test]
    fn an_empty_variable_is_as_good_as_none() {
        let settings =
            with(Globals::default(), &[("FORMSVC_API_KEY", ""), ("FORMSVC_BASE_URL", "")]);
        assert!(matches!(settings.service, Service::At { base_url: None, key: None }));
    }

    #[test]
    fn what_is_not_one_key_is_refused_without_being_shown() {
        for bad in ["", " \n", "two words", "a\nb"] {
            let stdin = Globals { api_key_stdin: true, ..Globals::default() };
            let error = key(with(stdin, &[]), bad).unwrap_err();
            assert!(!error.contains("words\""), "{error}");
        }
        let stdin = Globals { api_key_stdin: true, ..Globals::default() };
        assert!(key(with(stdin, &[]), &"k".repeat(5000)).is_err());
    }

    #[test]
    fn lists_in_a_pipe_are_for_programs() {
        assert_eq!(with(Globals::default(), &[]).output, OutputFormat::Tsv);
        let terminal = Terminal { stdout: true, ..Terminal::default() };
        let settings = resolve(Globals::default(), &|_| None, terminal).unwrap();
        assert_eq!(settings.output, OutputFormat::Table);
    }
}
