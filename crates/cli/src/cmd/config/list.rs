//! `formsvc config list`

use clap::Args;
use serde::Serialize;

use super::effective;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

pub(in crate::cmd) const FIELDS: &[Field] =
    &[Field::new("name"), Field::new("value"), Field::new("origin"), Field::new("at")];

/// List all settings with their effective values, and where each value comes from
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config list\n  formsvc config list --output json\n  formsvc config list --json name,value"
)]
pub(crate) struct List {}

#[derive(Serialize)]
struct SettingRow {
    name: &'static str,
    value: Option<String>,
    origin: &'static str,
    at: String,
}

impl List {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let Self {} = self;
        let mut listing = cx.output.listing(FIELDS)?;
        for row in &cx.settings.resolved.rows {
            listing.push(&SettingRow {
                name: row.setting.name,
                value: effective(cx, row),
                origin: row.origin.kind(),
                at: row.origin.to_string(),
            });
        }
        cx.output.list(listing)
    }
}
