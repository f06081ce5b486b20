//! `formsvc sandbox`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formsvc_client::{ExposeSecret, PublicId};
use formsvc_server::faults::{CONTROL, FAULTS, FaultError, FaultSetting};
use formsvc_server::ready_file;
use serde::Serialize;

use crate::args::{Rate, duration, rate};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::sandbox::{self, SandboxOptions, Wanted, Webhook};

/// Run a service on this machine to try things against, with real data
///
/// It listens on loopback only and runs until it is interrupted. Its forms: the RAND health
/// insurance experiment (randhie), election interviews (anes96), penguins, text that breaks
/// software (naughty), and one to fill in (contact, at /f/contact).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc sandbox --port 0 --ready-file sandbox.json\n  formsvc sandbox --generate big=100000 --rate-limit off\n  formsvc sandbox --fault errors=20% --fault latency=300ms\n  formsvc sandbox --webhook contact=http://localhost:9000/ --submit-every 2s"
)]
pub(crate) struct Sandbox {
    /// Port to listen on; 0 finds a free one
    #[arg(long, value_name = "PORT", default_value_t = 8787)]
    port: u16,
    /// Write a JSON object to this file once the service answers: base_url, api_key, forms, webhooks
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    /// Requests a key may make in any minute, or `off` [default: 300]; `off` lifts the limits of
    /// public forms as well
    #[arg(long, value_name = "N|off", value_parser = rate)]
    rate_limit: Option<Rate>,
    /// Add a form with so many generated submissions; can be repeated
    #[arg(long, value_name = "PUBLIC_ID=COUNT", value_parser = generated)]
    generate: Vec<(PublicId, u64)>,
    /// Keep the sandbox in this SQLite file; otherwise it is gone when it stops
    #[arg(long, value_name = "PATH")]
    database: Option<PathBuf>,
    /// Deliver the submissions of a form to an endpoint, whose signing secret is printed; can be repeated
    #[arg(long, value_name = "FORM=URL", value_parser = sandbox::wanted)]
    webhook: Vec<Wanted>,
    /// Have it fail in a way, as `NAME` or `NAME=VALUE`; can be repeated
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = fault, long_help = fault_help())]
    fault: Vec<FaultSetting>,
    /// Have somebody submit a form so often: `contact` if there is one, else `penguins`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    submit_every: Option<Duration>,
}

/// What whoever started the sandbox reads.
#[derive(Serialize)]
struct Ready<'a> {
    base_url: &'a str,
    api_key: &'a str,
    forms: &'a [formsvc_client::Form],
    webhooks: Vec<ReadyWebhook<'a>>,
}

/// An endpoint, as whoever started the sandbox reads of it.
#[derive(Serialize)]
struct ReadyWebhook<'a> {
    form: &'a str,
    url: &'a str,
    secret: &'a str,
}

impl<'a> From<&'a Webhook> for ReadyWebhook<'a> {
    fn from(webhook: &'a Webhook) -> Self {
        let Webhook { form, url, secret } = webhook;
        Self { form: form.as_str(), url, secret: secret.expose_secret() }
    }
}

impl Sandbox {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        self.check_names()?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let sandbox = sandbox::Sandbox::start(SandboxOptions {
            database: self.database,
            addr,
            rate_limit: self.rate_limit,
            generate: self.generate,
            webhooks: self.webhook,
            faults: self.fault.clone(),
            submit_every: self.submit_every,
        })
        .await?;
        if let Some(path) = &self.ready_file {
            // Only a ready file is replaced, never something else of that name.
            ready_file::clear(path).map_err(|error| unwritable(&error))?;
            let (base_url, forms) = (&*sandbox.base_url, &*sandbox.forms);
            let webhooks = sandbox.webhooks.iter().map(ReadyWebhook::from).collect();
            let api_key = sandbox.api_key.expose_secret();
            let ready = Ready { base_url, api_key, forms, webhooks };
            ready_file::write(path, &ready).map_err(|error| unwritable(&error))?;
        }
        // Gone when this future is, and when the process ends without dropping it.
        let _gone_at_the_end = self.ready_file.clone().map(|path| {
            cx.abort.removes_file(path.clone());
            RemoveOnDrop(path)
        });
        for public_id in &sandbox.kept {
            let kept = format!("The form `{public_id}` was kept as it was in the database.");
            cx.progress.remark(&kept);
        }
        announce(cx, &sandbox, &self.fault);
        cx.run_until_stopped();
        // Until a signal drops this future, and with it the sandbox.
        std::future::pending().await
    }
}

impl Sandbox {
    /// Each form of a sandbox has a public id of its own.
    fn check_names(&self) -> Result<(), CliError> {
        let mut taken: Vec<&str> = sandbox::FORM_NAMES.to_vec();
        for (public_id, _) in &self.generate {
            if taken.contains(&public_id.as_str()) {
                let what = format!("--generate: the public id `{public_id}` is taken");
                return Err(CliError::usage(what).hint("each form needs a public id of its own"));
            }
            taken.push(public_id.as_str());
        }
        Ok(())
    }
}

/// A ready file, whose presence says that the sandbox answers.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // Nothing can be done about one that does not go; the sandbox ends all the same.
        let _ = ready_file::clear(&self.0);
    }
}

/// The key of a sandbox opens nothing but the sandbox, so it may be shown.
fn announce(cx: &Context, sandbox: &sandbox::Sandbox, faults: &[FaultSetting]) {
    cx.progress
        .remark(&format!("The sandbox answers at {}. In another shell:\n", sandbox.base_url));
    cx.progress.remark(&format!("  export FORMSVC_BASE_URL={}", sandbox.base_url));
    cx.progress.remark(&format!("  export FORMSVC_API_KEY={}", sandbox.api_key.expose_secret()));
    cx.progress.remark("  formsvc forms list\n");
    for Webhook { form, url, secret } in &sandbox.webhooks {
        cx.progress.remark(&format!("Submissions to {}/f/{form}", sandbox.base_url));
        cx.progress.remark(&format!("are delivered to {url}, signed with\n"));
        cx.progress
            .remark(&format!("  export FORMSVC_SIGNING_SECRET={}\n", secret.expose_secret()));
    }
    if !faults.is_empty() {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        let (base_url, faults) = (&sandbox.base_url, faults.join(", "));
        cx.progress.remark(&format!("It fails on purpose: {faults}. To end that:\n"));
        cx.progress.remark(&format!("  curl -X DELETE {base_url}{CONTROL}\n"));
    }
    cx.progress.remark("Ctrl-C stops it.");
}

fn unwritable(error: &ready_file::ReadyFileError) -> CliError {
    CliError::new(Exit::LocalIo, error.to_string()).because_of(error)
}

/// Reads `PUBLIC_ID=COUNT`.
fn generated(text: &str) -> Result<(PublicId, u64), String> {
    let rule = "expected PUBLIC_ID=COUNT, such as big=100000";
    let (id, count) = text.split_once('=').ok_or(rule)?;
    let id = PublicId::new(id).map_err(|error| error.to_string())?;
    Ok((id, count.parse().map_err(|_| rule)?))
}

/// Reads `NAME` or `NAME=VALUE`.
fn fault(text: &str) -> Result<FaultSetting, String> {
    text.parse().map_err(|error: FaultError| error.to_string())
}

/// The table of faults, as help.
fn fault_help() -> String {
    let mut help = "Have it fail in a way; can be repeated. Nothing is random: a fault that meets a \
        share of the requests meets the same ones every time. Faults are also set while the sandbox \
        runs: see docs/FAULTS.md\n"
        .to_owned();
    for row in FAULTS {
        let value = row.grammar.placeholder().map_or(String::new(), |what| format!("[={what}]"));
        let default = match row.default {
            "" => String::new(),
            default => format!(" [default: {default}]"),
        };
        let about = row.about.replace('`', "");
        help.extend(["\n- ", row.name, &value, ": ", &about, &default]);
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_form_has_a_name_and_a_count() {
        assert_eq!(generated("big=100000").unwrap().1, 100_000);
        for bad in ["", "big", "big=", "=5", "big=-1", "big=1.5", "a/b=5", "big=5=6"] {
            assert!(generated(bad).is_err(), "{bad:?}");
        }
    }
}
