//! `--set`, `--unset` and `--edit`: changes of a body.

use std::convert::Infallible;

use bytes::Bytes;
use clap::Args;
use formsvc_workbench::edit::{self, Change};

use crate::account::key::aside;
use crate::error::CliError;
use crate::output::editor;
use crate::output::pretty::pretty;

/// Flags that change a body.
#[derive(Debug, Args)]
pub(in crate::cmd) struct ChangeArgs {
    /// Set one value: data.Name=Ada, data.Guests=3. The value is JSON, or else text; repeatable
    #[arg(long, value_name = "PATH=VALUE", value_parser = Change::parse_set, help_heading = "Payload")]
    set: Vec<Change>,
    /// Remove one value; repeatable
    #[arg(long, value_name = "PATH", value_parser = unset, help_heading = "Payload")]
    unset: Vec<Change>,
    /// Edit the body in $VISUAL or $EDITOR before it is sent
    #[arg(long, help_heading = "Payload")]
    pub(in crate::cmd) edit: bool,
}

impl ChangeArgs {
    /// Returns the changes of `--unset` and `--set`, in the order in which they are applied.
    pub(in crate::cmd) fn changes(&self) -> Vec<Change> {
        self.unset.iter().chain(&self.set).cloned().collect()
    }

    /// Returns the changed body; `None` without a flag.
    pub(in crate::cmd) async fn apply(&self, body: &Bytes) -> Result<Option<Bytes>, CliError> {
        let changes = self.changes();
        if changes.is_empty() && !self.edit {
            return Ok(None);
        }
        let body = edit::apply(body, &changes)?;
        Ok(Some(if self.edit { edit_in_editor(body).await? } else { body }))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a parser of a flag returns a result")]
fn unset(text: &str) -> Result<Change, Infallible> {
    Ok(Change::Unset { path: text.to_owned() })
}

/// Opens a body in the user's editor and returns the result. JSON is indented for editing; a body that the
/// user does not change keeps its bytes. The line feed that editors add at the end is removed.
pub(in crate::cmd) async fn edit_in_editor(body: Bytes) -> Result<Bytes, CliError> {
    let indented = pretty(&body);
    let shown = indented.as_ref().map_or(body.clone(), |text| text.clone().into());
    let to_edit = shown.clone();
    let ending = if indented.is_some() { ".json" } else { ".txt" };
    let mut edited = aside(move || editor::edited(&to_edit, ending)).await??;
    if edited == shown {
        return Ok(body);
    }
    if edited.ends_with(b"\n") && !body.ends_with(b"\n") {
        edited.pop();
    }
    Ok(edited.into())
}
