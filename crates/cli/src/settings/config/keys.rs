//! The settings: one table, from which checks, help and documents follow.

use clap::ValueEnum;

use crate::base::env::{self, EnvVar};
use crate::error::ErrorFormat;
use crate::output::{Color, OutputFormat, TimeStyle};

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in a configuration file.
    pub name: &'static str,
    /// What it sets.
    pub about: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// The value when nobody sets it, in words if it depends on something; none if there is none.
    pub default: Option<&'static str>,
    /// The flag that is stronger than the file.
    pub flag: Option<&'static str>,
    /// The variable that is stronger than the file.
    pub variable: Option<EnvVar>,
    /// Where it may stand.
    pub scope: Scope,
}

/// Where a setting may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// At the top of the user's file alone.
    Top,
    /// In a profile alone: it says which service, or where the key is.
    Profile,
    /// At the top and in a profile.
    User,
    /// Anywhere, the project file included: it can neither send a key anywhere nor run anything.
    Anywhere,
}

impl Scope {
    /// Whether it may stand at the top of the user's file.
    pub fn top(self) -> bool {
        self != Self::Profile
    }

    /// Whether it may stand in a profile.
    pub fn profile(self) -> bool {
        self != Self::Top
    }

    /// Whether it may stand in a project file.
    pub fn project(self) -> bool {
        self == Self::Anywhere
    }
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The name of a profile.
    ProfileName,
    /// The address of a service.
    BaseUrl,
    /// Where a key is kept.
    Store,
    /// A program and its arguments; no shell is involved.
    Words,
    /// How data is shown.
    Output,
    /// How times are told.
    Times,
    /// When to use colours.
    Color,
    /// A command that shows text, or nothing of the kind.
    Pager,
    /// How errors are told.
    ErrorFormat,
    /// On or off.
    Switch,
    /// A length of time with its unit.
    Duration,
    /// A number a minute, or no limit.
    Rate,
}

impl Kind {
    /// The values there are, where they can be counted.
    pub fn choices(self) -> Vec<String> {
        match self {
            Self::Store => ["keyring", "file"].map(str::to_owned).to_vec(),
            Self::Output => names::<OutputFormat>(),
            Self::Times => names::<TimeStyle>(),
            Self::Color => names::<Color>(),
            Self::ErrorFormat => names::<ErrorFormat>(),
            Self::Switch => ["true", "false"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The rule its values keep, as the end of "expected …".
    pub fn rule(self) -> String {
        match self {
            Self::ProfileName => {
                "a name of up to 64 of A-Z, a-z, 0-9, `-` and `_`, which does not begin with `-`"
                    .to_owned()
            }
            Self::BaseUrl => {
                "an address: https://…, or http://… on this machine, without /api/v1".to_owned()
            }
            Self::Words => {
                "a program and its arguments, such as [\"pass\", \"show\", \"forms\"]".to_owned()
            }
            Self::Pager => "a command, such as `less -S`, or false".to_owned(),
            Self::Duration => {
                "a duration with its unit, such as `250ms`, `30s`, `2m` or `1h`".to_owned()
            }
            Self::Rate => "a whole number of requests a minute from 1 up, or `off`".to_owned(),
            Self::Store
            | Self::Output
            | Self::Times
            | Self::Color
            | Self::ErrorFormat
            | Self::Switch => one_of(&self.choices()),
        }
    }
}

/// The names of the values of a closed set.
pub(crate) fn names<T: ValueEnum>() -> Vec<String> {
    let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Names as the end of "expected …".
pub(crate) fn one_of(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The profile that is used.
pub const PROFILE: Setting = Setting {
    name: "profile",
    about: "the profile that is used: which service, with which key",
    kind: Kind::ProfileName,
    default: Some("default"),
    flag: Some("--profile"),
    variable: Some(env::PROFILE),
    scope: Scope::Top,
};

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    PROFILE,
    Setting {
        name: "base_url",
        about: "address of the service",
        kind: Kind::BaseUrl,
        default: None,
        flag: Some("--base-url"),
        variable: Some(env::BASE_URL),
        scope: Scope::Profile,
    },
    Setting {
        name: "store",
        about: "where the API key is kept; `formsvc auth login` writes it",
        kind: Kind::Store,
        default: None,
        flag: None,
        variable: None,
        scope: Scope::Profile,
    },
    Setting {
        name: "api_key_command",
        about: "a program that prints the API key, such as a password manager; no shell is involved",
        kind: Kind::Words,
        default: None,
        flag: None,
        variable: None,
        scope: Scope::Profile,
    },
    Setting {
        name: "output",
        about: "how data is shown",
        kind: Kind::Output,
        default: Some("table on a terminal, tsv in a pipe"),
        flag: Some("--output"),
        variable: Some(env::OUTPUT),
        scope: Scope::Anywhere,
    },
    Setting {
        name: "time_style",
        about: "how times are told on a terminal: how long ago, or by date and clock here",
        kind: Kind::Times,
        default: Some("relative"),
        flag: Some("--time-style"),
        variable: Some(env::TIME_STYLE),
        scope: Scope::Anywhere,
    },
    Setting {
        name: "color",
        about: "when to use colours",
        kind: Kind::Color,
        default: Some("auto"),
        flag: Some("--color"),
        variable: Some(env::COLOR),
        scope: Scope::Anywhere,
    },
    Setting {
        name: "pager",
        about: "what shows long output on a terminal; false for nothing of the kind",
        kind: Kind::Pager,
        default: Some("less"),
        flag: Some("--no-pager"),
        variable: Some(env::PAGER),
        scope: Scope::User,
    },
    Setting {
        name: "error_format",
        about: "how errors are told",
        kind: Kind::ErrorFormat,
        default: Some("text"),
        flag: Some("--error-format"),
        variable: Some(env::ERROR_FORMAT),
        scope: Scope::Anywhere,
    },
    Setting {
        name: "no_input",
        about: "ask nothing, even on a terminal",
        kind: Kind::Switch,
        default: Some("false"),
        flag: Some("--no-input"),
        variable: Some(env::NO_INPUT),
        scope: Scope::User,
    },
    Setting {
        name: "timeout",
        about: "time for one request, answer included",
        kind: Kind::Duration,
        default: Some("30s"),
        flag: Some("--timeout"),
        variable: Some(env::TIMEOUT),
        scope: Scope::User,
    },
    Setting {
        name: "max_wait",
        about: "longest single wait for a rate limit before giving up",
        kind: Kind::Duration,
        default: Some("2m"),
        flag: Some("--max-wait"),
        variable: Some(env::MAX_WAIT),
        scope: Scope::User,
    },
    Setting {
        name: "max_rate",
        about: "requests a minute to make at most; by default the limit that the service announces, else 300",
        kind: Kind::Rate,
        default: Some("300"),
        flag: Some("--max-rate"),
        variable: Some(env::MAX_RATE),
        scope: Scope::User,
    },
];

/// The setting with a name.
pub(crate) fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}
