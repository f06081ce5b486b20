//! Chooses the value of each setting: from the flag, the variable, the project file, the profile, the top of
//! the user's file, or the default, in this order. The files are read before.

use std::path::PathBuf;

use clap::ValueEnum;

use super::ProfileService;
use super::origin::Origin;
use crate::base::env::{self, Lookup};
use crate::error::CliError;
use crate::settings::config::keys::{self, Kind, PROFILE, SETTINGS, Setting};
use crate::settings::config::{Entries, Entry, Value, no_profile, suggested};
use crate::settings::{Store, check_profile};

/// The profile that commands use if no other is named.
pub(crate) const PROFILE_DEFAULT: &str = "default";

/// The settings of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) entries: Entries,
}

/// What a command does about an invalid setting or file of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnBadSetting {
    #[default]
    Fail,
    /// Print a warning and continue without it: for commands that show or change the configuration.
    Warn,
    /// Continue without it: for commands that read the user's file again and report its errors.
    Ignore,
}

/// All sources of settings.
pub(crate) struct Layers<'a> {
    /// The given flags, by the names of their settings.
    pub(crate) flags: Vec<(&'static str, Value)>,
    pub(crate) env: Lookup<'a>,
    pub(crate) project: Option<Layer>,
    pub(crate) user: Option<Layer>,
    pub(crate) on_bad: OnBadSetting,
    pub(crate) on_missing_profile: OnBadSetting,
}

/// A setting with its value.
#[derive(Clone, Debug)]
pub struct Row {
    /// The setting.
    pub setting: &'static Setting,
    /// The value; `None` if no source has one.
    pub(crate) value: Option<Value>,
    /// Source of the value.
    pub origin: Origin,
}

/// All settings with their values.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// In the order of [`SETTINGS`].
    pub rows: Vec<Row>,
    /// Name of the profile.
    pub profile: String,
    /// All profiles.
    pub profiles: Vec<String>,
    /// Warnings about the files.
    pub warnings: Vec<String>,
}

impl Resolved {
    /// Returns a setting by its name.
    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.setting.name == name)
    }

    /// Returns the value of a setting as text. `None` if no source has one.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        Some(self.row(name)?.value.as_ref()?.text())
    }

    /// Parses the value of a setting, which is already checked.
    pub(super) fn parse<T, E>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(&self.text(name)?).ok()
    }
}

impl Layers<'_> {
    pub(crate) fn resolve(&self) -> Result<Resolved, CliError> {
        let mut resolved = Resolved { warnings: self.warnings(), ..Resolved::default() };
        if let Some(user) = &self.user {
            resolved.profiles.clone_from(&user.entries.profiles);
        }
        let profile = self.row(&PROFILE, None, &mut resolved.warnings)?;
        resolved.profile =
            profile.value.as_ref().map_or_else(|| PROFILE_DEFAULT.to_owned(), Value::text);
        self.check_profile(&mut resolved, &profile.origin)?;
        for setting in SETTINGS {
            let profile = Some(&*resolved.profile);
            let row = self.row(setting, profile, &mut resolved.warnings)?;
            resolved.rows.push(row);
        }
        Ok(resolved)
    }

    /// Returns the service of a profile in the user's file.
    pub(super) fn profile_service(&self, profile: &str) -> ProfileService {
        let valid = |name: &str| {
            let (value, _) = found(self.user.as_ref(), Some(profile), name, Origin::Profile)?;
            value.check(keys::find(name)?.kind).ok().map(|()| value)
        };
        ProfileService {
            base_url: valid("base_url").map(|value| value.text()),
            store: valid("store").and_then(|value| Store::from_str(&value.text(), false).ok()),
            api_key_command: match valid("api_key_command") {
                Some(Value::Words(words)) => words,
                _ => Vec::new(),
            },
        }
    }

    fn row(
        &self,
        setting: &'static Setting,
        profile: Option<&str>,
        warnings: &mut Vec<String>,
    ) -> Result<Row, CliError> {
        for (value, origin) in self.values(setting, profile)? {
            // The error of a base URL in a flag or variable comes from its parser, which has better hints.
            let checked = if setting.kind == Kind::BaseUrl && origin.is_of_this_run() {
                Ok(())
            } else {
                value.check(setting.kind)
            };
            let Err(mut rule) = checked else {
                return Ok(Row { setting, value: Some(value), origin });
            };
            if setting.kind == Kind::ProfileName && value == Value::Other("table") {
                rule.push_str("; the profiles themselves are tables `[profiles.NAME]`");
            }
            let message = match &origin {
                Origin::Flag(name) | Origin::Env(name) => {
                    let message = format!("`{name}` cannot be {value}: expected {rule}");
                    return Err(CliError::usage(message));
                }
                file => format!("`{}` cannot be {value} ({file}): expected {rule}", setting.name),
            };
            let of_project = matches!(origin, Origin::Project(..));
            if !of_project && self.on_bad == OnBadSetting::Fail {
                return Err(CliError::usage(message));
            }
            let message = format!("{message}; it is ignored");
            if !warnings.contains(&message) {
                warnings.push(message);
            }
        }
        Ok(Row { setting, value: None, origin: Origin::Default })
    }

    /// Returns the values of a setting, the one with the highest precedence first.
    fn values(
        &self,
        setting: &Setting,
        profile: Option<&str>,
    ) -> Result<Vec<(Value, Origin)>, CliError> {
        let mut values = Vec::new();
        let flag = self.flags.iter().find(|(name, _)| *name == setting.name);
        if let (Some((_, value)), Some(flag)) = (flag, setting.flag) {
            values.push((value.clone(), Origin::Flag(flag)));
        }
        let variable = |name| {
            let value = variable_value(self.env, name, setting.kind)?;
            Ok::<_, CliError>(value.map(|value| (value, Origin::Env(name))))
        };
        if let Some(own) = setting.variable {
            values.extend(variable(own.name)?);
        }
        let (name, user) = (setting.name, self.user.as_ref());
        if setting.scope.project() {
            values.extend(found(self.project.as_ref(), None, name, Origin::Project));
        }
        if profile.is_some() && setting.scope.profile() {
            values.extend(found(user, profile, name, Origin::Profile));
        }
        if setting.scope.top() {
            values.extend(found(user, None, name, Origin::User));
        }
        if setting.kind == Kind::Pager {
            values.extend(variable(env::PLAIN_PAGER.name)?);
        }
        Ok(values)
    }

    /// Fails if the profile does not exist. A typing error would otherwise use another key.
    fn check_profile(&self, resolved: &mut Resolved, origin: &Origin) -> Result<(), CliError> {
        let profile = &resolved.profile;
        if profile == PROFILE_DEFAULT || resolved.profiles.contains(profile) {
            return Ok(());
        }
        if self.on_missing_profile == OnBadSetting::Fail {
            let known = resolved.profiles.iter().map(String::as_str);
            return Err(no_profile(profile, Some(origin), known));
        }
        // A flag or variable may name the profile that the command creates.
        if matches!(origin, Origin::User(..)) {
            resolved.warnings.push(format!("there is no profile `{profile}` ({origin})"));
        }
        Ok(())
    }

    /// Returns warnings about unknown settings, settings in the wrong place, and invalid profile names.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (layer, problem) in [
            (&self.project, project_problem as fn(&Entry) -> Option<String>),
            (&self.user, user_problem),
        ] {
            let Some(layer) = layer else { continue };
            warnings.extend(layer.entries.entries.iter().filter_map(|entry| {
                Some(format!("{}:{}: {}", layer.path.display(), entry.line, problem(entry)?))
            }));
        }
        let Some(user) = &self.user else { return warnings };
        let mut bad_names = Vec::new();
        for entry in &user.entries.entries {
            let bad = entry.profile.as_ref().filter(|name| check_profile(name).is_err());
            if let Some(name) = bad.filter(|name| !bad_names.contains(name)) {
                bad_names.push(name);
                let (path, line, rule) =
                    (user.path.display(), entry.line, Kind::ProfileName.rule());
                warnings.push(format!(
                    "{path}:{line}: `{name}` cannot be the name of a profile: expected {rule}; it is \
                     ignored"
                ));
            }
        }
        warnings
    }
}

/// Returns the value of a variable. An empty variable counts as unset.
fn variable_value(env: Lookup<'_>, name: &str, kind: Kind) -> Result<Option<Value>, CliError> {
    let Some(text) = super::text(env, name)? else { return Ok(None) };
    Ok(Some(Value::Text(match (kind, &*text) {
        (Kind::Switch, "1") => "true".to_owned(),
        (Kind::Switch, "0") => "false".to_owned(),
        _ => text,
    })))
}

fn found(
    layer: Option<&Layer>,
    profile: Option<&str>,
    name: &str,
    origin: fn(PathBuf, usize) -> Origin,
) -> Option<(Value, Origin)> {
    let layer = layer?;
    let mut entries = layer.entries.entries.iter();
    let entry = entries.find(|entry| entry.profile.as_deref() == profile && entry.name == name)?;
    Some((entry.value.clone(), origin(layer.path.clone(), entry.line)))
}

fn unknown(name: &str) -> String {
    let hint = suggested(name).map_or_else(String::new, |hint| format!("; {hint}"));
    format!("there is no setting `{name}`{hint}")
}

/// Returns the problem of a setting in a project file. Such a file must neither choose the service that
/// gets the API key nor run a program.
fn project_problem(entry: &Entry) -> Option<String> {
    let name = match &entry.profile {
        None => entry.name.clone(),
        Some(profile) => format!("profiles.{profile}.{}", entry.name),
    };
    match keys::find(&name) {
        Some(setting) if setting.scope.project() => None,
        Some(_) => {
            let allowed = SETTINGS.iter().filter(|setting| setting.scope.project());
            let allowed: Vec<_> = allowed.map(|setting| format!("`{}`", setting.name)).collect();
            Some(format!(
                "`{name}` has no effect in a project file, which sets only {}",
                allowed.join(", ")
            ))
        }
        None if entry.profile.is_some() => {
            Some(format!("`{name}` has no effect: a project file has no profiles"))
        }
        None => Some(unknown(&name)),
    }
}

fn user_problem(entry: &Entry) -> Option<String> {
    let Entry { profile, name, .. } = entry;
    match (keys::find(name), profile) {
        (None, Some(profile)) if name.is_empty() => {
            Some(format!("`profiles.{profile}` is not a table"))
        }
        (None, None) if name == "profiles" => Some("`profiles` is not a table".to_owned()),
        (None, _) => Some(unknown(name)),
        (Some(setting), None) if !setting.scope.top() => Some(format!(
            "`{name}` has no effect here: it is a setting of a profile, under `[profiles.NAME]`"
        )),
        (Some(setting), Some(_)) if !setting.scope.profile() => Some(format!(
            "`{name}` has no effect in a profile: it is a setting of the top of the file"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
