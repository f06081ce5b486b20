//! `formsvc forms list`

use std::collections::BTreeSet;

use clap::Args;
use formsvc_client::Form;
use formsvc_client::list::Forms;

use super::{FIELDS, Shown};
use crate::base::suggest::did_you_mean;
use crate::cmd::submissions::counted;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::args::whole;

/// List the forms of the account, newest first
///
/// The service lists at most 200. Forms that violate the API are named on stderr, and the command ends
/// with exit 9.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms list\n  formsvc --demo forms list --status published --limit 3\n  formsvc --demo forms list --output json"
)]
pub(crate) struct List {
    /// Only those of this status, such as published
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// How many at most
    #[arg(short = 'L', long, value_name = "N", value_parser = whole::<u32>(1..=u32::MAX.into()))]
    limit: Option<u32>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let forms = cx.forms().await?;
        let wanted =
            |form: &&Form| self.status.as_ref().is_none_or(|status| form.status.as_str() == status);
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let base_url = cx.client().await?.base_url();
        let mut shown = 0;
        for form in forms.iter().filter(wanted).take(limit) {
            listing.push(&Shown::new(form, base_url));
            shown += 1;
        }
        if shown == 0 {
            self.check_status(&forms)?;
            cx.progress.remark(&self.none(&forms));
        }
        cx.output.list(listing)?;
        check_valid(&forms)
    }

    /// A status that no form has, and that looks like one which some have, is a slip.
    fn check_status(&self, forms: &[Form]) -> Result<(), CliError> {
        let Some(status) = &self.status else { return Ok(()) };
        match did_you_mean(status, forms.iter().map(|form| form.status.as_str())) {
            Some(near) => {
                Err(CliError::usage(format!("no form has the status `{status}`")).hint(near))
            }
            None => Ok(()),
        }
    }

    /// That there are none; of the status that was asked for, although there are others.
    fn none(&self, forms: &[Form]) -> String {
        let Some(status) = self.status.as_ref().filter(|_| !forms.is_empty()) else {
            return "no forms".to_owned();
        };
        let there: BTreeSet<&str> = forms.iter().map(|form| form.status.as_str()).collect();
        let there: Vec<&str> = there.into_iter().collect();
        format!("no forms of the status `{status}`; there are {}", there.join(", "))
    }
}

/// Names the forms of the list that violate the API, with exit 9.
fn check_valid(forms: &Forms) -> Result<(), CliError> {
    const SHOWN_MAX: usize = 20;
    let skipped = forms.skipped();
    if skipped.is_empty() {
        return Ok(());
    }
    let count = counted(skipped.len() as u64, "form");
    let verb = if skipped.len() == 1 { "violates" } else { "violate" };
    let what = format!("the list is incomplete: {count} {verb} the API");
    let error = CliError::new(Exit::DataPolicy, what)
        .hint("their submissions can be read by the id of the form");
    let error =
        skipped.iter().take(SHOWN_MAX).fold(error, |error, item| error.cause(item.to_string()));
    Err(match skipped.len().saturating_sub(SHOWN_MAX) {
        0 => error,
        more => error.cause(format!("and {more} more")),
    })
}
