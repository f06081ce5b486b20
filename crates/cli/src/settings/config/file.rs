//! The user's configuration file.

use std::error::Error;
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::FILE_NAME;
use super::keys::PROFILE;
use super::place::{PROFILES, Place};
use super::text::{Entries, SyntaxError, entries};
use super::value::Value;
use crate::base::files::{self, FileError, Trust};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::exit::Exit;

/// Longest configuration file that is read, in bytes.
const MAX_LEN: u64 = 256 * 1024;
/// Name of the lock file in the configuration folder.
const LOCK_NAME: &str = ".config.lock";

/// The user's configuration, with the changes made to it since it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Where it is; absent where there is no home for it.
    path: Option<PathBuf>,
    /// The text, changes included.
    text: String,
    /// The changes alone: they are made again to what the file holds when it is saved.
    edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
enum Edit {
    Set(Place, Value),
    Unset(Place),
    /// Of a profile: all of it.
    Forget(String),
}

impl File {
    /// Reads the file. One that is not there is as good as an empty one.
    pub(crate) fn load(paths: &Paths) -> Result<Self, CliError> {
        let path = Self::path_in(paths);
        let text = match &path {
            Some(path) => read(path, Trust::OwnUser)?,
            None => String::new(),
        };
        Ok(Self { path, text, edits: Vec::new() })
    }

    /// Where it is, whether it exists or not.
    pub(crate) fn path_in(paths: &Paths) -> Option<PathBuf> {
        paths.config.as_ref().map(|folder| folder.join(FILE_NAME))
    }

    /// There is no place where it could be.
    pub(crate) fn no_folder() -> CliError {
        CliError::new(Exit::LocalIo, "there is no folder for the configuration")
            .hint("set HOME, or FORMSVC_CONFIG_DIR to a folder")
    }

    /// What it says.
    pub(crate) fn entries(&self) -> Result<Entries, CliError> {
        entries(&self.text).map_err(|error| self.syntax(&error))
    }

    /// The value of a setting by its dotted name, such as `profiles.work.base_url`; a list as its
    /// words with spaces between them.
    pub(crate) fn get(&self, name: &str) -> Result<Option<String>, CliError> {
        Ok(self.value(&Place::parse(name)?)?.map(|value| value.text()))
    }

    /// The value in a place.
    pub(crate) fn value(&self, place: &Place) -> Result<Option<Value>, CliError> {
        let found = self
            .entries()?
            .entries
            .into_iter()
            .find(|entry| entry.profile == place.profile && entry.name == place.setting.name);
        Ok(found.map(|entry| entry.value))
    }

    /// Sets a setting by its dotted name, after holding the value to its rule.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        let place = Place::parse(name)?;
        let value = Value::typed(value, place.setting.kind).map_err(|rule| {
            CliError::usage(format!("`{place}` cannot be what was given: expected {rule}"))
        })?;
        place.check(&value)?;
        self.edit(Edit::Set(place, value))
    }

    /// Removes a setting by its dotted name.
    pub(crate) fn unset(&mut self, name: &str) -> Result<(), CliError> {
        self.edit(Edit::Unset(Place::parse(name)?))
    }

    /// Removes a profile with all its settings, and with the word that it is the one in use.
    pub(crate) fn forget(&mut self, profile: &str) -> Result<(), CliError> {
        if self.get(PROFILE.name)?.as_deref() == Some(profile) {
            self.unset(PROFILE.name)?;
        }
        self.edit(Edit::Forget(profile.to_owned()))
    }

    /// The profiles that have a table, in the file's order.
    pub(crate) fn profiles(&self) -> Result<Vec<String>, CliError> {
        Ok(self.entries()?.profiles)
    }

    /// Writes the changes, and nothing else: what other runs changed since the file was read stays.
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
            .map_err(|error| self.syntax(&SyntaxError::of(&error, &self.text)))?;
        let mut document = document.into_mut();
        match edit {
            Edit::Set(place, value) => set(&mut document, place, value)?,
            Edit::Unset(place) => {
                if let Some(text) = without_line(&self.text, place) {
                    return Ok(text);
                }
                if let Some(table) = table_of(&mut document, place) {
                    table.remove(place.setting.name);
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

/// Reads a project's file. It comes with whatever somebody cloned or unpacked, so that a link is not
/// followed: it could lead to any file of the reader's.
pub(crate) fn read_project(path: &Path) -> Result<Entries, CliError> {
    if path.is_symlink() {
        let message = format!("`{}` is a link", path.display());
        return Err(CliError::usage(message).hint("a project file is a file of its own"));
    }
    entries(&read(path, Trust::AnyUser)?).map_err(|error| syntax(path, &error))
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

/// The text without the lines of a setting that has them for itself. The comment above them is
/// somebody's words and stays.
fn without_line(text: &str, place: &Place) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let table: &dyn TableLike = match &place.profile {
        None => document.as_table(),
        Some(profile) => {
            document.as_table().get(PROFILES)?.as_table_like()?.get(profile)?.as_table_like()?
        }
    };
    let start = table.key(place.setting.name)?.span()?.start;
    let end = table.get(place.setting.name)?.as_value()?.span()?.end;
    let (above, below) = (text.get(..start)?, text.get(end..)?);
    let line_start = above.rfind('\n').map_or(0, |at| at + 1);
    let line_end = below.find('\n').map_or(text.len(), |at| end + at + 1);
    let behind = text.get(end..line_end)?.trim_start();
    let alone = above.get(line_start..)?.trim().is_empty()
        && (behind.is_empty() || behind.starts_with('#'));
    alone.then(|| format!("{}{}", &text[..line_start], &text[line_end..]))
}

/// The table that holds a place, if it is there.
fn table_of<'a>(document: &'a mut DocumentMut, place: &Place) -> Option<&'a mut dyn TableLike> {
    match &place.profile {
        None => Some(document.as_table_mut()),
        Some(profile) => {
            document.get_mut(PROFILES)?.as_table_like_mut()?.get_mut(profile)?.as_table_like_mut()
        }
    }
}

fn set(document: &mut DocumentMut, place: &Place, value: &Value) -> Result<(), CliError> {
    if document.is_empty() {
        // Words with nothing below them come before what is written now.
        let words = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing("");
        document.decor_mut().set_prefix(words);
    }
    if let Some(profile) = &place.profile {
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
    let Some(table) = table_of(document, place) else { return Err(not_a_table(PROFILES)) };
    let mut item = value.to_item(place.setting.kind);
    match table.get_mut(place.setting.name) {
        Some(old) => {
            // The comment behind the value stays.
            if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            *old = item;
        }
        None => {
            table.insert(place.setting.name, item);
        }
    }
    Ok(())
}

fn not_a_table(name: &str) -> CliError {
    CliError::usage(format!("`{name}` in the configuration is not a table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { text: text.to_owned(), ..File::default() }
    }

    #[test]
    fn what_is_unset_leaves_the_words_around_it() {
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
    fn a_file_of_comments_is_written_to_below_them() {
        let mut file = file("# only words\n");
        file.set("output", "json").unwrap();
        assert_eq!(file.text, "# only words\noutput = \"json\"\n");
        let mut file = self::file("# only words\n\n");
        file.set("profiles.work.store", "file").unwrap();
        assert_eq!(file.text, "# only words\n\n[profiles.work]\nstore = \"file\"\n");
    }

    #[test]
    fn a_profile_is_forgotten_whole_and_the_others_stay() {
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
    fn a_change_leaves_the_rest_as_it_was_written() {
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
