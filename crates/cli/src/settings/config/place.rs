//! Where a setting stands: at the top of the file, or in a profile. Written `output`, or
//! `profiles.work.output`.

use std::fmt;

use super::keys::{self, SETTINGS, Setting};
use super::value::Value;
use crate::base::suggest::did_you_mean;
use crate::error::CliError;
use crate::settings::check_profile;

/// The table that holds the profiles.
pub(super) const PROFILES: &str = "profiles";
/// A setting in its place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The profile it stands in; none is the top of the file.
    pub(crate) profile: Option<String>,
    pub(crate) setting: &'static Setting,
}

impl Place {
    /// Reads a dotted name; a bare one is meant within the profile, if one is named.
    pub(crate) fn within(name: &str, profile: Option<&str>) -> Result<Self, CliError> {
        match profile {
            Some(profile) if !name.contains('.') && name != keys::PROFILE.name => {
                check_profile(profile)?;
                Self::parse(&format!("{PROFILES}.{profile}.{name}"))
            }
            _ => Self::parse(name),
        }
    }

    /// Reads a dotted name.
    pub(crate) fn parse(name: &str) -> Result<Self, CliError> {
        let parts: Vec<&str> = name.split('.').collect();
        let (profile, name) = match *parts {
            [name] => (None, name),
            [PROFILES | "profile", profile, name] => {
                check_profile(profile)?;
                (Some(profile.to_owned()), name)
            }
            [PROFILES | "profile", profile] => {
                return Err(unknown(name).hint(format!(
                    "`formsvc auth logout --forget --profile {profile}` removes a profile and its key; a \
                     setting of one is written `profiles.NAME.SETTING`"
                )));
            }
            _ => {
                return Err(unknown(name).hint(
                    "a setting of a profile is written `profiles.NAME.SETTING`, and no NAME has a `.`",
                ));
            }
        };
        let Some(setting) = keys::setting(name) else {
            let error = unknown(name);
            return Err(if looks_like_a_key(name) {
                error.hint(NO_KEYS)
            } else {
                let meant = meant_setting(name);
                error.hint(meant.unwrap_or_else(|| format!("the settings: {}", all())))
            });
        };
        let place = Self { profile, setting };
        match (&place.profile, setting.scope.top(), setting.scope.profile()) {
            (None, false, _) => Err(CliError::usage(format!(
                "`{name}` belongs to a profile, not to the top of the file"
            ))
            .hint(format!("write `profiles.NAME.{name}`, or name one with `--profile`"))),
            (Some(_), _, false) => Err(CliError::usage(format!(
                "`{name}` is set at the top of the file, not in a profile"
            ))),
            _ => Ok(place),
        }
    }

    /// Holds a value to the rule of the setting.
    pub(crate) fn check(&self, value: &Value) -> Result<(), CliError> {
        value
            .check(self.setting.kind)
            .map_err(|rule| CliError::usage(format!("`{self}` cannot be {value}: expected {rule}")))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.profile {
            Some(profile) => write!(f, "{PROFILES}.{profile}.{}", self.setting.name),
            None => f.write_str(self.setting.name),
        }
    }
}

/// What is said to whoever looks for a setting that holds a key.
pub(crate) const NO_KEYS: &str = "keys are not kept in the configuration: `formsvc auth login` keeps one, and \
                       FORMSVC_API_KEY or `--api-key-file` give one to a single run";

fn unknown(name: &str) -> CliError {
    CliError::usage(format!("there is no setting `{name}`"))
}

fn all() -> String {
    SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
}

/// Whether somebody means a setting for the key itself.
fn looks_like_a_key(name: &str) -> bool {
    let name = name.replace('-', "_").to_lowercase();
    matches!(&*name, "key" | "api_key" | "apikey" | "token" | "api_token" | "secret" | "password")
}

/// The setting somebody may have meant, as a question.
pub(crate) fn meant_setting(name: &str) -> Option<String> {
    did_you_mean(&name.replace('-', "_"), SETTINGS.iter().map(|setting| setting.name))
}
