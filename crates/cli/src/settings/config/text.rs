//! The settings of a configuration file with their line numbers.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, TomlError};

use super::place::PROFILES;
use super::value::Value;
use crate::settings::check_profile;

/// Maximum number of settings in a file. Each unknown one causes a warning.
const ENTRIES_MAX: usize = 1_000;

/// A setting in a file. Its name may be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The profile whose table contains it; `None` at the top of the file.
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
    let mut reader = Reader::new(text);
    for (name, item) in document.as_table() {
        match item.as_table_like().filter(|_| name == PROFILES) {
            Some(profiles) => {
                for (profile, item) in profiles.iter() {
                    reader.profile(profile, profiles, item)?;
                }
            }
            None => reader.push(None, name, document.as_table(), item)?,
        }
    }
    Ok(reader.read)
}

struct Reader {
    read: Entries,
    /// Offsets of the line feeds.
    line_feeds: Vec<usize>,
}

impl Reader {
    fn new(text: &str) -> Self {
        let line_feeds = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { read: Entries::default(), line_feeds }
    }

    fn profile(
        &mut self,
        profile: &str,
        profiles: &dyn TableLike,
        item: &Item,
    ) -> Result<(), SyntaxError> {
        let Some(settings) = item.as_table_like() else {
            return self.push(Some(profile), "", profiles, item);
        };
        // An invalid name causes a warning later.
        if check_profile(profile).is_ok() {
            self.read.profiles.push(profile.to_owned());
        }
        for (name, item) in settings.iter() {
            self.push(Some(profile), name, settings, item)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        profile: Option<&str>,
        name: &str,
        table: &dyn TableLike,
        item: &Item,
    ) -> Result<(), SyntaxError> {
        let key = table.key(if name.is_empty() { profile.unwrap_or_default() } else { name });
        let span = key.and_then(toml_edit::Key::span).or_else(|| item.span());
        let at = span.map_or(0, |span: Range<usize>| span.start);
        let line = self.line_feeds.partition_point(|line_feed| *line_feed < at) + 1;
        if self.read.entries.len() == ENTRIES_MAX {
            let rule = format!("the file has more than {ENTRIES_MAX} settings");
            return Err(SyntaxError { line, column: 1, rule });
        }
        self.read.entries.push(Entry {
            profile: profile.map(str::to_owned),
            name: name.to_owned(),
            value: Value::from_toml(item),
            line,
        });
        Ok(())
    }
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
