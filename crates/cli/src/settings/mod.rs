//! The settings of a run, from flags, variables, files and the terminal.

pub mod args;
pub(crate) mod base_url;
pub mod config;
pub(crate) mod early;
mod layers;
mod origin;
mod profile;
pub(crate) mod repeat_command;

use std::ffi::OsString;
use std::time::Duration;

use clap::ValueEnum;
use formsvc_client::BaseUrl;
use formsvc_client::network::CertificateOrigin;

use crate::base::env::{self, Lookup};
use crate::base::paths::Paths;
use crate::error::CliError;
pub(crate) use crate::output::Json;
use crate::output::{OutputFormat, OutputOptions};
use crate::settings::args::{Given, Globals, Rate};
use crate::settings::config::Value;
use crate::settings::config::keys::SETTINGS;
use layers::Layers;
pub(crate) use layers::OnBadSetting;
pub use layers::{Resolved, Row};
pub use origin::Origin;
pub use profile::{KeySource, Profile};
pub(crate) use profile::{KeyStore, PROFILE_DEFAULT, check_profile};

/// The settings of a run.
#[derive(Debug)]
pub struct Settings {
    /// The service and the source of its key.
    pub service: Service,
    /// The name of the profile, which need not exist.
    pub profile: String,
    /// The profile as the user's file has it.
    pub saved_profile: Profile,
    /// Format, colours and pager of the output.
    pub(crate) output: OutputOptions,
    /// True if prompts are possible: there is a terminal, and they are not disabled.
    pub may_ask: bool,
    /// Folders of configuration, state and cache.
    pub paths: Paths,
    /// Number of `-v` flags.
    pub verbose: u8,
    /// Time limit for one request.
    pub timeout: Option<Duration>,
    /// Longest single wait for a rate limit.
    pub max_wait: Option<Duration>,
    /// Maximum requests per minute.
    pub max_rate: Option<Rate>,
    /// Hosts that get requests over http; `None` allows all hosts.
    allow_http: Option<Vec<String>>,
    /// File with additional trusted certificates.
    pub cacert: Option<CertificateOrigin>,
    /// The standard streams.
    pub terminal: Terminal,
    /// The global flags as they were given.
    pub(crate) given: Given,
    /// All settings with their sources.
    pub resolved: Resolved,
}

/// The service of a run.
#[derive(Debug)]
pub enum Service {
    /// A service that is started for this command.
    Demo,
    /// A running service.
    At {
        /// The base URL, if a setting has one.
        base_url: Option<String>,
        /// The source of the key, if the user gives one for this run.
        key: Option<KeySource>,
    },
}

/// The standard streams that are terminals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

/// Reads the files and resolves the settings.
pub(crate) fn load(
    globals: Globals,
    env: Lookup<'_>,
    terminal: Terminal,
    on_bad: OnBadSetting,
) -> Result<Settings, CliError> {
    let paths = Paths::of(env);
    let layers = Layers::read(&paths, std::env::current_dir().ok().as_deref(), on_bad)?;
    resolve(globals, env, terminal, paths, layers)
}

/// Resolves the settings. [`layers`] decides the precedence; this function parses the values.
fn resolve(
    globals: Globals,
    env: Lookup<'_>,
    terminal: Terminal,
    paths: Paths,
    mut layers: Layers,
) -> Result<Settings, CliError> {
    check_conflicts(&globals)?;
    layers.flags = flags(&globals.given);
    layers.is_demo = globals.demo;
    let resolved = layers.resolve(env)?;
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
    let allow_http = resolved.text("allow_http").unwrap_or_default();
    let pager = resolved.text("pager");
    let entries = layers.user.map(|user| user.entries).unwrap_or_default();
    Ok(Settings {
        service,
        saved_profile: Profile::read(&entries, &resolved.profile),
        profile: resolved.profile.clone(),
        output: OutputOptions {
            json: Json {
                fields: globals.json,
                format: globals.output,
                jq: globals.jq,
                template: globals.template,
            },
            format: resolved.parse("output", choice),
            time_style: resolved.parse("time_style", choice).unwrap_or_default(),
            color: resolved.parse("color", choice).unwrap_or_default(),
            error_format: resolved.parse("error_format", choice).unwrap_or_default(),
            quiet: globals.quiet,
            stdout_is_terminal: terminal.stdout,
            stderr_is_terminal: terminal.stderr,
            pager: pager.as_deref() != Some("false"),
            pager_command: pager.filter(|command| command != "false"),
        },
        may_ask: terminal.stdin
            && terminal.stderr
            && resolved.text("no_input").as_deref() != Some("true"),
        paths,
        verbose: globals.verbose,
        timeout: resolved.parse("timeout", args::duration),
        max_wait: resolved.parse("max_wait", args::duration),
        max_rate: resolved.parse("max_rate", args::rate),
        allow_http: (!globals.allow_http)
            .then(|| config::hosts(&allow_http).map(str::to_owned).collect()),
        cacert,
        terminal,
        given: globals.given,
        resolved,
    })
}

impl Settings {
    /// Parses a base URL and checks that it may get the API key: https, a host of this machine, or a host
    /// for which the user allows http.
    pub(crate) fn base_url(&self, text: &str) -> Result<BaseUrl, CliError> {
        let url = base_url::parse(text)?;
        if url.is_loopback() || url.as_str().starts_with("https:") {
            return Ok(url);
        }
        let host = base_url::host(&url);
        match &self.allow_http {
            Some(hosts) if !hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&host)) => {
                let profile = &self.profile;
                let what = format!("`{}` would get the API key without encryption", url.as_str());
                Err(CliError::usage(what).hint(format!(
                    "use https. In a private network, allow http for one command with `--allow-http`, \
                     with FORMSVC_ALLOW_HTTP={host}, or with `formsvc config set allow_http {host} \
                     --profile {profile}`"
                )))
            }
            _ => Ok(url),
        }
    }

    /// Returns the output format. The default is a table on a terminal, TSV elsewhere.
    pub(crate) fn output_format(&self) -> OutputFormat {
        let default = if self.terminal.stdout { OutputFormat::Table } else { OutputFormat::Tsv };
        self.output.format.unwrap_or(default)
    }
}

fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false)
}

/// Returns the given flags, by the names of their settings.
fn flags(given: &Given) -> Vec<(&'static str, Value)> {
    let flags = SETTINGS.iter().filter_map(|setting| {
        let (flag, value) = given.iter().find(|(flag, _)| Some(&**flag) == setting.flag)?;
        let switch = if flag == "--no-pager" { "false" } else { "true" };
        Some((setting.name, Value::Text(value.as_deref().unwrap_or(switch).to_owned())))
    });
    flags.collect()
}

/// Refuses flags that contradict each other. Clap does not find conflicts between flags before and after
/// the name of a command.
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
    match conflicts.iter().find(|(is_conflict, ..)| *is_conflict) {
        Some((_, one, other)) => {
            Err(CliError::usage(format!("`{one}` and `{other}` cannot be used together")))
        }
        None => Ok(()),
    }
}

/// Returns a variable. An empty variable counts as unset.
fn set(env: Lookup<'_>, name: &str) -> Option<OsString> {
    env(name).filter(|value| !value.is_empty())
}

/// Returns a variable as text. The error does not contain the value, which may be a key.
fn text(env: Lookup<'_>, name: &str) -> Result<Option<String>, CliError> {
    set(env, name)
        .map(OsString::into_string)
        .transpose()
        .map_err(|_| CliError::usage(format!("the variable `{name}` is not UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(globals: Globals, env: Lookup<'_>, terminal: Terminal) -> Settings {
        resolve(globals, env, terminal, Paths::default(), Layers::default()).unwrap()
    }

    fn with(globals: Globals, env: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        resolved(globals, &lookup, Terminal::default())
    }

    #[test]
    fn flag_takes_precedence_over_variable() {
        let globals = Globals {
            given: vec![("--base-url".to_owned(), Some("https://flag".to_owned()))],
            ..Globals::default()
        };
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
    fn empty_variable_counts_as_unset() {
        let settings =
            with(Globals::default(), &[("FORMSVC_API_KEY", ""), ("FORMSVC_BASE_URL", "")]);
        assert!(matches!(settings.service, Service::At { base_url: None, key: None }));
    }

    #[test]
    fn default_output_depends_on_the_terminal() {
        assert_eq!(with(Globals::default(), &[]).output_format(), OutputFormat::Tsv);
        let terminal = Terminal { stdout: true, ..Terminal::default() };
        let settings = resolved(Globals::default(), &|_| None, terminal);
        assert_eq!(settings.output_format(), OutputFormat::Table);
    }

    #[test]
    fn http_needs_a_permission_for_its_host() {
        let env: &[(&str, &str)] = &[("FORMSVC_ALLOW_HTTP", "formsvc, 10.0.0.7")];
        let (none, named) = (with(Globals::default(), &[]), with(Globals::default(), env));
        let any = with(Globals { allow_http: true, ..Globals::default() }, &[]);
        for (url, expected) in [
            ("https://forms.example", [true; 3]),
            ("http://localhost:8080", [true; 3]),
            ("http://formsvc:8080", [false, true, true]),
            ("http://10.0.0.7", [false, true, true]),
            ("http://formsvc.evil.example", [false, false, true]),
            ("http://127.evil.example", [false, false, true]),
        ] {
            let allowed = [&none, &named, &any].map(|settings| settings.base_url(url).is_ok());
            assert_eq!(allowed, expected, "{url}");
        }
        let error = none.base_url("http://formsvc:8080").unwrap_err();
        assert!(error.to_text().contains("`http://formsvc:8080`"), "{}", error.to_text());
        let hint = error.advice().unwrap();
        for way in ["--allow-http", "FORMSVC_ALLOW_HTTP=formsvc", "config set allow_http formsvc"] {
            assert!(hint.contains(way), "{hint}");
        }
    }
}
