//! `formsvc forms view`

use clap::Args;

use super::{FIELDS, FormRow};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::form_ref;
use crate::settings::repeat_command::CommandLine;

/// Show one form
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo forms view penguins\n  formsvc --demo forms view penguins --output json"
)]
pub(crate) struct View {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
}

impl View {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let form = form_ref::resolve(cx, &self.form).await?;
        if let Some(form) = &form.listed {
            listing.push(&FormRow::new(form, cx.client().await?.base_url()));
            return cx.output.item(&listing);
        }
        let error = if let Some(item) = &form.invalid {
            let what = format!("the form `{}` violates the API", form.id);
            CliError::coded(Code::BadAnswer, what).cause(item.to_string())
        } else {
            let what =
                format!("the form `{}` exists, but the list of forms ends before it", form.id);
            CliError::new(Exit::NotFound, what)
        };
        let list = ["submissions", "list", form.id.as_str()];
        let line = CommandLine::of_other(&cx.settings, &list);
        let hint = line.shown().map(|line| format!("its submissions can be read: {line}"));
        Err(error.hint(hint.unwrap_or_default()))
    }
}
