//! `--demo` and `--sandbox`: a sandbox in this process that delivers to the listener.

use std::io::BufRead;
use std::thread;
use std::time::Duration;

use formsvc_client::Client;
use formsvc_client::types::PublicId;
use formsvc_protocol::RetrySchedule;
use formsvc_server::secrets;
use formsvc_workbench::secrets::SigningSecrets;
use secrecy::{ExposeSecret, SecretString};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{Key, Sandbox, SandboxOptions, Submitter, Wanted};

/// The form of a demo.
const FORM: &str = "contact";
/// Time between two submissions of a demo.
const EVERY: Duration = Duration::from_secs(1);
/// The name of a generated secret.
const SECRET_NAME: &str = "sandbox";

/// The kind of a sandbox.
#[derive(Clone, Copy, Debug)]
pub(super) enum SandboxKind<'a> {
    /// It makes a submission each second.
    Demo {
        /// The form that the listener polls: the sandbox has no endpoint then, like a service that cannot
        /// reach this machine.
        polled: Option<&'a str>,
    },
    /// The user makes the submissions to this form.
    Interactive { form: &'a PublicId },
}

/// A sandbox that delivers to the listener. It ends with the run.
pub(super) struct ListenSandbox {
    sandbox: Sandbox,
    /// The secret, if it was generated.
    generated: Option<SecretString>,
}

impl ListenSandbox {
    /// Starts a sandbox with an endpoint at `url`. It signs with the first secret; without one, with a
    /// generated one that is added to the secrets.
    pub(super) async fn start(
        kind: SandboxKind<'_>,
        url: &str,
        schedule: RetrySchedule,
        secrets: &mut SigningSecrets,
    ) -> Result<Self, CliError> {
        let failed = |error: &dyn std::error::Error| {
            CliError::new(Exit::Failed, "cannot start the sandbox").because(error)
        };
        let mut generated = None;
        if secrets.is_empty() {
            let secret = secrets::generate().map_err(|error| failed(&error))?;
            secrets.add(SECRET_NAME, secret.clone()).map_err(|error| failed(&error))?;
            generated = Some(secret);
        }
        let secret = secrets.texts().into_iter().next();
        let endpoint = |form| Wanted { form, url: url.to_owned(), secret };
        let mut options = SandboxOptions::demo();
        options.delivery.schedule = schedule;
        match kind {
            SandboxKind::Demo { polled } => {
                options.submit_every = Some(EVERY);
                // A form that does not exist is an error of the poll.
                let form = PublicId::new(polled.unwrap_or(FORM)).or_else(|_| PublicId::new(FORM));
                let form = form.map_err(|error| failed(&error))?;
                match polled {
                    Some(_) => options.submit_to = vec![form],
                    None => options.webhooks = vec![endpoint(form)],
                }
            }
            SandboxKind::Interactive { form } => {
                options.webhooks = vec![endpoint(form.clone())];
                options.submit_on_request = true;
            }
        }
        Ok(Self { sandbox: Sandbox::start(options).await?, generated })
    }

    /// Creates a client of the sandbox.
    pub(super) fn client(&self, cx: &Context) -> Result<Client, CliError> {
        let Key::New(key) = &self.sandbox.facts.key else {
            return Err(CliError::new(Exit::Failed, "the sandbox has no new API key"));
        };
        cx.client_at(&self.sandbox.facts.base_url, key)
    }

    /// Prints what the user needs: the page of the form, and a generated secret. The secret protects only
    /// this sandbox, so it may be shown.
    pub(super) fn report(&self, cx: &Context, kind: SandboxKind<'_>) {
        if let SandboxKind::Interactive { form } = kind {
            let base_url = self.sandbox.facts.base_url.trim_end_matches('/');
            cx.progress.remark(&format!("public form: {base_url}/f/{form}"));
        }
        if let Some(secret) = &self.generated {
            cx.progress.remark("your receiver verifies with this secret:");
            let secret = secret.expose_secret();
            cx.progress.remark(&format!("export FORMSVC_SIGNING_SECRET={secret}"));
        }
    }

    /// Makes a submission whenever the user presses Enter. Call it only if standard input is a terminal.
    pub(super) fn submit_on_enter(&self, cx: &Context) {
        let submitter: Submitter = self.sandbox.submitter();
        // Detached, because reading a terminal cannot be cancelled.
        let reader = thread::Builder::new().name("enter".into()).spawn(move || {
            let mut line = String::new();
            while std::io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {
                if !submitter.submit() {
                    return;
                }
                line.clear();
            }
        });
        match reader {
            Ok(_) => cx.progress.remark("press Enter to make a submission"),
            Err(error) => cx.progress.warn(&format!("cannot read the terminal: {error}")),
        }
    }
}
