//! A service to listen to where there is none: `--demo`.

use std::time::Duration;

use formsvc_client::Client;
use formsvc_client::types::PublicId;
use formsvc_protocol::RetrySchedule;
use formsvc_server::secrets;
use secrecy::{ExposeSecret, SecretString};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{Key, Sandbox, SandboxOptions, Wanted};
use crate::webhook::secrets::Secrets;

/// The form that somebody submits to.
const FORM: &str = "contact";
/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// What its secret is called, in lines and data.
const NAME: &str = "demo";

/// A service of this run alone, gone when this is.
pub(super) struct Demo(Sandbox);

impl Demo {
    /// Starts one that delivers to an address, on this schedule. Where its form is polled it delivers
    /// nothing, like a service that cannot reach this machine. What it signs with is one more secret, the
    /// first; what is polled is signed here, with any.
    pub(super) async fn start(
        url: &str,
        schedule: RetrySchedule,
        polled: Option<&str>,
        secrets: &mut Secrets,
    ) -> Result<Self, CliError> {
        let no_secret = "the sandbox's endpoint has no secret";
        let form = PublicId::new(polled.unwrap_or(FORM)).or_else(|_| PublicId::new(FORM));
        let form = form.map_err(|error| {
            CliError::new(Exit::Failed, "the sandbox's form has no name").because(&error)
        })?;
        let mut options = SandboxOptions::demo();
        options.submit_every = Some(EVERY);
        options.delivery.schedule = schedule;
        if polled.is_some() {
            options.submit_to = vec![form];
        } else {
            options.webhooks = vec![Wanted { form, url: url.to_owned() }];
        }
        let sandbox = Sandbox::start(options).await?;
        let secret = if polled.is_none() {
            let mut webhooks = sandbox.facts.webhooks.iter();
            let secret = webhooks.find_map(|webhook| webhook.secret.clone());
            Some(secret.ok_or_else(|| CliError::new(Exit::Failed, no_secret))?)
        } else if secrets.is_empty() {
            Some(
                secrets::generate()
                    .map_err(|error| CliError::new(Exit::Failed, no_secret).because(&error))?,
            )
        } else {
            None
        };
        if let Some(secret) = secret {
            secrets.0.insert(0, (NAME.into(), secret));
        }
        Ok(Self(sandbox))
    }

    /// A client of it.
    pub(super) fn client(&self, cx: &Context) -> Result<Client, CliError> {
        let Key::New(key) = &self.0.facts.key else {
            return Err(CliError::new(Exit::Failed, "a sandbox in memory had a key already"));
        };
        cx.client_at(&self.0.facts.base_url, key)
    }
}

/// Says what verifies the deliveries of a demo where they are passed on. It opens nothing but what this
/// demo sends, so it may be shown.
pub(super) fn tell(cx: &Context, secrets: &Secrets, is_passed_on: bool) {
    let Some((_, secret)) = secrets.0.first().filter(|(name, _)| &**name == NAME) else { return };
    if secrets.0.len() > 1 {
        cx.progress.remark("the demo signs with a secret of its own, not with the one given");
    }
    if is_passed_on {
        cx.progress.remark("what a target verifies the deliveries of this demo with:");
        told(cx, secret);
    }
}

fn told(cx: &Context, secret: &SecretString) {
    cx.progress.remark(&format!("export FORMSVC_SIGNING_SECRET={}", secret.expose_secret()));
}
