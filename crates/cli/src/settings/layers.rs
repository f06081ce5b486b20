//! Chooses the value of each setting: from the flag, the variable, the project file, the profile, the top of
//! the user's file, or the default, in this order.

use std::path::{Path, PathBuf};

use super::origin::Origin;
use super::{PROFILE_DEFAULT, check_profile};
use crate::base::env::{self, Lookup};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::settings::config::keys::{self, Kind, PROFILE, SETTINGS, Setting};
use crate::settings::config::{self, Entries, Entry, Value, no_profile, suggested};

/// Name of a project file.
const PROJECT_NAME: &str = ".formsvc.toml";

/// The settings of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) entries: Entries,
}

/// How a command handles an invalid setting or configuration file of the user.
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
#[derive(Default)]
pub(super) struct Layers {
    /// The given flags, by the names of their settings.
    pub(super) flags: Vec<(&'static str, Value)>,
    pub(super) project: Option<Layer>,
    pub(super) user: Option<Layer>,
    /// Warnings about files that cannot be used.
    pub(super) warnings: Vec<String>,
    pub(super) on_bad: OnBadSetting,
    /// True for a demo, which has no profile.
    pub(super) is_demo: bool,
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

impl Layers {
    /// Reads the user's file and the project file of a folder.
    pub(super) fn read(
        paths: &Paths,
        folder: Option<&Path>,
        on_bad: OnBadSetting,
    ) -> Result<Self, CliError> {
        let mut layers = Self { on_bad, ..Self::default() };
        let entries = match config::load(paths) {
            Err(error) if on_bad == OnBadSetting::Fail => return Err(error),
            Err(error) => {
                if on_bad == OnBadSetting::Warn {
                    layers.warnings.push(ignored(&error));
                }
                Entries::default()
            }
            Ok(entries) => entries,
        };
        layers.user = config::path_in(paths).ok().map(|path| Layer { path, entries });
        if let Some(path) = folder.and_then(project_file) {
            match config::read_project(&path) {
                Ok(entries) => layers.project = Some(Layer { path, entries }),
                // A file in a cloned repository must not stop commands.
                Err(error) => layers.warnings.push(ignored(&error)),
            }
        }
        Ok(layers)
    }

    pub(super) fn resolve(&self, env: Lookup<'_>) -> Result<Resolved, CliError> {
        let mut resolved = Resolved { warnings: self.warnings.clone(), ..Resolved::default() };
        for (layer, is_project) in [(&self.project, true), (&self.user, false)] {
            let Some(layer) = layer else { continue };
            resolved.warnings.extend(layer.entries.entries.iter().filter_map(|entry| {
                let problem = problem(entry, is_project)?;
                Some(format!("{}:{}: {problem}", layer.path.display(), entry.line))
            }));
        }
        if let Some(user) = &self.user {
            resolved.profiles.clone_from(&user.entries.profiles);
        }
        let profile = self.row(&PROFILE, None, env, &mut resolved.warnings)?;
        resolved.profile =
            profile.value.as_ref().map_or_else(|| PROFILE_DEFAULT.to_owned(), Value::text);
        self.check_profile(&mut resolved, &profile.origin)?;
        for setting in SETTINGS {
            let profile = Some(&*resolved.profile);
            let row = self.row(setting, profile, env, &mut resolved.warnings)?;
            resolved.rows.push(row);
        }
        Ok(resolved)
    }

    fn row(
        &self,
        setting: &'static Setting,
        profile: Option<&str>,
        env: Lookup<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Row, CliError> {
        for (value, origin) in self.values(setting, profile, env)? {
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
        env: Lookup<'_>,
    ) -> Result<Vec<(Value, Origin)>, CliError> {
        let mut values = Vec::new();
        let flag = self.flags.iter().find(|(name, _)| *name == setting.name);
        if let (Some((_, value)), Some(flag)) = (flag, setting.flag) {
            values.push((value.clone(), Origin::Flag(flag)));
        }
        let variable = |name| {
            let value = variable_value(env, name, setting.kind)?;
            Ok::<_, CliError>(value.map(|value| (value, Origin::Env(name))))
        };
        if let Some(own) = setting.variable {
            values.extend(variable(own.name)?);
        }
        let (name, user) = (setting.name, self.user.as_ref());
        if setting.scope.project() {
            values.extend(value_in_layer(self.project.as_ref(), None, name, Origin::Project));
        }
        if profile.is_some() && setting.scope.profile() {
            values.extend(value_in_layer(user, profile, name, Origin::Profile));
        }
        if setting.scope.top() {
            values.extend(value_in_layer(user, None, name, Origin::User));
        }
        if setting.kind == Kind::Pager {
            values.extend(variable(env::PLAIN_PAGER.name)?);
        }
        Ok(values)
    }

    /// Fails if the profile does not exist. A typing error would otherwise use another key.
    fn check_profile(&self, resolved: &mut Resolved, origin: &Origin) -> Result<(), CliError> {
        let profile = &resolved.profile;
        if self.is_demo || profile == PROFILE_DEFAULT || resolved.profiles.contains(profile) {
            return Ok(());
        }
        if self.on_bad == OnBadSetting::Fail {
            return Err(no_profile(profile, Some(origin), &resolved.profiles));
        }
        // A flag or variable may name the profile that the command creates.
        if matches!(origin, Origin::User(..)) {
            resolved.warnings.push(format!("there is no profile `{profile}` ({origin})"));
        }
        Ok(())
    }
}

fn ignored(error: &CliError) -> String {
    format!("{}; the file is ignored", error.brief())
}

/// Returns the project file of a folder: in the folder itself, or in the nearest folder above, up to the
/// folder with `.git`. Outside of a repository only the folder itself counts, because a shared folder such
/// as `/tmp` is not a project.
fn project_file(folder: &Path) -> Option<PathBuf> {
    let exists = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    let root = folder.ancestors().find(|folder| exists(folder, ".git")).unwrap_or(folder);
    let mut inside = folder.ancestors().take_while(|folder| folder.starts_with(root));
    Some(inside.find(|folder| exists(folder, PROJECT_NAME))?.join(PROJECT_NAME))
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

fn value_in_layer(
    layer: Option<&Layer>,
    profile: Option<&str>,
    name: &str,
    origin: fn(PathBuf, usize) -> Origin,
) -> Option<(Value, Origin)> {
    let layer = layer?;
    let entry = layer.entries.entry(profile, name)?;
    Some((entry.value.clone(), origin(layer.path.clone(), entry.line)))
}

/// Returns the problem of a setting that is unknown or in the wrong place. A project file must neither
/// choose the service that gets the API key nor run a program.
fn problem(entry: &Entry, is_project: bool) -> Option<String> {
    let Entry { profile, name, .. } = entry;
    let full_name = match profile {
        Some(profile) => format!("profiles.{profile}.{name}"),
        None => name.clone(),
    };
    let no_effect = |why: &str| Some(format!("`{full_name}` has no effect {why}"));
    let Some(setting) = keys::find(name) else {
        let hint = suggested(name).map_or_else(String::new, |hint| format!("; {hint}"));
        return Some(match profile {
            Some(profile) if name.is_empty() => format!("`profiles.{profile}` is not a table"),
            _ if full_name == "profiles" => "`profiles` is not a table".to_owned(),
            _ => format!("there is no setting `{full_name}`{hint}"),
        });
    };
    match profile {
        _ if is_project && (profile.is_some() || !setting.scope.project()) => {
            let allowed = SETTINGS.iter().filter(|setting| setting.scope.project());
            let allowed: Vec<_> = allowed.map(|setting| format!("`{}`", setting.name)).collect();
            no_effect(&format!("in a project file, which sets only {}", allowed.join(", ")))
        }
        Some(profile) if check_profile(profile).is_err() => {
            let rule = Kind::ProfileName.rule();
            Some(format!(
                "`{profile}` cannot be the name of a profile: expected {rule}; it is ignored"
            ))
        }
        None if !setting.scope.top() => {
            no_effect("here: it is a setting of a profile, under `[profiles.NAME]`")
        }
        Some(_) if !setting.scope.profile() => {
            no_effect("in a profile: it is a setting of the top of the file")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
