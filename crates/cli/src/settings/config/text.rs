//! The settings of a configuration file with their line numbers.

use toml_edit::{Document, Item, Key, TableLike, TomlError};

use super::place::PROFILES;
use super::value::Value;
use crate::settings::check_profile;

/// Maximum number of settings in a file. Each unknown one causes a warning.
const ENTRIES_MAX: usize = 1_000;

/// A setting in a file. Its name may be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The profile with the table that contains the setting; `None` at the top of the file.
    pub(crate) profile: Option<String>,
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Counts from 1.
    pub(crate) line: usize,
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Entry>,
    /// The profiles that have a table, in the order of the file.
    pub(crate) profiles: Vec<String>,
}

impl Entries {
    pub(crate) fn entry(&self, profile: Option<&str>, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.profile.as_deref() == profile && entry.name == name)
    }

    pub(crate) fn get(&self, profile: Option<&str>, name: &str) -> Option<&Value> {
        self.entry(profile, name).map(|entry| &entry.value)
    }
}

/// A text is not valid TOML, or too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Counts from 1.
    pub(crate) line: usize,
    /// Counts characters from 1.
    pub(crate) column: usize,
    pub(crate) rule: String,
}

impl SyntaxError {
    pub(super) fn new(error: &TomlError, text: &str) -> Self {
        let at = error.span().map_or(text.len(), |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let rule = error.message().lines().collect::<Vec<_>>().join(", ");
        Self { line: before.matches('\n').count() + 1, column, rule }
    }
}

/// Parses the text of a configuration file.
pub(crate) fn parse(text: &str) -> Result<Entries, SyntaxError> {
    let document = Document::parse(text).map_err(|error| SyntaxError::new(&error, text))?;
    let mut read = Entries::default();
    // The profile, the table, the key and the name of each setting.
    let mut found: Vec<(Option<&str>, &dyn TableLike, &str, &str)> = Vec::new();
    for (name, item) in document.as_table() {
        let Some(profiles) = item.as_table_like().filter(|_| name == PROFILES) else {
            found.push((None, document.as_table(), name, name));
            continue;
        };
        for (profile, item) in profiles.iter() {
            let Some(settings) = item.as_table_like() else {
                // The value of a profile that is not a table has no name.
                found.push((Some(profile), profiles, profile, ""));
                continue;
            };
            // An invalid name causes a warning later.
            if check_profile(profile).is_ok() {
                read.profiles.push(profile.to_owned());
            }
            found.extend(settings.iter().map(|(name, _)| (Some(profile), settings, name, name)));
        }
    }
    let line_feeds: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for (profile, table, key, name) in found {
        let item = table.get(key).unwrap_or(&Item::None);
        let span = table.key(key).and_then(Key::span).or_else(|| item.span());
        let at = span.map_or(0, |span| span.start);
        let line = line_feeds.partition_point(|line_feed| *line_feed < at) + 1;
        if read.entries.len() == ENTRIES_MAX {
            let rule = format!("the file has more than {ENTRIES_MAX} settings");
            return Err(SyntaxError { line, column: 1, rule });
        }
        let (profile, name) = (profile.map(str::to_owned), name.to_owned());
        read.entries.push(Entry { profile, name, value: Value::from_toml(item), line });
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_line_of_their_key() {
        let read = parse("# x\noutput = 'json'\n\n[profiles.a]\n\nstore = 'file'\n").unwrap();
        let lines: Vec<_> = read.entries.iter().map(|entry| (&*entry.name, entry.line)).collect();
        assert_eq!(lines, [("output", 2), ("store", 6)]);
    }

    #[test]
    fn number_of_settings_is_bounded() {
        let text =
            |count: usize| (0..count).map(|n| format!("a{n}=1")).collect::<Vec<_>>().join("\n");
        assert_eq!(parse(&text(ENTRIES_MAX)).unwrap().entries.len(), ENTRIES_MAX);
        let error = parse(&text(34_000)).unwrap_err();
        assert_eq!((error.line, &*error.rule), (1001, "the file has more than 1000 settings"));
    }
}
