//! `--json FIELDS`: the fields of the command that is being typed, one after the other. They stand in a
//! table of this program; no service is asked.

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap_complete::engine::CompletionCandidate;

use crate::cmd;
use crate::error::usage;
use crate::output::Field;

/// The fields of the command that the words so far name; none where it shows no items.
pub(super) fn of_command(root: &Command, words: &[OsString]) -> &'static [Field] {
    let path = usage::path(root, words);
    let names: Vec<&str> = path.iter().skip(1).map(|command| command.get_name()).collect();
    cmd::fields(&names)
}

/// What was typed up to its last comma, with each field after it that fits and is not there yet.
pub(super) fn completing(fields: &'static [Field], typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (chosen, begun) = typed
        .rsplit_once(',')
        .map_or(("", typed), |(chosen, begun)| (&typed[..=chosen.len()], begun));
    let is_chosen = |name: &str| chosen.split(',').any(|chosen| chosen.trim() == name);
    let fitting = fields.iter().map(|field| field.name);
    fitting
        .filter(|name| name.starts_with(begun) && !is_chosen(name))
        .map(|name| CompletionCandidate::new(format!("{chosen}{name}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(typed: &str) -> Vec<String> {
        const FIELDS: &[Field] = &[Field::new("id"), Field::new("title"), Field::object("data")];
        let found = completing(FIELDS, OsStr::new(typed));
        found.iter().map(|found| found.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn fields_are_offered_one_after_the_other() {
        assert_eq!(offered(""), ["id", "title", "data"]);
        assert_eq!(offered("t"), ["title"]);
        assert_eq!(offered("id,"), ["id,title", "id,data"]);
        assert_eq!(offered("id, title,d"), ["id, title,data"]);
        assert!(offered("id,i").is_empty() && offered("data.x").is_empty());
    }
}
