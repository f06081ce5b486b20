//! `--json FIELDS`: parses the requested fields of an item. Also parses `--columns`.

use super::field::{Field, Kind};
use crate::base::suggest::did_you_mean;
use crate::error::CliError;

/// A requested field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The requested name, which is the member name in the JSON output.
    pub(crate) name: String,
    /// The index in the table of fields.
    pub(crate) field: usize,
    /// The requested member of an object, such as `LABEL` in `data.LABEL`; `None` for the complete field.
    pub(crate) member: Option<String>,
}

/// Parses a list of field names separated by commas, and drops duplicates. White space around a name is ignored.
/// Inside a name, `\,` is a comma and `\\` is a backslash. The label in `data.LABEL` is everything after the first
/// dot, because labels can contain dots.
pub(crate) fn picks(list: &str, fields: &[Field]) -> Result<Vec<Pick>, CliError> {
    let mut picks: Vec<Pick> = Vec::new();
    for name in names(list) {
        let pick = pick(name, fields)?;
        // JSON readers disagree about an object with a repeated member name.
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
    let (parent, member) = name.split_once('.').unwrap_or((&name, ""));
    let object = fields.iter().position(|field| field.name == parent && field.kind == Kind::Object);
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
pub(crate) fn labels(list: &str) -> Result<Vec<String>, CliError> {
    let mut labels: Vec<String> = Vec::new();
    for label in names(list) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    if labels.is_empty() {
        return Err(CliError::usage("`--columns` names no label"));
    }
    Ok(labels)
}

fn names(list: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut chars = list.chars();
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

    fn picked(list: &str) -> Vec<(String, usize, Option<String>)> {
        let picks = picks(list, FIELDS).unwrap();
        picks.into_iter().map(|pick| (pick.name, pick.field, pick.member)).collect()
    }

    fn refused(list: &str) -> String {
        picks(list, FIELDS).unwrap_err().to_text()
    }

    #[test]
    fn fields_keep_requested_order_without_duplicates() {
        assert_eq!(
            picked("created_at, id,,created_at"),
            [("created_at".into(), 1, None), ("id".into(), 0, None)]
        );
    }

    #[test]
    fn label_is_the_text_after_the_first_dot() {
        for (list, label) in [
            ("data.Your name", "Your name"),
            ("data.v1.2", "v1.2"),
            ("data.Name\\, first", "Name, first"),
            ("data.back\\\\slash", "back\\slash"),
            ("data.other\\x", "other\\x"),
        ] {
            let [(name, 2, Some(member))] = &picked(list)[..] else { panic!("{list}") };
            assert_eq!((&**name, &**member), (&*format!("data.{label}"), label), "{list}");
        }
    }

    #[test]
    fn unknown_field_error_lists_known_fields() {
        for (list, hint) in [
            ("createdAt", "did you mean `created_at`? the fields are id, created_at, data"),
            ("zzz", "the fields are id, created_at, data"),
            ("id.x", "the fields are"),
            ("data.", "the fields are"),
            (" , ", "the fields are"),
        ] {
            let error = refused(list);
            assert!(error.contains(hint), "{list}: {error}");
        }
    }
}
