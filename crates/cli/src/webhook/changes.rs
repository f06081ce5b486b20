//! Changes of a body: by `--set` and `--unset`, or in an editor.

use bytes::Bytes;

use super::edit;
use crate::editor;
use crate::error::CliError;
use crate::key::aside;
use crate::pretty::pretty;

/// A change of the body.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Sets the value at a path to this JSON text.
    Set(String, String),
    Unset(String),
}

/// Reads `--set`.
pub(crate) fn set(text: &str) -> Result<Change, String> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, _)| !path.is_empty())
        .ok_or("expected PATH=VALUE, such as data.Name=Ada")?;
    let value = edit::parse_value(value).map_err(|error| error.to_string())?;
    Ok(Change::Set(path.to_owned(), value.into_owned()))
}

/// Reads `--unset`.
#[expect(clippy::unnecessary_wraps, reason = "a parser of a flag can fail")]
pub(crate) fn unset(text: &str) -> Result<Change, String> {
    Ok(Change::Unset(text.to_owned()))
}

/// Applies changes to a body. Returns the new body, and true if a change added a value.
pub(crate) fn changed(body: &Bytes, changes: &[Change]) -> Result<(Bytes, bool), CliError> {
    let Ok(text) = std::str::from_utf8(body) else {
        return Err(CliError::usage("the body is not UTF-8, so it has no paths"));
    };
    let (mut text, mut any_new) = (text.to_owned(), false);
    for change in changes {
        let done = match change {
            Change::Set(path, value) => edit::set(&text, path, value).map(|(text, is_new)| {
                any_new |= is_new;
                text
            }),
            Change::Unset(path) => edit::unset(&text, path),
        };
        text = done.map_err(|error| {
            let flag = match change {
                Change::Set(path, _) => format!("--set {path}=…"),
                Change::Unset(path) => format!("--unset {path}"),
            };
            CliError::usage(format!("cannot apply `{flag}`")).because(&error)
        })?;
    }
    Ok((text.into(), any_new))
}

/// Opens a body in the user's editor and returns the result. JSON is indented for editing; a body that the
/// user does not change keeps its bytes. The line feed that editors add at the end is removed.
pub(crate) async fn edited(body: Bytes) -> Result<Bytes, CliError> {
    let laid_out = pretty(&body);
    let shown = laid_out.as_ref().map_or(body.clone(), |text| text.clone().into());
    let to_edit = shown.clone();
    let ending = if laid_out.is_some() { ".json" } else { ".txt" };
    let mut edited = aside(move || editor::edited(&to_edit, ending)).await??;
    if edited == shown {
        return Ok(body);
    }
    if edited.ends_with(b"\n") && !body.ends_with(b"\n") {
        edited.pop();
    }
    Ok(edited.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_needs_path_and_value() {
        let Ok(Change::Set(path, value)) = set("data.a=b=c") else { panic!("not a string") };
        assert_eq!((&*path, &*value), ("data.a", "\"b=c\""));
        for bad in ["", "data.a", "=1", "a={"] {
            assert!(set(bad).is_err(), "{bad}");
        }
    }
}
