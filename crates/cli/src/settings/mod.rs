//! The arguments as meant: flags, environment, files and terminal brought together, once.

pub mod args;
pub(crate) mod base_url;
pub mod config;
pub(crate) mod early;
mod files;
mod layers;
mod origin;
mod profile;
pub(crate) mod repeat_command;

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use formsvc_client::network::{CertificateOrigin, NetworkSettings};

use crate::base::env::{self, Lookup};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::error::ErrorFormat;
pub(crate) use crate::output::Json;
use crate::output::{Color, OutputFormat, OutputOptions, TimeStyle};
use crate::settings::args::{Globals, Rate};
use crate::settings::config::Value;
use crate::settings::config::keys::{names, one_of};
use files::Files;
pub(crate) use layers::Care;
use layers::Layers;
pub(crate) use layers::PROFILE_DEFAULT;
pub use layers::{Resolved, Row};
pub use origin::Origin;
pub use profile::KeySource;
pub(crate) use profile::{Choice, Store, check_profile};

/// What every command needs to know.
#[derive(Debug)]
pub struct Settings {
    /// Which service, with which key.
    pub service: Service,
    /// The name of the profile, whether anything is kept under it or not.
    pub profile: String,
    /// The profile that a flag or a variable names.
    pub profile_named: Option<String>,
    /// What the user's configuration says about the service of the profile, and its key.
    pub kept: Kept,
    /// Where keys may be looked for and kept.
    pub(crate) stores: Choice,
    /// How data is shown, if anybody says so: else the command and the stream decide.
    pub output: Option<OutputFormat>,
    /// What is made of the JSON before it is shown.
    pub json: Json,
    /// How times are told on a terminal.
    pub time_style: TimeStyle,
    /// When to use colours.
    pub color: Color,
    /// Whether long output may go through a pager.
    pub pager: bool,
    /// The pager, if a variable or the user's configuration names one.
    pub pager_command: Option<String>,
    /// Whether a person may be asked: there is a terminal to ask on, and `--no-input` is not given.
    pub may_ask: bool,
    /// How errors are told.
    pub error_format: ErrorFormat,
    /// Where configuration and caches are.
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
    /// The file of certificates to trust as well.
    pub cacert: Option<CertificateOrigin>,
    /// What standard output and error are.
    pub terminal: Terminal,
    /// The flags of every command as they were given.
    pub(crate) given: repeat_command::Line,
    /// Every setting, and where its value comes from.
    pub resolved: Resolved,
}

/// What the user's configuration says about the service of a profile, and its key. A key that is
/// kept, or printed by a command, is for this service and for no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The address of the service.
    pub base_url: Option<String>,
    /// The store that has the key.
    pub(crate) store: Option<Store>,
    /// The program that prints the key, and its arguments; empty if there is none.
    pub api_key_command: Vec<String>,
}

impl Kept {
    /// Whether there should be a key, or something that prints one.
    pub(crate) fn has_key(&self) -> bool {
        self.store.is_some() || !self.api_key_command.is_empty()
    }
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

/// Reads the files settings stand in, and brings everything together.
pub(crate) fn load(
    globals: Globals,
    env: Lookup<'_>,
    terminal: Terminal,
    care: Care,
) -> Result<Settings, CliError> {
    let paths = Paths::of(env);
    let files = Files::read(&paths, std::env::current_dir().ok().as_deref(), care)?;
    resolve(globals, env, terminal, paths, files, care)
}

/// Brings flags, environment, files and terminal together. Which is stronger is decided in
/// [`layers`]; here each value gets its type.
fn resolve(
    globals: Globals,
    env: Lookup<'_>,
    terminal: Terminal,
    paths: Paths,
    files: Files,
    care: Care,
) -> Result<Settings, CliError> {
    check_conflicts(&globals)?;
    let Files { user, project, warnings } = files;
    let (flags, given) = (flags(&globals), repeat_command::Line::given(&globals));
    // A service started for one command has no profile.
    let care_for_profile = if globals.demo { Care::Lenient } else { care };
    let layers = Layers { flags, env, project, user, care, care_for_profile };
    let mut resolved = layers.resolve()?;
    resolved.warnings.splice(0..0, warnings);
    let service = if globals.demo {
        Service::Demo
    } else {
        let key = if globals.api_key_stdin {
            Some(KeySource::Stdin)
        } else if let Some(path) = globals.api_key_file {
            Some(KeySource::File { path, named_by: "--api-key-file" })
        } else if let Some(key) = text(env, env::API_KEY.name)? {
            Some(KeySource::Env(key.into()))
        } else {
            let named_by = env::API_KEY_FILE.name;
            set(env, named_by).map(|path| KeySource::File { path: path.into(), named_by })
        };
        Service::At { base_url: resolved.text("base_url"), key }
    };
    let cacert = match globals.cacert {
        Some(path) => Some(CertificateOrigin { setting: "--cacert", path }),
        None => set(env, env::CACERT.name)
            .map(|path| CertificateOrigin { setting: env::CACERT.name, path: path.into() }),
    };
    let pager = resolved.text("pager");
    Ok(Settings {
        service,
        kept: layers.kept(&resolved.profile),
        stores: stores(env)?,
        profile: resolved.profile.clone(),
        profile_named: matches!(resolved.row("profile"), Some(row) if row.origin.is_said())
            .then(|| resolved.profile.clone()),
        output: resolved.read("output", choice),
        json: Json {
            fields: globals.json,
            format: globals.output,
            jq: globals.jq,
            template: globals.template,
        },
        time_style: resolved.read("time_style", choice).unwrap_or_default(),
        color: resolved.read("color", choice).unwrap_or_default(),
        pager: pager.as_deref() != Some("false"),
        pager_command: pager.filter(|command| command != "false"),
        may_ask: terminal.stdin
            && terminal.stderr
            && resolved.text("no_input").as_deref() != Some("true"),
        error_format: resolved.read("error_format", choice).unwrap_or_default(),
        paths,
        quiet: globals.quiet,
        verbose: globals.verbose,
        timeout: resolved.read("timeout", args::duration),
        max_wait: resolved.read("max_wait", args::duration),
        max_rate: resolved.read("max_rate", args::rate),
        cacert,
        terminal,
        given,
        resolved,
    })
}

impl Settings {
    /// The proxy and TLS settings: those of the environment, and the file of `--cacert`.
    pub(crate) fn network(&self, env: Lookup<'_>) -> Result<NetworkSettings, CliError> {
        let mut network = NetworkSettings::from_vars(env)?;
        if let Some(origin) = &self.cacert {
            network.add_root_certificate_file(origin.clone())?;
        }
        Ok(network)
    }

    /// Returns the options of the output.
    pub(crate) fn output_options(&self) -> OutputOptions {
        OutputOptions {
            json: self.json.clone(),
            format: self.output,
            time_style: self.time_style,
            color: self.color,
            error_format: self.error_format,
            quiet: self.quiet,
            stdout_is_terminal: self.terminal.stdout,
            stderr_is_terminal: self.terminal.stderr,
            pager: self.pager,
            pager_command: self.pager_command.clone(),
        }
    }

    /// How data is shown: to people as a table, to programs as lines, unless somebody says so.
    pub(crate) fn output_format(&self) -> OutputFormat {
        let usual = if self.terminal.stdout { OutputFormat::Table } else { OutputFormat::Tsv };
        self.output.unwrap_or(usual)
    }
}

fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false)
}

/// The flags that were given, by the names of their settings.
fn flags(globals: &Globals) -> Vec<(&'static str, Value)> {
    fn name<T: ValueEnum>(value: &T) -> String {
        value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
    let switch = |on: bool, value: &str| on.then(|| value.to_owned());
    let rate = |rate: &Rate| match rate {
        Rate::PerMinute(rate) => rate.to_string(),
        Rate::Off => "off".to_owned(),
    };
    let flags = [
        ("profile", globals.profile.clone()),
        ("base_url", globals.base_url.clone()),
        ("output", globals.output.as_ref().map(name)),
        ("time_style", globals.time_style.as_ref().map(name)),
        ("color", globals.color.as_ref().map(name)),
        ("pager", switch(globals.no_pager, "false")),
        ("error_format", globals.error_format.as_ref().map(name)),
        ("no_input", switch(globals.no_input, "true")),
        ("timeout", globals.timeout.map(written)),
        ("max_wait", globals.max_wait.map(written)),
        ("max_rate", globals.max_rate.as_ref().map(rate)),
    ];
    let given = flags.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| (name, Value::Text(value))).collect()
}

/// A length of time as it is written in settings.
pub(crate) fn written(duration: Duration) -> String {
    jiff::SignedDuration::try_from(duration)
        .map_or_else(|_| format!("{}s", duration.as_secs()), |duration| format!("{duration:#}"))
}

/// Flags that contradict each other. Not left to the parser, which does not see that a flag before
/// the command and one after it do.
fn check_conflicts(globals: &Globals) -> Result<(), CliError> {
    let (stdin, file) = (globals.api_key_stdin, globals.api_key_file.is_some());
    let conflicts = [
        (globals.demo && globals.profile.is_some(), "--demo", "--profile"),
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

/// Where keys may be looked for and kept. A variable alone says it.
fn stores(env: Lookup<'_>) -> Result<Choice, CliError> {
    let name = env::CREDENTIAL_STORE.name;
    let Some(text) = text(env, name)? else { return Ok(Choice::default()) };
    choice(&text).map_err(|_| {
        let rule = one_of(&names::<Choice>());
        CliError::usage(format!("`{name}` cannot be `{text}`: expected {rule}"))
    })
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

    fn settle(globals: Globals, env: Lookup<'_>, terminal: Terminal) -> Settings {
        let (paths, files) = (Paths::default(), Files::default());
        resolve(globals, env, terminal, paths, files, Care::Strict).unwrap()
    }

    fn with(globals: Globals, env: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        settle(globals, &lookup, Terminal::default())
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
        assert_eq!(with(Globals::default(), &[]).output_format(), OutputFormat::Tsv);
        let terminal = Terminal { stdout: true, ..Terminal::default() };
        let settings = settle(Globals::default(), &|_| None, terminal);
        assert_eq!(settings.output_format(), OutputFormat::Table);
    }
}
