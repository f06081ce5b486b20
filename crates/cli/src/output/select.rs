//! `--json FIELDS`: which fields of an item are wanted, in which order.

use super::field::{Field, Kind};
use crate::base::suggest::did_you_mean;
use crate::error::CliError;

/// A field that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// Its name as asked for, which it keeps in the JSON.
    pub(crate) name: String,
    /// Its place in the table of fields.
    pub(crate) field: usize,
    /// The member of the field, when only that was asked for: the `LABEL` of `data.LABEL`.
    pub(crate) member: Option<String>,
}

/// Reads a list of fields, separated by commas. White space around a name does not count; `\,` is a
/// comma and `\\` a backslash within one, as a label may have them. What follows the first point of
/// `data.LABEL` is the label as a whole: labels have points of their own.
pub(crate) fn picks(asked: &str, fields: &[Field]) -> Result<Vec<Pick>, CliError> {
    let mut picks: Vec<Pick> = Vec::new();
    for name in names(asked) {
        let pick = pick(name, fields)?;
        // Twice the same member would be an object that programs read in different ways.
        if !picks.contains(&pick) {
            picks.push(pick);
        }
    }
    if picks.is_empty() {
        return Err(CliError::usage("`--json` names no field").hint(known(fields)));
    }
    Ok(picks)
}

fn pick(name: String, fields: &[Field]) -> Result<Pick, CliError> {
    if let Some(field) = fields.iter().position(|field| field.name == name) {
        return Ok(Pick { name, field, member: None });
    }
    let (of, member) = name.split_once('.').unwrap_or((&name, ""));
    let object = fields.iter().position(|field| field.name == of && field.kind == Kind::Object);
    match object {
        Some(field) if !member.is_empty() => {
            let member = Some(member.to_owned());
            Ok(Pick { name, field, member })
        }
        _ => Err(unknown(&name, fields)),
    }
}

fn unknown(name: &str, fields: &[Field]) -> CliError {
    let like = did_you_mean(name, fields.iter().map(|field| field.name));
    let known = known(fields);
    CliError::usage(format!("no field `{name}`"))
        .hint(like.map_or(known.clone(), |like| format!("{like} {known}")))
}

fn known(fields: &[Field]) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    format!("the fields are {}", names.join(", "))
}

/// Parses `--columns`: labels separated by commas, each once.
pub(crate) fn labels(asked: &str) -> Result<Vec<String>, CliError> {
    let mut labels: Vec<String> = Vec::new();
    for label in names(asked) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    if labels.is_empty() {
        return Err(CliError::usage("`--columns` names no label"));
    }
    Ok(labels)
}

fn names(asked: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut chars = asked.chars();
    while let Some(c) = chars.next() {
        match c {
            ',' => names.push(std::mem::take(&mut name)),
            '\\' => match chars.next() {
                Some(escaped @ (',' | '\\')) => name.push(escaped),
                other => name.extend(['\\'].into_iter().chain(other)),
            },
            c => name.push(c),
        }
    }
    names.push(name);
    names.retain_mut(|name| {
        *name = name.trim().to_owned();
        !name.is_empty()
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[Field::new("id"), Field::time("created_at"), Field::object("data")];

    fn picked(asked: &str) -> Vec<(String, usize, Option<String>)> {
        let picks = picks(asked, FIELDS).unwrap();
        picks.into_iter().map(|pick| (pick.name, pick.field, pick.member)).collect()
    }

    fn refused(asked: &str) -> String {
        picks(asked, FIELDS).unwrap_err().to_text()
    }

    #[test]
    fn fields_come_in_the_order_asked_for_and_once() {
        assert_eq!(
            picked("created_at, id,,created_at"),
            [("created_at".into(), 1, None), ("id".into(), 0, None)]
        );
    }

    #[test]
    fn a_label_is_all_that_follows_the_first_point() {
        for (asked, label) in [
            ("data.Your name", "Your name"),
            ("data.v1.2", "v1.2"),
            ("data.Name\\, first", "Name, first"),
            ("data.back\\\\slash", "back\\slash"),
            ("data.other\\x", "other\\x"),
        ] {
            let [(name, 2, Some(member))] = &picked(asked)[..] else { panic!("{asked}") };
            assert_eq!((&**name, &**member), (&*format!("data.{label}"), label), "{asked}");
        }
    }

    #[test]
    fn an_unknown_field_is_told_the_known_ones() {
        for (asked, hint) in [
            ("createdAt", "did you mean `created_at`? the fields are id, created_at, data"),
            ("zzz", "the fields are id, created_at, data"),
            ("id.x", "the fields are"),
            ("data.", "the fields are"),
            (" , ", "the fields are"),
        ] {
            let told = refused(asked);
            assert!(told.contains(hint), "{asked}: {told}");
        }
    }
}
