//! `formsvc contract …`

mod check;
mod show;

use clap::Subcommand;
use formsvc_contract::api::API_CHECKS;
use formsvc_contract::report::CheckInfo;
use formsvc_contract::sender::SENDER_CHECKS;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

pub(in crate::cmd) use show::JSON_FIELDS as CHECK_FIELDS;

/// The fields of `contract list`.
pub(in crate::cmd) const LIST_FIELDS: &[Field] = &[
    Field::new("check"),
    Field::new("section"),
    Field::new("statement"),
    Field::new("flag"),
    Field::new("fix").json_only(),
];

/// Check that a service follows its specification
#[derive(Debug, Subcommand)]
pub(crate) enum Contract {
    Check(Box<check::CheckService>),
    /// List the checks of `contract check`
    ///
    /// Each check tests one statement of the specification. A check that names a flag runs only
    /// with that flag.
    #[command(
        after_help = "Examples:\n  formsvc contract list\n  formsvc contract list --json check,flag"
    )]
    List,
}

impl Contract {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Check(check) => check.run(cx).await,
            Self::List => {
                let mut listing = cx.output.listing(LIST_FIELDS)?;
                checks().for_each(|check| listing.push(check));
                cx.output.list(&listing)
            }
        }
    }
}

/// Returns the checks of the API, then those of deliveries.
fn checks() -> impl Iterator<Item = &'static CheckInfo> {
    let api = API_CHECKS.iter().map(|check| &check.info);
    api.chain(SENDER_CHECKS.iter().map(|check| &check.info))
}
