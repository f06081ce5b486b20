//! `formsvc forms list`

use clap::Args;

use super::FIELDS;
use crate::context::Context;
use crate::error::CliError;

/// List the forms this key can read, newest first
///
/// The service lists at most 200.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms list\n  formsvc --demo forms list --output json"
)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let forms = cx.forms().await?;
        if forms.is_empty() {
            cx.progress.remark("no forms");
        }
        for form in &forms {
            listing.push(form);
        }
        cx.output.list(&listing)
    }
}
