//! `formsvc config …`

mod get;
mod list;
mod path;
mod set;
mod unset;

pub(super) use list::FIELDS as LIST_FIELDS;

use clap::Subcommand;

use crate::account::credentials::{Account, Stores};
use crate::context::Context;
use crate::error::CliError;
use crate::output::OutputFormat;
use crate::settings::base_url::without_password;
use crate::settings::config::{ConfigFile, SettingLocation};
use crate::settings::{OnBadSetting, Origin, Row, Store};

/// Show and change the saved settings
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    #[command(alias = "ls")]
    List(list::List),
    Get(get::Get),
    Set(set::Set),
    Unset(unset::Unset),
    Path(path::Path),
}

impl Config {
    /// What it makes of a configuration that is wrong: it is there to mend it.
    pub(crate) fn care(&self) -> OnBadSetting {
        match self {
            Self::Set(_) | Self::Unset(_) => OnBadSetting::Ignore,
            _ => OnBadSetting::Warn,
        }
    }

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
fn place(cx: &Context, key: &str) -> Result<SettingLocation, CliError> {
    let settings = &cx.settings;
    let by_flag =
        matches!(settings.resolved.row("profile").map(|row| &row.origin), Some(Origin::Flag(_)));
    let named = by_flag.then_some(&*settings.profile);
    match SettingLocation::within(key, named) {
        Err(_)
            if named.is_none() && SettingLocation::within(key, Some(&settings.profile)).is_ok() =>
        {
            let place = SettingLocation::within(key, Some(&settings.profile))?;
            cx.progress.remark(&format!("this is `{place}`, of the profile that is used"));
            Ok(place)
        }
        place => place,
    }
}

/// The value that counts; none where nobody set one and there is no default.
fn effective(cx: &Context, row: &Row) -> Option<String> {
    let text = row.value.as_ref().map(crate::settings::config::Value::text);
    if row.setting.name == "base_url" {
        return text.as_deref().map(without_password);
    }
    text.or_else(|| match row.setting.name {
        "output" => Some(match cx.settings.output_format() {
            OutputFormat::Table => "table".to_owned(),
            _ => "tsv".to_owned(),
        }),
        _ => row.setting.default.map(str::to_owned),
    })
}

/// Refuses to take the address from a key that is kept for it: nothing would use the key any more, and
/// nobody would look for it. The same place in another spelling is no other address.
fn no_key_is_left(
    cx: &Context,
    file: &ConfigFile,
    place: &SettingLocation,
    new: Option<&str>,
) -> Result<(), CliError> {
    let Some(name) = &place.profile else { return Ok(()) };
    let Some(old) = file.get(&place.to_string())? else { return Ok(()) };
    // An address that cannot be read has no key.
    let Ok(old) = Account::new(name, &old) else { return Ok(()) };
    let same = |new| Account::new(name, new).is_ok_and(|new| new.origin() == old.origin());
    if new.is_some_and(same) {
        return Ok(());
    }
    let store = file.get(&format!("profiles.{name}.store"))?;
    let recorded = store.as_deref() == Some(Store::Keyring.name());
    let stores = Stores::of(&cx.settings);
    if !recorded && !stores.find_in_file(&old).is_ok_and(|key| key.is_some()) {
        return Ok(());
    }
    let kept = format!("a key is kept for the profile `{name}` at {}", old.origin());
    Err(CliError::usage(kept).hint(format!(
        "`formsvc auth login --overwrite --profile {name} --base-url URL` gives it another service; \
         `formsvc auth logout --profile {name}` forgets the key"
    )))
}

/// Says so when what was just changed does not count, because something stronger does.
fn hidden(cx: &Context, place: &SettingLocation) {
    let Some(row) = cx.settings.resolved.row(place.setting.name) else { return };
    if matches!(row.origin, Origin::Env(_) | Origin::Project(..)) {
        cx.progress.remark(&format!("{} is stronger, and set as well", row.origin));
    }
}
