//! `formsvc config …`

mod get;
mod list;
mod path;
mod set;
mod unset;

pub(super) use list::FIELDS as LIST_FIELDS;

use clap::Subcommand;

use crate::args::OutputFormat;
use crate::config::Place;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::{Origin, Row};

/// Show and change settings that last
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    List(list::List),
    Get(get::Get),
    Set(set::Set),
    Unset(unset::Unset),
    Path(path::Path),
}

impl Config {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx),
            Self::Get(get) => get.run(cx),
            Self::Set(set) => set.run(cx),
            Self::Unset(unset) => unset.run(cx),
            Self::Path(path) => path.run(cx),
        }
    }
}

/// Where a command sets a setting: where its name says, else in the profile of `--profile`, else at
/// the top. What belongs to a profile alone goes into the one that is used.
fn place(cx: &Context, key: &str) -> Result<Place, CliError> {
    let settings = &cx.settings;
    let by_flag =
        matches!(settings.resolved.row("profile").map(|row| &row.origin), Some(Origin::Flag(_)));
    let named = by_flag.then_some(&*settings.profile);
    match Place::within(key, named) {
        Err(_) if named.is_none() && Place::within(key, Some(&settings.profile)).is_ok() => {
            let place = Place::within(key, Some(&settings.profile))?;
            cx.progress.remark(&format!("this is `{place}`, of the profile that is used"));
            Ok(place)
        }
        place => place,
    }
}

/// The value that counts; none where nobody set one and there is no default.
fn effective(cx: &Context, row: &Row) -> Option<String> {
    row.value.as_ref().map(crate::config::Value::text).or_else(|| match row.setting.name {
        "output" => Some(match cx.settings.output {
            OutputFormat::Table => "table".to_owned(),
            _ => "tsv".to_owned(),
        }),
        _ => row.setting.default.map(str::to_owned),
    })
}

/// Says so when what was just changed does not count, because something stronger does.
fn hidden(cx: &Context, place: &Place) {
    let Some(row) = cx.settings.resolved.row(place.setting.name) else { return };
    if matches!(row.origin, Origin::Env(_) | Origin::Project(..)) {
        cx.progress.remark(&format!("{} is stronger, and set as well", row.origin));
    }
}
