//! `formsvc forms list`

use clap::Args;
use formsvc_client::list::Forms;

use super::{FIELDS, FormRow};
use crate::cmd::submissions::{counted, first_causes};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::args::whole;

/// List the forms of the account, newest first
///
/// The service lists at most 200. Forms with invalid data are named on stderr, and the command ends
/// with exit 9.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms list\n  formsvc --demo forms list --status published --limit 3\n  formsvc --demo forms list --output json"
)]
pub(crate) struct List {
    /// Only forms with this status, such as published
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// List N forms at most
    #[arg(short = 'L', long, value_name = "N", value_parser = whole::<u32>(1..=u32::MAX.into()))]
    limit: Option<u32>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let forms = cx.forms().await?;
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let base_url = cx.client().await?.base_url();
        let is_wanted = |status| self.status.as_ref().is_none_or(|wanted| wanted == status);
        for form in forms.iter().filter(|form| is_wanted(form.status.as_str())).take(limit) {
            listing.push(&FormRow::new(form, base_url));
        }
        if listing.is_empty() {
            cx.progress.remark(&match &self.status {
                Some(status) => format!("no forms with the status `{status}`"),
                None if !forms.skipped().is_empty() => "no valid forms".to_owned(),
                None => "no forms".to_owned(),
            });
        }
        cx.output.list(&listing)?;
        check_valid(&forms)
    }
}

/// Returns an error with exit 9 that names the forms of the list that violate the API.
fn check_valid(forms: &Forms) -> Result<(), CliError> {
    let skipped = forms.skipped();
    if skipped.is_empty() {
        return Ok(());
    }
    let count = counted(skipped.len() as u64, "form");
    let verb = if skipped.len() == 1 { "violates" } else { "violate" };
    let what = format!("the list is incomplete: {count} {verb} the API");
    let error = CliError::new(Exit::DataPolicy, what)
        .hint("their submissions can be read by the id of the form");
    Err(first_causes(error, skipped))
}
