//! `formsvc contract list`

use clap::Args;
use serde::Serialize;

use super::checks;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("check"),
    Field::new("section"),
    Field::new("statement"),
    Field::new("flag"),
    Field::new("fix").json_only(),
];

/// List the checks of `contract check`
///
/// Each check tests one statement of the specification. A check with a flag runs only with it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc contract list\n  formsvc contract list --json check,flag"
)]
pub(crate) struct List {}

#[derive(Serialize)]
struct Row {
    check: &'static str,
    section: String,
    statement: &'static str,
    flag: Option<&'static str>,
    fix: &'static str,
}

pub(super) fn run(cx: &Context) -> Result<(), CliError> {
    let mut listing = cx.output.listing(FIELDS)?;
    for check in checks() {
        listing.push(&Row {
            check: check.id,
            section: format!("SPEC §{}", check.section),
            statement: check.statement,
            flag: check.flag,
            fix: check.fix,
        });
    }
    cx.output.list(listing)
}
