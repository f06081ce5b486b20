//! `formsvc me`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

pub(in crate::cmd) const FIELDS: &[Field] =
    &[Field::id("id"), Field::new("email"), Field::new("name")];

/// Show the account of the API key
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc --demo me\n  formsvc --demo me --output json")]
pub(crate) struct Me {}

impl Me {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        listing.push(&cx.client().await?.me().await?.into_inner());
        cx.output.item(&listing)
    }
}
