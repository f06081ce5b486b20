//! `formsvc config …`

mod get;
mod list;
mod set;
mod unset;

pub(super) use list::FIELDS as LIST_FIELDS;

use clap::Subcommand;

use crate::account::credentials::{Account, Stores};
use crate::context::Context;
use crate::error::CliError;
use crate::output::OutputFormat;
use crate::settings::base_url::without_password;
use crate::settings::config::{self, SettingLocation, Value};
use crate::settings::{OnBadSetting, Origin, Profile, Row};

/// Show and change the saved settings
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    #[command(alias = "ls")]
    List(list::List),
    Get(get::Get),
    Set(set::Set),
    Unset(unset::Unset),
}

impl Config {
    /// Returns how the command treats an invalid configuration, which it can fix.
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
        }
    }
}

/// Returns the location of a setting to change: the one in its name, else in the profile of `--profile`, else
/// at the top of the file. A setting that only profiles have is changed in the profile that is used.
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

/// Returns the effective value. `None` if no source sets the setting and it has no default.
fn effective(cx: &Context, row: &Row) -> Option<String> {
    let text = row.value.as_ref().map(Value::text);
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

/// Fails if a base URL is changed while a key is stored for the old one: no command would find that key again.
fn check_no_key_is_left(
    cx: &Context,
    place: &SettingLocation,
    new: Option<&str>,
) -> Result<(), CliError> {
    let Some(name) = &place.profile else { return Ok(()) };
    let profile = Profile::read(&config::load(&cx.settings.paths)?, name);
    // An invalid base URL has no key.
    let Ok(Some(old)) = Account::of_profile(&profile) else { return Ok(()) };
    let is_same = |new| Account::new(name, new).is_ok_and(|new| new.origin() == old.origin());
    let has_no_key =
        profile.store.is_none() || matches!(Stores::of(&cx.settings).find(&old), Ok(None));
    if new.is_some_and(is_same) || has_no_key {
        return Ok(());
    }
    let stored = format!("a key is stored for the profile `{name}` at {}", old.origin());
    Err(CliError::usage(stored).hint(format!(
        "`formsvc auth login --overwrite --profile {name} --base-url URL` changes its service; \
         `formsvc auth logout --profile {name}` deletes the key"
    )))
}

/// Reports that a variable or project file takes precedence over the changed setting.
fn report_precedence(cx: &Context, place: &SettingLocation) {
    let Some(row) = cx.settings.resolved.row(place.setting.name) else { return };
    if matches!(row.origin, Origin::Env(_) | Origin::Project(..)) {
        cx.progress.remark(&format!("{} takes precedence over this setting", row.origin));
    }
}
