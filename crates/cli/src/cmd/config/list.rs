//! `formsvc config list`

use clap::Args;
use serde::Serialize;

use super::effective;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::settings::Origin;

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

#[derive(Serialize)]
struct SettingRow {
    name: &'static str,
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl List {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let fields = if self.show_origin { WITH_ORIGIN } else { FIELDS };
        let mut listing = cx.output.listing(fields)?;
        for row in &cx.settings.resolved.rows {
            let origin = self.show_origin.then_some(&row.origin);
            listing.push(&SettingRow {
                name: row.setting.name,
                value: effective(cx, row),
                origin: origin.map(Origin::kind),
                at: origin.map(ToString::to_string),
            });
        }
        cx.output.list(listing)
    }
}
