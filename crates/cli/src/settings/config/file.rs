//! Reads and changes the user's configuration file, and reads a project file.

use std::error::Error;
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::FILE_NAME;
use super::keys::PROFILE;
use super::place::{PROFILES, SettingLocation};
use super::text::{Entries, SyntaxError, parse};
use super::value::Value;
use crate::base::files::{self, FileError, Trust};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::exit::Exit;

/// Longest file that is read, in bytes.
const MAX_LEN: u64 = 256 * 1024;
/// Name of the lock file in the configuration folder.
const LOCK_NAME: &str = ".config.lock";

/// The user's configuration file, with changes that are not saved yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigFile {
    /// `None` without a configuration folder.
    path: Option<PathBuf>,
    /// The text with the changes.
    text: String,
    /// The changes. [`Self::save`] applies them to the file as it is then.
    edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
enum Edit {
    Set(SettingLocation, Value),
    Unset(SettingLocation),
    /// Removes the table of a profile.
    Forget(String),
}

impl ConfigFile {
    /// Reads the file. A file that does not exist counts as empty.
    pub(crate) fn load(paths: &Paths) -> Result<Self, CliError> {
        let path = Self::path_in(paths);
        let text = match &path {
            Some(path) => read(path, Trust::OwnUser)?,
            None => String::new(),
        };
        Ok(Self { path, text, edits: Vec::new() })
    }

    pub(crate) fn path_in(paths: &Paths) -> Option<PathBuf> {
        paths.config.as_ref().map(|folder| folder.join(FILE_NAME))
    }

    /// The error for a run without a configuration folder.
    pub(crate) fn no_folder() -> CliError {
        CliError::new(Exit::LocalIo, "there is no configuration folder")
            .hint("set HOME, or FORMSVC_CONFIG_DIR to a folder")
    }

    pub(crate) fn entries(&self) -> Result<Entries, CliError> {
        parse(&self.text).map_err(|error| self.syntax(&error))
    }

    /// Returns the value of a setting such as `profiles.work.base_url`, as text.
    pub(crate) fn get(&self, name: &str) -> Result<Option<String>, CliError> {
        Ok(self.value(&SettingLocation::parse(name)?)?.map(|value| value.text()))
    }

    pub(crate) fn value(&self, location: &SettingLocation) -> Result<Option<Value>, CliError> {
        let (profile, name) = (&location.profile, location.setting.name);
        let mut entries = self.entries()?.entries.into_iter();
        let found = entries.find(|entry| entry.profile == *profile && entry.name == name);
        Ok(found.map(|entry| entry.value))
    }

    /// Checks a value and sets it.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        let location = SettingLocation::parse(name)?;
        let value = Value::from_argument(value, location.setting.kind).map_err(|rule| {
            CliError::usage(format!("`{location}` cannot be the given value: expected {rule}"))
        })?;
        location.check(&value)?;
        self.edit(Edit::Set(location, value))
    }

    pub(crate) fn unset(&mut self, name: &str) -> Result<(), CliError> {
        self.edit(Edit::Unset(SettingLocation::parse(name)?))
    }

    /// Removes a profile with all its settings. It is no longer the profile that commands use.
    pub(crate) fn forget(&mut self, profile: &str) -> Result<(), CliError> {
        if self.get(PROFILE.name)?.as_deref() == Some(profile) {
            self.unset(PROFILE.name)?;
        }
        self.edit(Edit::Forget(profile.to_owned()))
    }

    /// Returns the profiles that have a table, in the order of the file.
    pub(crate) fn profiles(&self) -> Result<Vec<String>, CliError> {
        Ok(self.entries()?.profiles)
    }

    /// Applies the changes to the file. Changes that other runs made since [`Self::load`] stay.
    pub(crate) fn save(&mut self) -> Result<(), CliError> {
        if self.edits.is_empty() {
            return Ok(());
        }
        let Some(path) = self.path.clone() else { return Err(Self::no_folder()) };
        let folder = path.parent().unwrap_or(Path::new("."));
        let failed = |error: &dyn Error| {
            let message = format!("cannot write the configuration `{}`", path.display());
            CliError::new(Exit::LocalIo, message).because(error)
        };
        files::create_private_folder(folder).map_err(|error| failed(&error))?;
        let _lock = files::lock(&folder.join(LOCK_NAME)).map_err(|error| failed(&error))?;
        let before = read(&path, Trust::OwnUser)?;
        self.text.clone_from(&before);
        for edit in std::mem::take(&mut self.edits) {
            self.text = self.edited(&edit)?;
        }
        if self.text == before {
            return Ok(());
        }
        files::replace(&path, self.text.as_bytes()).map_err(|error| failed(&error))
    }

    fn edit(&mut self, edit: Edit) -> Result<(), CliError> {
        self.text = self.edited(&edit)?;
        self.edits.push(edit);
        Ok(())
    }

    fn edited(&self, edit: &Edit) -> Result<String, CliError> {
        let document = Document::parse(self.text.as_str())
            .map_err(|error| self.syntax(&SyntaxError::new(&error, &self.text)))?;
        if let Edit::Unset(location) = edit
            && let Some(text) = without_line(&self.text, &document, location)
        {
            return Ok(text);
        }
        let mut document = document.into_mut();
        match edit {
            Edit::Set(location, value) => set(&mut document, location, value)?,
            Edit::Unset(location) => {
                if let Some(table) = table_of(&mut document, location) {
                    table.remove(location.setting.name);
                }
            }
            Edit::Forget(profile) => {
                if let Some(profiles) = document.get_mut(PROFILES).and_then(Item::as_table_like_mut)
                {
                    profiles.remove(profile);
                }
            }
        }
        Ok(document.to_string())
    }

    fn syntax(&self, error: &SyntaxError) -> CliError {
        syntax(self.path.as_deref().unwrap_or(Path::new(FILE_NAME)), error)
    }
}

/// Reads a project file. Another user may have written it, so that it must not be a link, which could lead
/// to a file that only the reader can read.
pub(crate) fn read_project(path: &Path) -> Result<Entries, CliError> {
    parse(&read(path, Trust::AnyUser)?).map_err(|error| syntax(path, &error))
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

/// Returns the text without the lines of a setting, if nothing else is on them. A comment above stays.
fn without_line(
    text: &str,
    document: &Document<&str>,
    location: &SettingLocation,
) -> Option<String> {
    let name = location.setting.name;
    let table: &dyn TableLike = match &location.profile {
        None => document.as_table(),
        Some(profile) => {
            document.as_table().get(PROFILES)?.as_table_like()?.get(profile)?.as_table_like()?
        }
    };
    let start = table.key(name)?.span()?.start;
    let end = table.get(name)?.as_value()?.span()?.end;
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = after.find('\n').map_or(text.len(), |at| end + at + 1);
    let rest = text.get(end..line_end)?.trim_start();
    let is_alone =
        before.get(line_start..)?.trim().is_empty() && (rest.is_empty() || rest.starts_with('#'));
    is_alone.then(|| format!("{}{}", &text[..line_start], &text[line_end..]))
}

/// Returns the table that contains a setting.
fn table_of<'a>(
    document: &'a mut DocumentMut,
    location: &SettingLocation,
) -> Option<&'a mut dyn TableLike> {
    match &location.profile {
        None => Some(document.as_table_mut()),
        Some(profile) => {
            document.get_mut(PROFILES)?.as_table_like_mut()?.get_mut(profile)?.as_table_like_mut()
        }
    }
}

fn set(
    document: &mut DocumentMut,
    location: &SettingLocation,
    value: &Value,
) -> Result<(), CliError> {
    let not_a_table =
        |name: &str| CliError::usage(format!("`{name}` in the configuration is not a table"));
    if document.is_empty() {
        // In a file with comments only, the setting comes after the comments.
        let comments = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing("");
        document.decor_mut().set_prefix(comments);
    }
    if let Some(profile) = &location.profile {
        let implicit = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let profiles = document.entry(PROFILES).or_insert_with(implicit);
        let profiles = profiles.as_table_like_mut().ok_or_else(|| not_a_table(PROFILES))?;
        let table = profiles.entry(profile).or_insert_with(|| Item::Table(Table::new()));
        if !table.is_table_like() {
            return Err(not_a_table(&format!("{PROFILES}.{profile}")));
        }
    }
    let Some(table) = table_of(document, location) else { return Err(not_a_table(PROFILES)) };
    let mut item = value.to_toml(location.setting.kind);
    match table.get_mut(location.setting.name) {
        Some(old) => {
            // The comment after the value stays.
            if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            *old = item;
        }
        None => {
            table.insert(location.setting.name, item);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> ConfigFile {
        ConfigFile { text: text.to_owned(), ..ConfigFile::default() }
    }

    #[test]
    fn unset_keeps_the_comments_around_the_setting() {
        for (before, name, after) in [
            ("# why\noutput = 'json' # x\n# end\n", "output", "# why\n# end\n"),
            ("a = 1\r\noutput = 'json'\r\nb = 2", "output", "a = 1\r\nb = 2"),
            ("\u{feff}output = 'json'\n", "output", ""),
            ("output = 'json'", "output", ""),
            (
                "[profiles.work]\n# words\napi_key_command = [\n  'a', # b\n  'c',\n]\nstore = 'file'\n",
                "profiles.work.api_key_command",
                "[profiles.work]\n# words\nstore = 'file'\n",
            ),
            (
                "profiles = { work = { store = 'file' } }\n",
                "profiles.work.store",
                "profiles = { work = {} }\n",
            ),
            ("profiles.work.store = 'file'\n", "profiles.work.store", ""),
            ("color = 'auto'\n", "output", "color = 'auto'\n"),
        ] {
            let mut file = file(before);
            file.unset(name).unwrap();
            assert_eq!(file.text, after, "{before}");
        }
    }

    #[test]
    fn setting_is_added_below_comments() {
        let mut file = file("# only words\n");
        file.set("output", "json").unwrap();
        assert_eq!(file.text, "# only words\noutput = \"json\"\n");
        let mut file = self::file("# only words\n\n");
        file.set("profiles.work.store", "file").unwrap();
        assert_eq!(file.text, "# only words\n\n[profiles.work]\nstore = \"file\"\n");
    }

    #[test]
    fn forget_removes_one_profile_completely() {
        for (before, after) in [
            (
                "# mine\nprofile = 'work'\noutput = 'json'\n\n[profiles.work]\nstore = 'file'\n\n# of home\n[profiles.home]\nstore = 'file'\n",
                "# mine\noutput = 'json'\n\n# of home\n[profiles.home]\nstore = 'file'\n",
            ),
            ("profile = 'home'\n[profiles.work]\nstore = 'file'\n", "profile = 'home'\n"),
            ("profiles.work.store = 'file'\n", ""),
            ("profiles = { work = { store = 'file' }, home = {} }\n", "profiles = { home = {} }\n"),
            ("output = 'json'\n", "output = 'json'\n"),
        ] {
            let mut file = file(before);
            file.forget("work").unwrap();
            assert_eq!(file.text, after, "{before}");
            assert!(!file.profiles().unwrap().contains(&"work".to_owned()));
        }
    }

    #[test]
    fn set_keeps_comments_and_layout() {
        let mut file = file(
            "# mine\noutput = 'json' # for scripts\n\n[profiles.work] # the real one\nbase_url='https://old.example'\n# end\n",
        );
        file.set("output", "csv").unwrap();
        file.set("profile.work.base_url", "https://new.example").unwrap();
        file.set("profiles.home.store", "file").unwrap();
        file.set("profile", "home").unwrap();
        assert_eq!(
            file.text,
            "# mine\noutput = \"csv\" # for scripts\nprofile = \"home\"\n\n[profiles.work] # the real one\nbase_url=\"https://new.example\"\n\n[profiles.home]\nstore = \"file\"\n# end\n"
        );
        assert_eq!(file.profiles().unwrap(), ["work", "home"]);
        assert_eq!(file.get("profiles.home.store").unwrap().as_deref(), Some("file"));
        file.unset("profiles.home.store").unwrap();
        assert_eq!(file.get("profiles.home.store").unwrap(), None);
        assert_eq!(file.profiles().unwrap(), ["work", "home"]);
    }
}
