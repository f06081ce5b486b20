//! The location of a setting in the user's file: `output` at the top, `profiles.work.output` in a profile.

use std::fmt;

use super::keys::{self, SETTINGS, Setting};
use super::value::Value;
use crate::base::masked::secret_prefix;
use crate::base::suggest::did_you_mean;
use crate::error::CliError;
use crate::settings::check_profile;

/// Name of the table of profiles.
pub(super) const PROFILES: &str = "profiles";

/// Hint of the error for an API key that is given as a setting.
pub(crate) const NO_KEYS: &str = "`formsvc auth login` stores an API key; FORMSVC_API_KEY and `--api-key-file` \
                       pass one to a single run";

/// A setting, at the top of the file or in a profile.
#[derive(Clone, Debug)]
pub(crate) struct SettingLocation {
    /// `None` at the top of the file.
    pub(crate) profile: Option<String>,
    pub(crate) setting: &'static Setting,
}

impl SettingLocation {
    /// Parses a name. A name without a dot belongs to `profile`, if that is given.
    pub(crate) fn within(name: &str, profile: Option<&str>) -> Result<Self, CliError> {
        match profile {
            Some(profile) if !name.contains('.') && name != keys::PROFILE.name => {
                check_profile(profile)?;
                Self::parse(&format!("{PROFILES}.{profile}.{name}"))
            }
            _ => Self::parse(name),
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self, CliError> {
        let parts: Vec<&str> = name.split('.').collect();
        let (profile, name) = match *parts {
            [name] => (None, name),
            [PROFILES | "profile", profile, name] => {
                check_profile(profile)?;
                (Some(profile.to_owned()), name)
            }
            _ => {
                return Err(unknown(name).hint(
                    "a setting of a profile is written `profiles.NAME.SETTING`; NAME contains no `.`",
                ));
            }
        };
        let Some(setting) = keys::find(name) else {
            return Err(unknown(name).hint(if means_a_key(name) {
                NO_KEYS.to_owned()
            } else {
                suggested(name).unwrap_or_else(|| format!("the settings: {}", all_names()))
            }));
        };
        match (&profile, setting.scope.top(), setting.scope.profile()) {
            (None, false, _) => Err(CliError::usage(format!(
                "`{name}` is a setting of a profile, not of the top of the file"
            ))
            .hint(format!("write `profiles.NAME.{name}`, or name a profile with `--profile`"))),
            (Some(_), _, false) => Err(CliError::usage(format!(
                "`{name}` is a setting of the top of the file, not of a profile"
            ))),
            _ => Ok(Self { profile, setting }),
        }
    }

    /// Checks a value for this setting.
    pub(crate) fn check(&self, value: &Value) -> Result<(), CliError> {
        value
            .check(self.setting.kind)
            .map_err(|rule| CliError::usage(format!("`{self}` cannot be {value}: expected {rule}")))
    }
}

impl fmt::Display for SettingLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.profile {
            Some(profile) => write!(f, "{PROFILES}.{profile}.{}", self.setting.name),
            None => f.write_str(self.setting.name),
        }
    }
}

fn unknown(name: &str) -> CliError {
    CliError::usage(format!("there is no setting `{name}`"))
}

fn all_names() -> String {
    SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
}

/// True if the name is an API key, or the name of a setting that would contain one.
fn means_a_key(name: &str) -> bool {
    let lower = name.replace('-', "_").to_lowercase();
    let names = ["key", "api_key", "apikey", "token", "api_token", "secret", "password"];
    names.contains(&&*lower) || secret_prefix(name).is_some()
}

/// Returns the question "did you mean …?" for a similar name.
pub(crate) fn suggested(name: &str) -> Option<String> {
    did_you_mean(&name.replace('-', "_"), SETTINGS.iter().map(|setting| setting.name))
}
