//! The text of a configuration file, read without losing where each setting stands.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, TomlError};

use super::place::PROFILES;
use super::value::Value;
use crate::settings::check_profile;

/// A setting as a file has it; the name may be none we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The profile it stands in; none is the top of the file.
    pub(crate) profile: Option<String>,
    pub(crate) name: String,
    pub(crate) value: Value,
    /// The line it stands on, from 1.
    pub(crate) line: usize,
}

/// Everything a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Entry>,
    /// The profiles that have a table, in the file's order.
    pub(crate) profiles: Vec<String>,
}

/// A text that is not TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
    pub(crate) rule: String,
}

impl SyntaxError {
    pub(super) fn of(error: &TomlError, text: &str) -> Self {
        let at = error.span().map_or(text.len(), |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let rule = error.message().lines().collect::<Vec<_>>().join(", ");
        Self { line: line_of(text, at), column, rule }
    }
}

/// Reads a text.
pub(crate) fn entries(text: &str) -> Result<Entries, SyntaxError> {
    let document = Document::parse(text).map_err(|error| SyntaxError::of(&error, text))?;
    let mut read = Entries::default();
    for (name, item) in table(document.as_table()) {
        match item.as_table_like().filter(|_| name == PROFILES) {
            Some(profiles) => {
                for (profile, item) in table(profiles) {
                    if let Some(settings) = item.as_table_like() {
                        // One with a name that no profile has is told of, and counts as none.
                        if check_profile(profile).is_ok() {
                            read.profiles.push(profile.to_owned());
                        }
                        for (name, item) in table(settings) {
                            read.push(Some(profile), name, settings, item, text);
                        }
                    } else {
                        read.push(Some(profile), "", profiles, item, text);
                    }
                }
            }
            None => read.push(None, name, document.as_table(), item, text),
        }
    }
    Ok(read)
}

fn table(table: &dyn TableLike) -> impl Iterator<Item = (&str, &Item)> {
    table.iter()
}

impl Entries {
    fn push(
        &mut self,
        profile: Option<&str>,
        name: &str,
        within: &dyn TableLike,
        item: &Item,
        text: &str,
    ) {
        let key = within.key(if name.is_empty() { profile.unwrap_or_default() } else { name });
        let span = key.and_then(toml_edit::Key::span).or_else(|| item.span());
        self.entries.push(Entry {
            profile: profile.map(str::to_owned),
            name: name.to_owned(),
            value: Value::of_item(item),
            line: line_of(text, span.map_or(0, |span: Range<usize>| span.start)),
        });
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].split(|byte| *byte == b'\n').count()
}
