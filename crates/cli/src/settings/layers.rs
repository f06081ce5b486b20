//! The one step that decides what counts: for each setting the strongest of flag, environment,
//! project file, profile, top of the user's file, and default. Pure: whoever calls has read the
//! files, and looks up the variables.

use std::path::PathBuf;

use clap::ValueEnum;

use super::Kept;
use super::origin::Origin;
use crate::base::env::{self, Lookup};
use crate::error::CliError;
use crate::settings::config::keys::{Kind, PROFILE, SETTINGS, Setting};
use crate::settings::config::{Entries, Entry, Value, meant_setting, no_profile};
use crate::settings::{Store, check_profile};

/// The profile that is used when none is named.
pub(crate) const PROFILE_DEFAULT: &str = "default";

/// A configuration file that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) entries: Entries,
}

/// What to do about something wrong in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Care {
    /// Fail: a setting that does not count after all is worse than none.
    #[default]
    Strict,
    /// Warn, and go on without it: for commands that look at the configuration or mend it.
    Lenient,
    /// The same, for a command that reads the user's file itself: it tells when that cannot be read, and
    /// once is enough.
    LooksItself,
}

/// Everything settings come from.
pub(crate) struct Layers<'a> {
    /// The flags that were given, by the names of their settings.
    pub(crate) flags: Vec<(&'static str, Value)>,
    pub(crate) env: Lookup<'a>,
    pub(crate) project: Option<Layer>,
    pub(crate) user: Option<Layer>,
    pub(crate) care: Care,
    /// What to do about a profile that is not there.
    pub(crate) care_for_profile: Care,
}

/// A setting with the value that counts.
#[derive(Clone, Debug)]
pub struct Row {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value; none if nobody set it.
    pub(crate) value: Option<Value>,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Every setting, with the value that counts.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// A row a setting, in the table's order.
    pub rows: Vec<Row>,
    /// The name of the profile.
    pub profile: String,
    /// The profiles there are.
    pub profiles: Vec<String>,
    /// What is worth a word about the files.
    pub warnings: Vec<String>,
}

impl Resolved {
    /// The row of a setting.
    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.setting.name == name)
    }

    /// The value of a setting as text; none if nobody set it.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        Some(self.row(name)?.value.as_ref()?.text())
    }

    /// The value of a setting as something else. It keeps the setting's rule already.
    pub(super) fn read<T, E>(&self, name: &str, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        read(&self.text(name)?).ok()
    }
}

/// A value, and where it comes from.
type Given = (Value, Origin);

impl Layers<'_> {
    /// Decides.
    pub(crate) fn resolve(&self) -> Result<Resolved, CliError> {
        let mut resolved = Resolved { warnings: self.remarks(), ..Resolved::default() };
        if let Some(user) = &self.user {
            resolved.profiles.clone_from(&user.entries.profiles);
        }
        let profile = self.row(&PROFILE, None, &mut resolved.warnings)?;
        resolved.profile =
            profile.value.as_ref().map_or_else(|| PROFILE_DEFAULT.to_owned(), Value::text);
        self.check_profile(&resolved.profile, &profile.origin, &mut resolved.warnings)?;
        for setting in SETTINGS {
            let within = Some(&*resolved.profile);
            let row = self.row(setting, within, &mut resolved.warnings)?;
            resolved.rows.push(row);
        }
        Ok(resolved)
    }

    /// What the user's file says about the service of a profile, and its key.
    pub(super) fn kept(&self, profile: &str) -> Kept {
        let of = |name: &str| {
            let mut entries = self.user.iter().flat_map(|user| &user.entries.entries);
            let entry = entries
                .find(|entry| entry.profile.as_deref() == Some(profile) && entry.name == name)?;
            entry.value.check(known(name)?.kind).ok().map(|()| entry.value.clone())
        };
        Kept {
            base_url: of("base_url").map(|value| value.text()),
            store: of("store").and_then(|value| Store::from_str(&value.text(), false).ok()),
            api_key_command: match of("api_key_command") {
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
        for (value, origin) in self.given(setting, profile)? {
            // The client judges an address that is typed: it knows what was meant.
            let typed = setting.kind == Kind::BaseUrl && origin.is_said();
            let checked = if typed { Ok(()) } else { value.check(setting.kind) };
            let Err(mut rule) = checked else {
                return Ok(Row { setting, value: Some(value), origin });
            };
            if setting.kind == Kind::ProfileName && value == Value::Other("table") {
                rule.push_str("; the profiles themselves stand under `[profiles.NAME]`");
            }
            let name = setting.name;
            let (what, place) = match &origin {
                Origin::Flag(flag) => (*flag, String::new()),
                Origin::Env(variable) => (*variable, String::new()),
                file => (name, format!(" ({file})")),
            };
            let message = format!("`{what}` cannot be {value}{place}: expected {rule}");
            let of_project = matches!(origin, Origin::Project(..));
            let repairable = !place.is_empty() && (of_project || self.care != Care::Strict);
            if !repairable {
                return Err(CliError::usage(message));
            }
            let message = format!("{message}; it does not count");
            if !warnings.contains(&message) {
                warnings.push(message);
            }
        }
        Ok(Row { setting, value: None, origin: Origin::Default })
    }

    /// The values a setting is given, the strongest first.
    fn given(&self, setting: &Setting, profile: Option<&str>) -> Result<Vec<Given>, CliError> {
        let mut given = Vec::new();
        let flag = self.flags.iter().find(|(name, _)| *name == setting.name);
        if let (Some((_, value)), Some(flag)) = (flag, setting.flag) {
            given.push((value.clone(), Origin::Flag(flag)));
        }
        if let Some(variable) = setting.variable
            && let Some(value) = variable_value(self.env, variable.name, setting.kind)?
        {
            given.push((value, Origin::Env(variable.name)));
        }
        let project = self.project.as_ref().filter(|_| setting.scope.project());
        given.extend(found(project, None, setting, Origin::Project));
        let user = self.user.as_ref();
        if let Some(profile) = profile.filter(|_| setting.scope.profile()) {
            given.extend(found(user, Some(profile), setting, Origin::Profile));
        }
        given.extend(found(user.filter(|_| setting.scope.top()), None, setting, Origin::User));
        // Not of this program alone, so that what is said to this program is stronger.
        if setting.kind == Kind::Pager
            && let Some(value) = variable_value(self.env, env::PLAIN_PAGER.name, setting.kind)?
        {
            given.push((value, Origin::Env(env::PLAIN_PAGER.name)));
        }
        Ok(given)
    }

    /// A profile that is named must be there: a slip would otherwise use another key, or none.
    fn check_profile(
        &self,
        profile: &str,
        origin: &Origin,
        warnings: &mut Vec<String>,
    ) -> Result<(), CliError> {
        let known = self.user.iter().flat_map(|user| &user.entries.profiles);
        let known: Vec<&str> = known.map(String::as_str).collect();
        if profile == PROFILE_DEFAULT || known.contains(&profile) {
            return Ok(());
        }
        if self.care_for_profile != Care::Strict {
            // Whoever makes a profile names one that is not there.
            if matches!(origin, Origin::User(..)) {
                warnings.push(format!("there is no profile `{profile}` ({origin})"));
            }
            return Ok(());
        }
        Err(no_profile(profile, Some(origin), known))
    }

    /// What is worth a word about the files: names nobody knows, and settings in the wrong place.
    fn remarks(&self) -> Vec<String> {
        let of = |layer: &Option<Layer>, remark: fn(&Entry) -> Option<String>| {
            let Some(layer) = layer else { return Vec::new() };
            let remarks = layer.entries.entries.iter().filter_map(|entry| {
                let path = layer.path.display();
                Some(format!("{path}:{}: {}", entry.line, remark(entry)?))
            });
            remarks.collect()
        };
        let mut remarks: Vec<String> = of(&self.project, project_remark);
        remarks.extend(of(&self.user, user_remark));
        let mut told = Vec::new();
        if let Some(layer) = &self.user {
            for entry in &layer.entries.entries {
                let named = entry.profile.as_ref().filter(|name| check_profile(name).is_err());
                if let Some(name) = named.filter(|name| !told.contains(name)) {
                    told.push(name);
                    let (path, line) = (layer.path.display(), entry.line);
                    let rule = Kind::ProfileName.rule();
                    remarks.push(format!(
                        "{path}:{line}: `{name}` cannot be the name of a profile: expected \
                         {rule}; it does not count"
                    ));
                }
            }
        }
        remarks
    }
}

/// The value of a variable. One that is empty counts as not set.
fn variable_value(env: Lookup<'_>, name: &str, kind: Kind) -> Result<Option<Value>, CliError> {
    let Some(value) = env(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value
        .into_string()
        .map_err(|_| CliError::usage(format!("the variable `{name}` is not UTF-8 text")))?;
    // As people set switches in an environment.
    let text = match (kind, &*text) {
        (Kind::Switch, "1") => "true".to_owned(),
        (Kind::Switch, "0") => "false".to_owned(),
        _ => text,
    };
    Ok(Some(Value::Text(text)))
}

fn found(
    layer: Option<&Layer>,
    profile: Option<&str>,
    setting: &Setting,
    origin: fn(PathBuf, usize) -> Origin,
) -> Option<Given> {
    let layer = layer?;
    let mut entries = layer.entries.entries.iter();
    let entry =
        entries.find(|entry| entry.profile.as_deref() == profile && entry.name == setting.name)?;
    Some((entry.value.clone(), origin(layer.path.clone(), entry.line)))
}

fn known(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

fn unknown(name: &str) -> String {
    let hint = meant_setting(name).map_or_else(String::new, |hint| format!("; {hint}"));
    format!("there is no setting `{name}`{hint}")
}

/// What a project file may set.
fn of_projects() -> String {
    let settings = SETTINGS.iter().filter(|setting| setting.scope.project());
    settings.map(|setting| format!("`{}`", setting.name)).collect::<Vec<_>>().join(", ")
}

/// A repository that was cloned must neither choose where a key goes nor run anything.
fn project_remark(entry: &Entry) -> Option<String> {
    let name = match &entry.profile {
        None => entry.name.clone(),
        Some(profile) => format!("profiles.{profile}.{}", entry.name),
    };
    match known(&name) {
        Some(setting) if setting.scope.project() => None,
        Some(_) => Some(format!(
            "`{name}` has no effect in a project file, which sets only {}",
            of_projects()
        )),
        None if entry.profile.is_some() => {
            Some(format!("`{name}` has no effect: a project file has no profiles"))
        }
        None => Some(unknown(&name)),
    }
}

fn user_remark(entry: &Entry) -> Option<String> {
    let Entry { profile, name, .. } = entry;
    match (known(name), profile) {
        (None, Some(profile)) if name.is_empty() => {
            Some(format!("`profiles.{profile}` is not a table"))
        }
        (None, None) if name == "profiles" => Some("`profiles` is not a table".to_owned()),
        (None, _) => Some(unknown(name)),
        (Some(setting), None) if !setting.scope.top() => Some(format!(
            "`{name}` has no effect here: it belongs to a profile, under `[profiles.NAME]`"
        )),
        (Some(setting), Some(_)) if !setting.scope.profile() => {
            Some(format!("`{name}` has no effect in a profile: it belongs to the top of the file"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
