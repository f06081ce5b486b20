//! A service to listen to where there is none: `--demo`.

use std::sync::Arc;
use std::time::Duration;

use formsvc_client::{PublicId, SecretString};
use formsvc_protocol::RetrySchedule;

use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{Sandbox, SandboxOptions, Wanted};

/// The form that somebody submits to.
const FORM: &str = "contact";
/// How often.
const EVERY: Duration = Duration::from_secs(1);

/// Starts a sandbox that delivers to an address, on this schedule; and the secret it signs with.
pub(super) async fn start(
    url: &str,
    schedule: RetrySchedule,
) -> Result<(Sandbox, (Arc<str>, SecretString)), CliError> {
    let form = PublicId::new(FORM).map_err(|error| {
        CliError::new(Exit::Failed, "the sandbox's form has no name").because(&error)
    })?;
    let mut options = SandboxOptions::demo();
    options.webhooks = vec![Wanted { form, url: url.to_owned() }];
    options.submit_every = Some(EVERY);
    options.delivery.schedule = schedule;
    let sandbox = Sandbox::start(options).await?;
    let secret = sandbox.facts.webhooks.iter().find_map(|webhook| webhook.secret.clone());
    let secret = secret
        .ok_or_else(|| CliError::new(Exit::Failed, "the sandbox's endpoint has no secret"))?;
    Ok((sandbox, ("demo".into(), secret)))
}
