//! The table of settings. Help, checks, completion and documents use it.

use clap::ValueEnum;

use crate::base::env::{self, EnvVar};
use crate::error::ErrorFormat;
use crate::output::{Color, OutputFormat, TimeStyle};
use crate::settings::profile::KeyStore;

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name in a configuration file.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// Type of the value.
    pub kind: Kind,
    /// Default value, as text.
    pub default: Option<&'static str>,
    /// Flag of the command line, which takes precedence over the variable.
    pub flag: Option<&'static str>,
    /// Variable, which takes precedence over files.
    pub variable: Option<EnvVar>,
    /// Files and tables that may contain the setting.
    pub scope: Scope,
}

/// Files and tables that may contain a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the top of the user's file.
    Top,
    /// Only a profile: the setting belongs to a service and its key.
    Profile,
    /// The top of the user's file and a profile.
    User,
    /// Also a project file: the setting can neither choose a service or key nor run a program.
    Anywhere,
}

impl Scope {
    /// True if the top of the user's file may contain the setting.
    pub fn top(self) -> bool {
        self != Self::Profile
    }

    /// True if a profile may contain the setting.
    pub fn profile(self) -> bool {
        self != Self::Top
    }

    /// True if a project file may contain the setting.
    pub fn project(self) -> bool {
        self == Self::Anywhere
    }
}

/// Type of the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Name of a profile.
    ProfileName,
    /// Base URL of a service.
    BaseUrl,
    /// Hosts, separated by commas.
    Hosts,
    /// Store of API keys.
    Store,
    /// A program and its arguments.
    Words,
    /// Output format.
    Output,
    /// Format of times.
    Times,
    /// When colours are used.
    Color,
    /// A command, or `false`.
    Pager,
    /// Format of errors.
    ErrorFormat,
    /// `true` or `false`.
    Switch,
    /// A duration with its unit.
    Duration,
    /// Requests per minute, or `off`.
    Rate,
}

impl Kind {
    /// The possible values; empty if there is no list of them.
    pub fn choices(self) -> Vec<String> {
        match self {
            Self::Store => names::<KeyStore>(),
            Self::Output => names::<OutputFormat>(),
            Self::Times => names::<TimeStyle>(),
            Self::Color => names::<Color>(),
            Self::ErrorFormat => names::<ErrorFormat>(),
            Self::Switch => ["true", "false"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The rule for values, as the end of "expected …".
    pub fn rule(self) -> String {
        let rule = match self {
            Self::ProfileName => {
                "a name of up to 64 characters of A-Z, a-z, 0-9, `-` and `_`, which does not begin with `-`"
            }
            Self::BaseUrl => "https://…, or http://… on this machine, without user name or /api/v1",
            Self::Hosts => "host names separated by commas, such as `formsvc`",
            Self::Words => "a program and its arguments, such as [\"pass\", \"show\", \"forms\"]",
            Self::Pager => "a command, such as `less -S`, or false",
            Self::Duration => "a duration with its unit, such as `250ms`, `30s`, `2m` or `1h`",
            Self::Rate => "a whole number of requests per minute from 1 up, or `off`",
            _ => return one_of(&self.choices()),
        };
        rule.to_owned()
    }
}

/// The names of the values of an enum.
pub(crate) fn names<T: ValueEnum>() -> Vec<String> {
    let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Formats names as the end of "expected …".
pub(crate) fn one_of(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Creates a setting with a variable, which has the description and the flag.
const fn setting(
    name: &'static str,
    kind: Kind,
    scope: Scope,
    variable: EnvVar,
    default: Option<&'static str>,
) -> Setting {
    let EnvVar { about, flag, .. } = variable;
    Setting { name, about, kind, default, flag, variable: Some(variable), scope }
}

/// Creates a setting that only a profile contains.
const fn of_profile(name: &'static str, kind: Kind, about: &'static str) -> Setting {
    Setting { name, about, kind, default: None, flag: None, variable: None, scope: Scope::Profile }
}

/// The profile that commands use.
pub const PROFILE: Setting =
    setting("profile", Kind::ProfileName, Scope::Top, env::PROFILE, Some("default"));

/// All settings.
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    PROFILE,
    setting("base_url", Kind::BaseUrl, Scope::Profile, env::BASE_URL, None),
    setting("allow_http", Kind::Hosts, Scope::Profile, env::ALLOW_HTTP, None),
    of_profile("store", Kind::Store, "Store of the API key; `formsvc auth login` sets it"),
    of_profile("api_key_command", Kind::Words,
        "Program that prints the API key, such as a password manager; runs without a shell"),
    setting("output", Kind::Output, Scope::Anywhere, env::OUTPUT,
        Some("table; tsv or JSON in a pipe")),
    setting("time_style", Kind::Times, Scope::Anywhere, env::TIME_STYLE, Some("relative")),
    setting("color", Kind::Color, Scope::Anywhere, env::COLOR, Some("auto")),
    setting("pager", Kind::Pager, Scope::User, env::PAGER, Some("less")),
    setting("error_format", Kind::ErrorFormat, Scope::Anywhere, env::ERROR_FORMAT, Some("text")),
    setting("no_input", Kind::Switch, Scope::User, env::NO_INPUT, Some("false")),
    setting("timeout", Kind::Duration, Scope::User, env::TIMEOUT, Some("30s")),
    setting("max_wait", Kind::Duration, Scope::User, env::MAX_WAIT, Some("2m")),
    setting("max_rate", Kind::Rate, Scope::User, env::MAX_RATE,
        Some("the limit that the service announces, else 300")),
];

/// Returns the setting with a name.
pub(crate) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}
