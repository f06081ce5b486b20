//! `formsvc auth status`

use std::time::{Duration, Instant};

use clap::Args;
use formsvc_client::{Client, User};
use serde::Serialize;

use super::profile::Profile;
use crate::account::key::{self, Key};
use crate::base::masked::masked;
use crate::context::{Context, no_base_url};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Field;
use crate::settings::KeySource;
use crate::settings::base_url;
use crate::settings::config::File;
use crate::settings::{Origin, Service};

pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("profile"),
    Field::status("state"),
    Field::address("base_url"),
    Field::new("source"),
    Field::new("key"),
    Field::new("email"),
    Field::new("name"),
    Field::new("latency_ms"),
];

/// Show the API key in use, its source, and whether the service accepts it
///
/// Asks the service, and exits with 4 if it refuses the key or there is none, with 6 if it cannot be
/// reached, with 2 if nobody says where it is. Of the key only the beginning shows.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth status\n  formsvc auth status --all --output json\n  formsvc --demo auth status"
)]
pub(crate) struct Status {
    /// All profiles, each with the key that is kept for it
    #[arg(long)]
    all: bool,
    /// Ask the service nothing
    #[arg(long)]
    offline: bool,
}

/// What is known of a profile's key.
#[derive(Serialize)]
struct Row {
    profile: Option<String>,
    state: State,
    base_url: Option<String>,
    source: Option<String>,
    key: Option<String>,
    email: Option<String>,
    name: Option<String>,
    latency_ms: Option<f64>,
}

/// Whether a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// The service takes it.
    Ok,
    /// Nobody asked.
    Unchecked,
    /// The service does not take it.
    Refused,
    /// The service was not there.
    Unreachable,
    /// The service did something else.
    Failed,
    /// There is no key, or it could not be read.
    Missing,
}

impl Status {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        if let Service::Demo = cx.settings.service {
            let mut row = Row::new(None, None);
            let error = row.ask(cx.client().await?).await;
            listing.push(&row);
            return cx.output.item(&listing).and(error.map_or(Ok(()), Err));
        }
        if !self.all {
            let (row, error) = self.of_this_run(cx).await?;
            listing.push(&row);
            return cx.output.item(&listing).and(error.map_or(Ok(()), Err));
        }
        if let Some(flag) = flag_of_one_service(cx) {
            return Err(CliError::usage(format!("`--all` and `{flag}` cannot be used together")));
        }
        let profiles = Profile::all(&File::load(&cx.settings.paths)?)?;
        let mut errors = Vec::new();
        for profile in &profiles {
            let (row, error) = self.of_profile(cx, profile).await;
            errors.extend(error);
            listing.push(&row);
        }
        if profiles.is_empty() {
            cx.progress.remark("no profiles: `formsvc auth login` makes one");
        }
        for name in key::stronger_variables() {
            cx.progress.warn(&format!("`{name}` is set and takes precedence over all of these"));
        }
        cx.output.list(listing).and(failures(&errors, profiles.len()))
    }

    /// The key that commands use as this one was called.
    async fn of_this_run(&self, cx: &Context) -> Result<(Row, Option<CliError>), CliError> {
        let Service::At { base_url, key } = &cx.settings.service else { return Err(no_base_url()) };
        let base_url = base_url.clone().ok_or_else(no_base_url)?;
        base_url::read(&base_url)?;
        if !self.offline {
            cx.check_network(&base_url)?;
        }
        if key.is_some() && cx.settings.kept.has_key() {
            super::warn_of_stronger(cx);
        }
        let mut row = Row::new(Some(cx.settings.profile.clone()), Some(base_url.clone()));
        let given = key.as_ref();
        let found = key::find(&cx.settings, given, &base_url, &cx.progress).await;
        let error = self.fill(cx, &mut row, &base_url, found).await;
        if let (Some(given), Some(source)) = (given, &mut row.source) {
            *source = match given {
                KeySource::File { .. } => format!("{} {source}", given.named_by()),
                KeySource::Stdin | KeySource::Env(_) => given.named_by().to_owned(),
            };
        }
        Ok((row, error))
    }

    /// The key that is kept for a profile.
    async fn of_profile(&self, cx: &Context, profile: &Profile) -> (Row, Option<CliError>) {
        let mut row = Row::new(Some(profile.name.clone()), profile.base_url.clone());
        let Some(base_url) = &profile.base_url else { return (row, Some(no_base_url())) };
        let (settings, kept) = (&cx.settings, profile.settings());
        let found = key::stored(settings, &profile.name, &kept, base_url, &cx.progress).await;
        let error = self.fill(cx, &mut row, base_url, found).await;
        (row, error)
    }

    async fn fill(
        &self,
        cx: &Context,
        row: &mut Row,
        base_url: &str,
        found: Result<Result<Key, key::Missing>, CliError>,
    ) -> Option<CliError> {
        let Key { key, place } = match found {
            Ok(Ok(found)) => found,
            Ok(Err(missing)) => return Some(missing.into()),
            Err(error) => return Some(error),
        };
        row.source = Some(place.to_string());
        row.key = Some(masked(&key));
        row.state = State::Unchecked;
        if self.offline {
            return None;
        }
        match cx.client_at(base_url, &key) {
            Ok(client) => row.ask(&client).await,
            Err(error) => Some(error),
        }
    }
}

impl Row {
    fn new(profile: Option<String>, base_url: Option<String>) -> Self {
        Self {
            profile,
            state: State::Missing,
            base_url,
            source: None,
            key: None,
            email: None,
            name: None,
            latency_ms: None,
        }
    }

    /// Asks the service whose key it is.
    async fn ask(&mut self, client: &Client) -> Option<CliError> {
        let asked = Instant::now();
        match client.me().await {
            Ok(answer) => {
                let User { email, name, .. } = answer.into_inner();
                self.state = State::Ok;
                (self.email, self.name) = (Some(email), Some(name));
                self.latency_ms = Some(millis(asked.elapsed()));
                None
            }
            Err(error) => {
                let error = CliError::from(error);
                self.state = State::of(&error);
                Some(error)
            }
        }
    }
}

impl State {
    /// What became of a request that failed.
    fn of(error: &CliError) -> Self {
        match error.exit {
            Exit::Auth => Self::Refused,
            Exit::Network => Self::Unreachable,
            _ => Self::Failed,
        }
    }
}

/// A flag that names one service or key, where all are meant.
fn flag_of_one_service(cx: &Context) -> Option<&'static str> {
    let Service::At { key, .. } = &cx.settings.service else { return None };
    let given = key.as_ref().filter(|key| key.is_a_flag()).map(KeySource::named_by);
    let flag = |name: &str| match cx.settings.resolved.row(name)?.origin {
        Origin::Flag(flag) => Some(flag),
        _ => None,
    };
    given.or_else(|| flag("base_url"))
}

/// A tenth of a millisecond is as much as one request can tell.
fn millis(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 10_000.0).round() / 10.0
}

/// How a run ends that looked at several: as the worst of them, a key that does not work before a
/// service that is away.
fn failures(errors: &[CliError], of: usize) -> Result<(), CliError> {
    let with = |exit| errors.iter().map(|error| error.exit).find(|found| *found == exit);
    let worst = with(Exit::Auth).or_else(|| with(Exit::Network));
    let Some(exit) = worst.or_else(|| Some(errors.first()?.exit)) else { return Ok(()) };
    let (some, s) = (errors.len(), if of == 1 { "" } else { "s" });
    Err(CliError::new(exit, format!("{some} of {of} profile{s} cannot be used"))
        .hint("`formsvc auth status --profile NAME` says more of one"))
}
