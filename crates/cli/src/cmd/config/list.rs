//! `formsvc config list`

use clap::Args;
use serde_json::json;

use super::effective;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

pub(in crate::cmd) const FIELDS: &[Field] = &[Field::new("name"), Field::new("value")];
const WITH_ORIGIN: &[Field] =
    &[Field::new("name"), Field::new("value"), Field::new("origin"), Field::new("at")];

/// List all settings with their effective values
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config list\n  formsvc config list --show-origin\n  formsvc config list --show-origin --output json"
)]
pub(crate) struct List {
    /// Also show where each value comes from
    #[arg(long)]
    show_origin: bool,
}

impl List {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let fields = if self.show_origin { WITH_ORIGIN } else { FIELDS };
        let mut listing = cx.output.listing(fields)?;
        for row in &cx.settings.resolved.rows {
            let mut shown = json!({ "name": row.setting.name, "value": effective(cx, row) });
            if self.show_origin {
                shown["origin"] = row.origin.kind().into();
                shown["at"] = row.origin.to_string().into();
            }
            listing.push(&shown);
        }
        cx.output.list(listing)
    }
}
