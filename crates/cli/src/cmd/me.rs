//! `formsvc me`

use clap::Args;

use crate::context::{Context, to_json};
use crate::error::CliError;
use crate::output::{Listing, text};

/// Show whose API key this is
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc --demo me\n  formsvc --demo me --output json")]
pub(crate) struct Me {}

impl Me {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let user = cx.client().await?.me().await?.into_inner();
        cx.output.item(&Listing {
            columns: ["id", "email", "name"].map(str::to_owned).to_vec(),
            json: vec![to_json(&user)],
            last_in_tables: 0,
            rows: vec![vec![text(user.id.to_string()), text(user.email), text(user.name)]],
        })
    }
}
