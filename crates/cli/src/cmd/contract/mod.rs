//! `formsvc contract …`

mod check;
mod list;
mod show;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use formsvc_contract::api::API_CHECKS;
use formsvc_contract::report::CheckInfo;
use formsvc_contract::sender::SENDER_CHECKS;

use crate::context::Context;
use crate::error::CliError;

pub(in crate::cmd) use list::FIELDS as LIST_FIELDS;
pub(in crate::cmd) use show::JSON_FIELDS as CHECK_FIELDS;

/// Check that a service follows its specification
#[derive(Debug, Subcommand)]
pub(crate) enum Contract {
    Check(Box<check::Check>),
    List(list::List),
}

impl Contract {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Check(check) => check.run(cx).await,
            Self::List(list::List {}) => list::run(cx),
        }
    }
}

/// All checks: those of the API, then those of deliveries.
fn checks() -> impl Iterator<Item = &'static CheckInfo> {
    let api = API_CHECKS.iter().map(|check| &check.info);
    api.chain(SENDER_CHECKS.iter().map(|check| &check.info))
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(checks().map(|check| check.id))
}
