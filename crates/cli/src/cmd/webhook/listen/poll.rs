//! `--poll`: new submissions of a form as deliveries.

use std::time::Duration;

use clap::Args;
use formsvc_client::{Client, RequestOptions, RetryPolicy};
use formsvc_protocol::RetrySchedule;
use formsvc_workbench::listen::ListenerHandle;
use formsvc_workbench::poll::{INTERVAL, Poll, PollError, PollMark, PollStart};
use formsvc_workbench::secrets::SigningSecrets;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::account::key::aside;
use crate::base::when::{local, zone};
use crate::cmd::submissions::tail::default_interval;
use crate::cmd::webhook::args::SECRET_ADVICE;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::settings::Service;
use crate::settings::args::duration;
use crate::settings::args::format_duration;

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

/// A poll that delivers to a listener, or none.
#[derive(Default)]
pub(super) struct RunningPoll {
    stop: CancellationToken,
    task: Option<JoinHandle<Result<(), PollError>>>,
    error: Option<CliError>,
}

impl PollArgs {
    #[cfg(feature = "sandbox")]
    pub(super) fn form(&self) -> Option<&str> {
        self.poll.as_deref()
    }

    /// Sends the first requests, so that a wrong form or key is an error before the listener is ready. Waits
    /// while the service is not available.
    pub(super) async fn prepare(
        &self,
        cx: &Context,
        sandbox: Option<Client>,
        secrets: &SigningSecrets,
        schedule: RetrySchedule,
        path: &str,
    ) -> Result<Option<Poll>, CliError> {
        let Some(name) = &self.poll else { return Ok(None) };
        if secrets.is_empty() {
            return Err(PollError::NoSecret.into());
        }
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
        report(cx, &form, is_continued.then(|| mark.start()), interval);
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

fn report(cx: &Context, form: &FormMatch, continued: Option<&PollStart>, interval: Duration) {
    let start = match continued {
        None => "starts with the next new submission".to_owned(),
        Some(PollStart::First) => "continues with the first submission".to_owned(),
        Some(PollStart::After { created_at, .. }) => {
            format!("continues after {}", local(created_at, &zone()))
        }
        Some(PollStart::Point(_)) => "continues where the previous run ended".to_owned(),
    };
    let interval = format_duration(interval);
    cx.progress.remark(&format!("polls `{}` every {interval}, {start}", form.title));
}

impl RunningPoll {
    /// Starts a task that delivers submissions to the listener.
    pub(super) fn start(poll: Poll, listener: ListenerHandle) -> Self {
        let stop = CancellationToken::new();
        let deliver = move |method, request_target, headers, body| {
            let listener = listener.clone();
            async move { listener.deliver(method, request_target, headers, body).await }
        };
        let task = tokio::spawn(poll.run(deliver, stop.clone()));
        Self { stop, task: Some(task), error: None }
    }

    /// Waits until the poll ends by itself; forever without a poll.
    pub(super) async fn ended(&mut self) {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        let result = task.await.unwrap_or(Err(PollError::Panicked));
        (self.task, self.error) = (None, result.err().map(CliError::from));
    }

    /// Stops the poll and waits for its deliveries in flight.
    pub(super) async fn stop(&mut self) {
        self.stop.cancel();
        if self.task.is_some() {
            self.ended().await;
        }
    }

    /// Returns the error that ended the poll.
    pub(super) fn result(self) -> Result<(), CliError> {
        self.error.map_or(Ok(()), Err)
    }
}

impl From<PollError> for CliError {
    fn from(error: PollError) -> Self {
        match error {
            PollError::Client(error) => error.into(),
            PollError::Unsafe(error) => error.into(),
            PollError::NoSecret => {
                Self::coded(Code::MissingArgument, error.to_string()).hint(SECRET_ADVICE)
            }
            PollError::InUse { .. } | PollError::BadMark { .. } | PollError::Io { .. } => {
                Self::new(Exit::LocalIo, error.to_string()).because_of(&error)
            }
            PollError::Panicked => Self::new(Exit::Failed, error.to_string()),
        }
    }
}
