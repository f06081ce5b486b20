//! `--demo` and `--sandbox`: a sandbox in this process that delivers to the listener.

use std::io::BufRead;
use std::thread;
use std::time::Duration;

use clap::Args;
use formsvc_client::Client;
use formsvc_client::types::PublicId;
use formsvc_server::{admin, secrets};
use formsvc_workbench::secrets::SigningSecrets;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc::error::TrySendError;

use crate::cmd::webhook::is_demo;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{RequestedWebhook, Sandbox, SandboxOptions};
use crate::settings::args::duration;

/// The form of a demo.
const FORM: &str = "contact";
/// Time between two submissions of a demo.
const EVERY: Duration = Duration::from_secs(1);
/// The name of a generated secret.
const SECRET_NAME: &str = "sandbox";

#[derive(Debug, Args)]
pub(super) struct SandboxArgs {
    /// Start a sandbox, a local copy of the service, that delivers submissions of FORM, such as contact
    ///
    /// Prints the address of the form. On a terminal, Enter makes a submission. Without a secret in a flag or
    /// variable, generates one and prints an `export` command that passes it to your receiver. Stored secrets are not
    /// used.
    #[arg(long, value_name = "FORM", conflicts_with_all = ["poll", "demo"], value_parser = form, help_heading = "Sandbox")]
    sandbox: Option<PublicId>,
    /// Make a submission every DURATION, for use in scripts
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "sandbox", help_heading = "Sandbox")]
    submit_every: Option<Duration>,
}

/// A sandbox that delivers to the listener. It ends with the run.
pub(super) struct ListenSandbox {
    sandbox: Sandbox,
    /// The form to which the user makes submissions. A demo makes a submission each second.
    form: Option<PublicId>,
    /// The secret, if it was generated.
    generated: Option<SecretString>,
}

fn form(text: &str) -> Result<PublicId, String> {
    admin::parse_id(text).map_err(|rule| format!("a public id {rule}"))
}

fn failed(error: &dyn std::error::Error) -> CliError {
    CliError::new(Exit::Failed, "cannot start the sandbox").because(error)
}

impl SandboxArgs {
    /// Returns true if a sandbox sends the deliveries.
    pub(super) fn is_used(&self, cx: &Context) -> bool {
        self.sandbox.is_some() || is_demo(cx)
    }

    /// Starts the sandbox of `--demo` or `--sandbox`, with an endpoint at `url` unless the listener polls. It
    /// signs with the first secret. Returns the secrets, with a generated one if there was none.
    pub(super) async fn start(
        &self,
        cx: &Context,
        url: &str,
        polled: Option<&str>,
        retry_base: Option<Duration>,
        mut secrets: SigningSecrets,
    ) -> Result<(SigningSecrets, Option<ListenSandbox>), CliError> {
        if !self.is_used(cx) {
            return Ok((secrets, None));
        }
        let mut generated = None;
        if secrets.is_empty() {
            let secret = secrets::generate().map_err(|error| failed(&error))?;
            secrets.add(SECRET_NAME, secret.clone()).map_err(|error| failed(&error))?;
            generated = Some(secret);
        }
        let submit_every = self.submit_every;
        let mut options = SandboxOptions { retry_base, submit_every, ..SandboxOptions::default() };
        let form = if let Some(form) = &self.sandbox {
            form.clone()
        } else {
            options.submit_every = Some(EVERY);
            // A form that does not exist is an error of the poll.
            let form = PublicId::new(polled.unwrap_or(FORM)).or_else(|_| PublicId::new(FORM));
            form.map_err(|error| failed(&error))?
        };
        if polled.is_some() {
            options.submit_to = Some(form);
        } else {
            let secret = secrets.texts().into_iter().next();
            options.webhook = vec![RequestedWebhook { form, url: url.to_owned(), secret }];
        }
        let sandbox = Sandbox::start(0, options).await?;
        let form = self.sandbox.clone();
        Ok((secrets, Some(ListenSandbox { sandbox, form, generated })))
    }
}

impl ListenSandbox {
    /// Creates a client of the sandbox.
    pub(super) fn client(&self, cx: &Context) -> Result<Client, CliError> {
        cx.client_at(&self.sandbox.info.base_url, &self.sandbox.info.api_key)
    }

    /// Prints the page of the form, and a generated secret. The secret protects only this sandbox, so it may be
    /// shown. If `may_read_stdin`, Enter makes a submission.
    pub(super) fn report(&self, cx: &Context, may_read_stdin: bool) {
        if let Some(form) = &self.form {
            let base_url = self.sandbox.info.base_url.trim_end_matches('/');
            cx.progress.remark(&format!("public form: {base_url}/f/{form}"));
        }
        if let Some(secret) = &self.generated {
            cx.progress.remark("your receiver verifies with this secret:");
            let secret = secret.expose_secret();
            cx.progress.remark(&format!("export FORMSVC_SIGNING_SECRET={secret}"));
        }
        if self.form.is_some() && may_read_stdin {
            self.submit_on_enter();
            cx.progress.remark("press Enter to make a submission");
        }
    }

    /// Makes a submission whenever the user presses Enter. The thread is detached, because reading a terminal
    /// cannot be cancelled.
    fn submit_on_enter(&self) {
        let submissions = self.sandbox.submissions.clone();
        thread::spawn(move || {
            let mut line = String::new();
            while std::io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {
                if let Err(TrySendError::Closed(())) = submissions.try_send(()) {
                    return;
                }
                line.clear();
            }
        });
    }
}
