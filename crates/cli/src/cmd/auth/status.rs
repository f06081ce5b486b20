//! `formsvc auth status`

use std::time::Instant;

use clap::Args;
use formsvc_client::{Client, User};
use serde::Serialize;

use crate::account::key;
use crate::base::masked::masked;
use crate::context::{Context, no_base_url};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Field;
use crate::settings::{KeySource, Service};

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
/// Exit codes: 2 no base URL, 4 no valid key, 6 not reachable. Only the first characters of the key are shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc auth status\n  formsvc auth status --profile work --output json\n  formsvc --demo auth status"
)]
pub(crate) struct Status {
    /// Send no request
    #[arg(long)]
    offline: bool,
}

/// The state of a key, in the order of [`FIELDS`].
#[derive(Default, Serialize)]
struct Row {
    profile: Option<String>,
    /// `ok`, `unchecked`, `refused`, `unreachable`, `failed` or `missing`.
    state: &'static str,
    base_url: Option<String>,
    source: Option<String>,
    key: Option<String>,
    email: Option<String>,
    name: Option<String>,
    latency_ms: Option<f64>,
}

impl Status {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let mut row = Row { state: "missing", ..Row::default() };
        let result = self.fill(cx, &mut row).await;
        if row.base_url.is_none() && matches!(cx.settings.service, Service::At { .. }) {
            return result;
        }
        listing.push(&row);
        cx.output.item(&listing).and(result)
    }

    async fn fill(&self, cx: &Context, row: &mut Row) -> Result<(), CliError> {
        let Service::At { base_url, key: given } = &cx.settings.service else {
            return row.check(cx.client().await?).await;
        };
        let base_url = base_url.as_ref().ok_or_else(no_base_url)?;
        cx.settings.base_url(base_url)?;
        if !self.offline {
            cx.check_network(base_url)?;
        }
        if given.is_some() && cx.settings.saved_profile.has_key() {
            super::warn_of_stronger(cx);
        }
        (row.profile, row.base_url) = (Some(cx.settings.profile.clone()), Some(base_url.clone()));
        let found = key::find(&cx.settings, given.as_ref(), base_url, &cx.progress).await??;
        row.key = Some(masked(&found.key));
        row.state = "unchecked";
        row.source = Some(match given {
            Some(file @ KeySource::File { .. }) => format!("{} {}", file.named_by(), found.origin),
            Some(given) => given.named_by().to_owned(),
            None => found.origin.to_string(),
        });
        if self.offline {
            return Ok(());
        }
        row.check(&cx.client_at(base_url, &found.key)?).await
    }
}

impl Row {
    /// Requests the account of the key.
    async fn check(&mut self, client: &Client) -> Result<(), CliError> {
        let start = Instant::now();
        let user = client.me().await.map_err(|error| {
            let error = CliError::from(error);
            self.state = match error.exit {
                Exit::Auth => "refused",
                Exit::Network => "unreachable",
                _ => "failed",
            };
            error
        })?;
        let User { email, name, .. } = user.into_inner();
        self.state = "ok";
        (self.email, self.name) = (Some(email), Some(name));
        let millis = start.elapsed().as_secs_f64() * 1_000.0;
        self.latency_ms = Some((millis * 10.0).round() / 10.0);
        Ok(())
    }
}
