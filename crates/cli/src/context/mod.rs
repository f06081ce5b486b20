//! The context of a command: settings, output, progress, the client, and the shutdown after a signal.

mod shutdown;

use std::time::Duration;

use formsvc_client::event::{ClientEvent, FallbackReason, RetryReason, WaitReason};
use formsvc_client::http::StatusCode;
use formsvc_client::list::Forms;
use formsvc_client::network::NetworkSettings;
use formsvc_client::{Client, RateLimit, Timeouts};
use formsvc_protocol::check_secret_text;
use formsvc_protocol::limits::{FORMS_LISTED_MAX, RATE_LIMIT};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::account::key::{self, Key, KeyOrigin};
use crate::base::env;
use crate::error::{CliError, MISSING_UNKNOWN, describe};
use crate::exit::Exit;
use crate::form_cache;
use crate::output::Output;
use crate::output::progress::Progress;
use crate::output::prompt;
use crate::settings::args::Rate;
use crate::settings::{KeySource, Service, Settings};

pub(crate) use shutdown::{Shutdown, TIME_LIMIT_REACHED};

/// Largest time to connect. A shorter time limit of an attempt takes precedence.
const CONNECT_MAX: Duration = Duration::from_secs(5);

pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) output: Output,
    pub(crate) progress: Progress,
    pub(crate) shutdown: Shutdown,
    began: Instant,
    network: OnceCell<NetworkSettings>,
    client: OnceCell<Client>,
    #[cfg(feature = "sandbox")]
    demo: OnceCell<crate::sandbox::Sandbox>,
}

/// Returns the time until a deadline; `None` without a deadline.
pub(crate) fn remaining(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}

/// Waits until a time; forever if there is none.
pub(crate) async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl Context {
    pub(crate) fn new(settings: Settings, shutdown: Shutdown) -> Self {
        let options = &settings.output;
        let progress = Progress::new(options, &env::of_process);
        shutdown.set_progress(progress.clone());
        for warning in &settings.resolved.warnings {
            progress.warn(warning);
        }
        Self {
            output: Output::new(options, &env::of_process),
            progress,
            shutdown,
            began: Instant::now(),
            network: OnceCell::new(),
            client: OnceCell::new(),
            #[cfg(feature = "sandbox")]
            demo: OnceCell::new(),
            settings,
        }
    }

    /// Returns the error of a command that a signal or its time limit ended.
    pub(crate) fn stopped(&self, exit: Exit) -> CliError {
        self.shutdown.error(exit)
    }

    /// Sets the time limit of the command, which counts from its start, and returns the deadline. The process exits
    /// shortly after the deadline if the command is stuck in a system call or a calculation.
    pub(crate) fn deadline(&self, max_time: Option<Duration>) -> Option<Instant> {
        let deadline = self.began.checked_add(max_time?)?;
        self.shutdown.set_deadline(deadline);
        Some(deadline)
    }

    /// Runs `work`. At the deadline, drops it and returns an error.
    pub(crate) async fn until<T>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T, CliError>>,
    ) -> Result<T, CliError> {
        let Some(deadline) = deadline else { return work.await };
        // If `work` fails at the same deadline by itself, its own error is returned.
        timeout_at(deadline, work).await.unwrap_or_else(|_| Err(self.stopped(Exit::Incomplete)))
    }

    /// Returns the client. The first call creates it, so that a command without requests needs no key.
    pub(crate) async fn client(&self) -> Result<&Client, CliError> {
        self.client.get_or_try_init(|| self.create_client()).await
    }

    /// Returns the forms of the service, and saves them for completion. Warns if older forms may be missing, because
    /// the service lists the newest 200 only (SPEC §8).
    pub(crate) async fn forms(&self) -> Result<Forms, CliError> {
        let forms = self.client().await?.forms().await?.into_inner();
        form_cache::save(&self.settings, &forms);
        if forms.len() + forms.skipped().len() >= FORMS_LISTED_MAX {
            let newest = format!("the service lists only its newest {FORMS_LISTED_MAX} forms");
            self.progress
                .warn(&format!("{newest}; if there are older ones, name them by their ids"));
        }
        Ok(forms)
    }

    async fn create_client(&self) -> Result<Client, CliError> {
        let (base_url, key) = self.service().await?;
        self.client_at(&base_url, &key)
    }

    /// Returns the base URL and the key, for requests that do not go through the client.
    pub(crate) async fn service(&self) -> Result<(String, SecretString), CliError> {
        match &self.settings.service {
            Service::Demo => self.demo().await,
            Service::At { base_url, key } => {
                let base_url = base_url.clone().ok_or_else(no_base_url)?;
                self.settings.base_url(&base_url)?;
                self.check_network(&base_url)?;
                let key = self.key(key.as_ref(), &base_url).await?;
                Ok((base_url, key))
            }
        }
    }

    /// Returns the proxy and TLS settings of requests. The first call reads them, so that wrong settings do not
    /// affect a command without requests.
    pub(crate) fn network(&self) -> Result<&NetworkSettings, CliError> {
        if let Some(network) = self.network.get() {
            return Ok(network);
        }
        let mut network = NetworkSettings::from_vars(env::of_process)?;
        if let Some(origin) = &self.settings.cacert {
            network.add_root_certificate_file(origin.clone())?;
        }
        for warning in network.warnings() {
            self.progress.warn(warning);
        }
        // The cell is still empty, because there is no await after `get`.
        let _ = self.network.set(network);
        Ok(self.network.get().expect("it was just set"))
    }

    /// Checks the proxy and TLS settings of requests to an address. Called before the search for the API
    /// key, so that wrong settings are reported first.
    pub(crate) fn check_network(&self, base_url: &str) -> Result<(), CliError> {
        Ok(self.network()?.check_proxy(base_url)?)
    }

    /// Creates a client for a base URL and an API key that do not come from the settings.
    pub(crate) fn client_at(&self, base_url: &str, key: &SecretString) -> Result<Client, CliError> {
        self.settings.base_url(base_url)?;
        self.check_network(base_url)?;
        let (progress, verbose) = (self.progress.clone(), self.settings.verbose > 0);
        let rate = self.settings.max_rate;
        let mut builder = Client::builder()
            .base_url(base_url)
            .api_key(key.expose_secret())
            .timeouts(self.timeouts())
            .network(self.network()?.clone())
            // `Settings::base_url` has checked the host.
            .danger_allow_http(true)
            .user_agent(concat!("formsvc/", env!("CARGO_PKG_VERSION")))
            .on_event(move |event| report(&progress, verbose, rate, event));
        if let Some(max_wait) = self.settings.max_wait {
            builder = builder.max_wait(max_wait);
        }
        match self.settings.max_rate {
            None => {}
            Some(Rate::Off) => builder = builder.rate_limit(RateLimit::off()),
            Some(Rate::PerMinute(rate)) => {
                builder = builder.rate_limit(RateLimit::per_minute(rate.get()));
            }
        }
        Ok(builder.build()?)
    }

    /// Returns the API key for requests to a base URL. Prompts for a missing key if that is possible.
    async fn key(
        &self,
        given: Option<&KeySource>,
        base_url: &str,
    ) -> Result<SecretString, CliError> {
        let found = match key::find(&self.settings, given, base_url, &self.progress).await? {
            Ok(found) => found,
            Err(missing) => {
                // Check the base URL first: a key for a refused URL could not be sent.
                self.settings.base_url(base_url)?;
                if !self.settings.may_ask {
                    return Err(missing.into());
                }
                if let Some(warning) = &missing.warning {
                    self.progress.warn(warning);
                }
                let key = prompt::hidden(&missing.prompt).await?;
                Key { key, origin: KeyOrigin::Terminal }
            }
        };
        // The key may have been stored by a version without this check.
        if let Err(problem) = check_secret_text(found.key.expose_secret()) {
            let what = format!("the API key from {} {problem}", found.origin);
            return Err(CliError::new(Exit::Auth, what).hint("store it again: formsvc auth login"));
        }
        if self.settings.verbose > 0 {
            self.progress.remark(&format!("the API key is from {}", found.origin));
        }
        Ok(found.key)
    }

    /// Returns the time limits of requests. They apply to each attempt, but not to a complete call, because a call may
    /// wait for the rate limit.
    fn timeouts(&self) -> Timeouts {
        let limits = Timeouts::new().overall(None);
        match self.settings.timeout {
            Some(attempt) => limits.attempt(attempt).connect(attempt.min(CONNECT_MAX)),
            None => limits,
        }
    }

    #[cfg(feature = "sandbox")]
    async fn demo(&self) -> Result<(String, SecretString), CliError> {
        use crate::sandbox::{Sandbox, SandboxOptions};

        let start = || Sandbox::start(0, SandboxOptions::default());
        let info = &self.demo.get_or_try_init(start).await?.info;
        Ok((info.base_url.clone(), info.api_key.clone()))
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_async, reason = "the same signature with and without the sandbox")]
    async fn demo(&self) -> Result<(String, SecretString), CliError> {
        Err(CliError::usage("this build has no sandbox, which `--demo` needs"))
    }
}

pub(crate) fn no_base_url() -> CliError {
    CliError::usage("no service address")
        .hint("set it with `formsvc auth login`, `--base-url` or FORMSVC_BASE_URL, or try `--demo`")
}

/// Reports waits and outages, and with `-v` each request.
fn report(progress: &Progress, verbose: bool, rate: Option<Rate>, event: &ClientEvent) {
    match event {
        ClientEvent::Attempt { operation, attempt, status, failure, elapsed, .. } if verbose => {
            let outcome = match (status, failure) {
                (Some(status), _) => format!("status {}", status.as_u16()),
                (None, Some(failure)) => format!("failed ({failure})"),
                (None, None) => "failed".to_owned(),
            };
            let millis = elapsed.as_secs_f64() * 1000.0;
            progress
                .remark(&format!("{operation}: {outcome} in {millis:.1} ms, attempt {attempt}"));
        }
        ClientEvent::Fallback { reason, .. } => warn_of_fallback(progress, *reason),
        ClientEvent::RateLimited { wait, reason, .. } => {
            progress.waiting(*wait, &describe_wait(*reason, rate));
        }
        ClientEvent::RetryScheduled { delay, reason, .. } => {
            let why = match reason {
                RetryReason::Status(StatusCode::TOO_MANY_REQUESTS) => {
                    "the service's rate limit (status 429)".to_owned()
                }
                RetryReason::Status(status) => format!("a retry (status {})", status.as_u16()),
                RetryReason::Truncated => "a retry (the response was truncated)".to_owned(),
                _ => "a retry (the connection failed)".to_owned(),
            };
            progress.waiting(*delay, &why);
        }
        ClientEvent::FollowInterrupted { kind, error, .. } => {
            progress.outage(&describe(*kind, error));
        }
        ClientEvent::FollowResumed { elapsed, .. } => progress.outage_end(*elapsed),
        ClientEvent::FollowSkipped { item, .. } => {
            progress.warn(&format!("a submission violates the API: {item}"));
        }
        ClientEvent::FollowIncomplete { overflow, .. } => progress.warn(&format!(
            "more submissions share a {} than a page can show, so some may be missing: {overflow}; \
             {MISSING_UNKNOWN}",
            overflow.unit()
        )),
        _ => {}
    }
}

/// Describes the reason of a wait. `rate` is the rate that the user has set.
fn describe_wait(reason: WaitReason, rate: Option<Rate>) -> String {
    match (reason, rate) {
        (WaitReason::CoolDown, _) => "the service's rate limit (status 429)".to_owned(),
        (WaitReason::Announced, _) => "the service's rate limit".to_owned(),
        (WaitReason::Limit, Some(Rate::PerMinute(rate))) => {
            format!("your limit of {rate} requests a minute")
        }
        // Short, so that the line has room for the status.
        (WaitReason::Limit, _) => format!("a limit of {RATE_LIMIT}/min (--max-rate)"),
        _ => "the rate limit".to_owned(),
    }
}

/// Warns that it is unproven whether a list is complete.
fn warn_of_fallback(progress: &Progress, reason: FallbackReason) {
    let why = match reason {
        FallbackReason::CursorRefused => "the service refuses cursors that it did not issue",
        FallbackReason::CursorIgnored => "the service ignores cursors that it did not issue",
        FallbackReason::RowsDeleted => "submissions were deleted while the list was read",
        FallbackReason::CursorNotTime => "the cursors of the service are not times of submissions",
        _ => "the service cannot be checked",
    };
    progress.warn(&format!(
        "{why}; submissions that share a time could be missing (complete: unproven)"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_description_depends_on_reason_and_user_rate() {
        let rate = Some(Rate::PerMinute(60.try_into().unwrap()));
        assert_eq!(describe_wait(WaitReason::Announced, None), "the service's rate limit");
        assert_eq!(describe_wait(WaitReason::Limit, rate), "your limit of 60 requests a minute");
        let usual = describe_wait(WaitReason::Limit, None);
        assert_eq!(usual, "a limit of 300/min (--max-rate)");
    }
}
