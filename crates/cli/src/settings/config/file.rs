//! Reads and changes the user's configuration file, and reads a project file.

use std::error::Error;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::FILE_NAME;
use super::keys::PROFILE;
use super::place::{PROFILES, SettingLocation};
use super::text::{Entries, SyntaxError, parse};
use super::value::Value;
use crate::base::atomic_file;
use crate::base::files::{self, FileError, Trust};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::exit::Exit;

/// Longest file that is read, in bytes.
const MAX_LEN: u64 = 256 * 1024;
/// Name of the lock file in the configuration folder.
const LOCK_NAME: &str = ".config.lock";

/// Returns the path of the user's file, which need not exist.
pub(crate) fn path_in(paths: &Paths) -> Result<PathBuf, CliError> {
    let folder = paths.config.as_ref().ok_or_else(|| {
        CliError::new(Exit::LocalIo, "there is no configuration folder")
            .hint("set HOME, or FORMSVC_CONFIG_DIR to a folder")
    })?;
    Ok(folder.join(FILE_NAME))
}

/// Reads the user's file. A file that does not exist counts as empty.
pub(crate) fn load(paths: &Paths) -> Result<Entries, CliError> {
    match path_in(paths) {
        Ok(path) => parse_file(&path, Trust::OwnUser),
        Err(_) => Ok(Entries::default()),
    }
}

/// Reads a project file. Another user may have written it, so that it must not be a link, which could lead
/// to a file that only the reader can read.
pub(crate) fn read_project(path: &Path) -> Result<Entries, CliError> {
    parse_file(path, Trust::AnyUser)
}

/// Changes the user's file, while no other run changes it. Comments and layout stay.
pub(crate) fn edit(
    paths: &Paths,
    change: impl FnOnce(&mut ConfigEdit) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let path = path_in(paths)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: &dyn Error| {
        let message = format!("cannot write the configuration `{}`", path.display());
        CliError::new(Exit::LocalIo, message).because(error)
    };
    files::create_private_folder(folder).map_err(|error| failed(&error))?;
    let _lock = files::lock(&folder.join(LOCK_NAME)).map_err(|error| failed(&error))?;
    let before = read(&path, Trust::OwnUser)?;
    let mut edit = ConfigEdit::parse(&before).map_err(|error| syntax(&path, &error))?;
    change(&mut edit)?;
    let after = edit.0.to_string();
    if after == before {
        return Ok(());
    }
    atomic_file::replace(&path, after.as_bytes()).map_err(|error| failed(&error))
}

/// The user's file while it is changed.
pub(crate) struct ConfigEdit(DocumentMut);

impl ConfigEdit {
    fn parse(text: &str) -> Result<Self, SyntaxError> {
        text.parse().map(Self).map_err(|error| SyntaxError::new(&error, text))
    }

    /// Checks a value and sets it.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        let location = SettingLocation::parse(name)?;
        let kind = location.setting.kind;
        let value = Value::from_argument(value, kind).map_err(|rule| {
            CliError::usage(format!("`{location}` cannot be the given value: expected {rule}"))
        })?;
        location.check(&value)?;
        let mut table = self.0.as_table_mut() as &mut dyn TableLike;
        if let Some(profile) = &location.profile {
            let mut implicit = Table::new();
            implicit.set_implicit(true);
            table = subtable(table, PROFILES, implicit)?;
            table = subtable(table, profile, Table::new())?;
        }
        let mut item = value.to_toml(kind);
        if let Some(old) = table.get_mut(location.setting.name) {
            // The comment after the value stays.
            if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            *old = item;
        } else {
            table.insert(location.setting.name, item);
        }
        Ok(())
    }

    /// Removes a setting, with the comment above it.
    pub(crate) fn unset(&mut self, name: &str) -> Result<(), CliError> {
        let location = SettingLocation::parse(name)?;
        let table = match &location.profile {
            None => Some(self.0.as_table_mut() as &mut dyn TableLike),
            Some(profile) => {
                self.profiles().and_then(|profiles| profiles.get_mut(profile)?.as_table_like_mut())
            }
        };
        table.and_then(|table| table.remove(location.setting.name));
        Ok(())
    }

    /// Sets the default profile if the file has none and no other profile.
    pub(crate) fn set_first_profile(&mut self, profile: &str) -> Result<bool, CliError> {
        let has_profiles = self.profiles().is_some_and(|profiles| !profiles.is_empty());
        if has_profiles || self.0.contains_key(PROFILE.name) {
            return Ok(false);
        }
        self.set(PROFILE.name, profile).map(|()| true)
    }

    /// Removes a profile with all its settings. It is no longer the profile that commands use.
    pub(crate) fn forget(&mut self, profile: &str) {
        if self.0.get(PROFILE.name).and_then(Item::as_str) == Some(profile) {
            self.0.remove(PROFILE.name);
        }
        if let Some(profiles) = self.profiles() {
            profiles.remove(profile);
        }
    }

    fn profiles(&mut self) -> Option<&mut dyn TableLike> {
        self.0.get_mut(PROFILES)?.as_table_like_mut()
    }
}

/// Returns a table in a table, which is created if necessary.
fn subtable<'a>(
    table: &'a mut dyn TableLike,
    name: &str,
    new: Table,
) -> Result<&'a mut dyn TableLike, CliError> {
    let item = table.entry(name).or_insert(Item::Table(new));
    item.as_table_like_mut()
        .ok_or_else(|| CliError::usage(format!("`{name}` in the configuration is not a table")))
}

fn parse_file(path: &Path, trust: Trust) -> Result<Entries, CliError> {
    parse(&read(path, trust)?).map_err(|error| syntax(path, &error))
}

fn syntax(path: &Path, error: &SyntaxError) -> CliError {
    let SyntaxError { line, column, rule } = error;
    CliError::usage(format!("`{}` line {line}, column {column}: {rule}", path.display()))
}

fn read(path: &Path, trust: Trust) -> Result<String, CliError> {
    let error = match files::read(path, trust, MAX_LEN) {
        Ok(text) => return Ok(text.map_or_else(String::new, |text| text.as_str().to_owned())),
        Err(error) => error,
    };
    let message = format!("cannot read the configuration `{}`", path.display());
    Err(match error {
        FileError::Unsafe { problem, fix, .. } => {
            // The file names programs to run and the services that get keys.
            let message = format!("the configuration `{}` is not safe to use", path.display());
            CliError::new(Exit::LocalIo, message).cause(format!("it {problem}")).hint(fix)
        }
        FileError::Invalid { problem, .. } => {
            CliError::new(Exit::Usage, message).cause(format!("it {problem}"))
        }
        FileError::Io { source, .. } => CliError::new(Exit::LocalIo, message).because(&source),
        FileError::Locked(_) => CliError::new(Exit::LocalIo, message).because(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text after a change.
    fn changed(before: &str, change: impl FnOnce(&mut ConfigEdit)) -> String {
        let mut edit = ConfigEdit::parse(before).unwrap();
        change(&mut edit);
        edit.0.to_string()
    }

    #[test]
    fn unset_removes_only_its_setting() {
        for (before, name, after) in [
            ("# why\noutput = 'json' # x\n# end\n", "output", "# end\n"),
            ("[profiles.work]\nstore = 'file'\n", "profiles.work.store", "[profiles.work]\n"),
            (
                "profiles = { work = { store = 'file' } }\n",
                "profiles.work.store",
                "profiles = { work = {} }\n",
            ),
            ("color = 'auto'\n", "output", "color = 'auto'\n"),
        ] {
            assert_eq!(changed(before, |edit| edit.unset(name).unwrap()), after, "{before}");
        }
    }

    #[test]
    fn forget_removes_one_profile_completely() {
        for (before, after) in [
            (
                "# mine\noutput = 'json'\nprofile = 'work'\n\n[profiles.work]\nstore = 'file'\n\n# of home\n[profiles.home]\nstore = 'file'\n",
                "# mine\noutput = 'json'\n\n# of home\n[profiles.home]\nstore = 'file'\n",
            ),
            ("profile = 'home'\n[profiles.work]\nstore = 'file'\n", "profile = 'home'\n"),
            ("profiles.work.store = 'file'\n", ""),
            ("profiles = { work = { store = 'file' }, home = {} }\n", "profiles = { home = {} }\n"),
            ("output = 'json'\n", "output = 'json'\n"),
        ] {
            assert_eq!(changed(before, |edit| edit.forget("work")), after, "{before}");
        }
    }

    #[test]
    fn set_keeps_comments_and_layout() {
        let after = changed(
            "# mine\noutput = 'json' # for scripts\n\n[profiles.work] # the real one\nbase_url='https://old.example'\n# end\n",
            |edit| {
                edit.set("output", "csv").unwrap();
                edit.set("profile.work.base_url", "https://new.example").unwrap();
                edit.set("profiles.home.store", "file").unwrap();
                assert!(!edit.set_first_profile("home").unwrap());
                edit.set("profile", "home").unwrap();
            },
        );
        assert_eq!(
            after,
            "# mine\noutput = \"csv\" # for scripts\nprofile = \"home\"\n\n[profiles.work] # the real one\nbase_url=\"https://new.example\"\n\n[profiles.home]\nstore = \"file\"\n# end\n"
        );
    }
}
