//! `--poll`: new submissions of a form as deliveries.

use std::time::Duration;

use clap::Args;
use formsvc_client::{Client, RequestOptions, RetryPolicy};
use formsvc_protocol::RetrySchedule;
use formsvc_workbench::poll::{INTERVAL, Poll, PollError, PollMark};
use formsvc_workbench::secrets::SigningSecrets;

use crate::account::key::aside;
use crate::cmd::submissions::tail::default_interval;
use crate::cmd::webhook::args::require;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::settings::Service;
use crate::settings::args::{duration, format_duration};

/// The flags of the poll.
#[derive(Debug, Default, Args)]
pub(super) struct PollArgs {
    /// Read new submissions of this form from the API and deliver them, signed, to the listener
    ///
    /// For a machine that the service cannot reach. The deliveries have the header X-Formsvc-Synthetic:
    /// poll. Submissions that arrive while no listener runs are delivered at its next start.
    #[arg(long, value_name = "FORM", help_heading = POLLING)]
    poll: Option<String>,
    /// Time between two requests for new submissions [default: 5s, or more to respect --max-rate]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "poll", help_heading = POLLING)]
    poll_interval: Option<Duration>,
}

const POLLING: &str = "Polling";

impl PollArgs {
    #[cfg(feature = "sandbox")]
    pub(super) fn form(&self) -> Option<&str> {
        self.poll.as_deref()
    }

    /// Sends the first requests, so that a wrong form or key is an error before the listener is ready.
    pub(super) async fn prepare(
        &self,
        cx: &Context,
        sandbox: Option<Client>,
        secrets: &SigningSecrets,
        retry_base: Option<Duration>,
        path: &str,
    ) -> Result<Option<Poll>, CliError> {
        let Some(name) = &self.poll else { return Ok(None) };
        require(secrets.clone(), "`--poll`")?;
        let mut schedule = RetrySchedule::default();
        schedule.base = retry_base.unwrap_or(schedule.base);
        let usual = default_interval(cx.settings.max_rate).max(INTERVAL);
        let interval = self.poll_interval.unwrap_or(usual);
        // The poll retries by itself, and reports an outage only once.
        let no_retries = RequestOptions::new().retry(RetryPolicy::none());
        let client = match &sandbox {
            Some(client) => client,
            None => cx.client().await?,
        };
        let form = form_ref::find(cx, client, name).await?;
        let client = client.with_options(no_retries)?;
        let mut mark = open_mark(cx, &form, path).await?;
        let is_continued = mark.is_known();
        let handle = client.form(&form.id);
        mark.begin(&handle).await?;
        cx.progress.remark(&format!(
            "polls `{}` every {}, {}",
            form.title,
            format_duration(interval),
            if is_continued {
                "continues where the previous run ended"
            } else {
                "starts with the next new submission"
            }
        ));
        Ok(Some(Poll {
            form: handle,
            form_title: form.title,
            interval,
            secrets: secrets.clone(),
            schedule,
            path: path.to_owned(),
            mark,
        }))
    }
}

/// Opens the saved position. The position in a sandbox is not saved, because the sandbox ends with the run.
async fn open_mark(cx: &Context, form: &FormMatch, path: &str) -> Result<PollMark, CliError> {
    match (&cx.settings.service, &cx.settings.paths.state) {
        (Service::At { base_url: Some(base_url), .. }, Some(folder)) => {
            let (folder, service) = (folder.clone(), base_url.clone());
            let (form, path) = (form.id.clone(), path.to_owned());
            let open = move || PollMark::open(&folder, &service, form.as_str(), &path);
            Ok(aside(open).await??)
        }
        (Service::Demo, _) => Ok(PollMark::in_memory()),
        _ => {
            cx.progress.warn(
                "there is no home folder to save the position of the poll in; the next run starts with the \
                 submissions that are new then",
            );
            Ok(PollMark::in_memory())
        }
    }
}

impl From<PollError> for CliError {
    fn from(error: PollError) -> Self {
        match error {
            PollError::Client(error) => error.into(),
            PollError::Unsafe(error) => error.into(),
            error => Self::new(Exit::LocalIo, error.to_string()).because_of(&error),
        }
    }
}
