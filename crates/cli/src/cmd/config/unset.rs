//! `formsvc config unset`

use clap::Args;

use super::{check_no_key_is_left, place, report_precedence};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::config;

/// Remove a saved setting
///
/// A setting of lower precedence, or the default, applies afterwards.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc config unset output\n  formsvc config unset max_rate --profile work"
)]
pub(crate) struct Unset {
    /// The setting, such as `output` or `profiles.work.base_url`
    #[arg(value_name = "KEY")]
    key: String,
}

impl Unset {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let place = place(cx, &self.key)?;
        if place.setting.name == "base_url" {
            check_no_key_is_left(cx, &place, None)?;
        }
        config::edit(&cx.settings.paths, |edit| edit.unset(&place.to_string()))?;
        report_precedence(cx, &place);
        Ok(())
    }
}
