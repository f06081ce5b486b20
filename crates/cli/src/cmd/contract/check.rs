//! `formsvc contract check`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use formsvc_contract::api::{API_ANSWER_MAX, API_CHECKS, ApiOptions, Key, check_api};
use formsvc_contract::report::CheckInfo;
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_contract::sender::{
    SENDER_CHECKS, SenderEvent, SenderOptions, SenderResults, check_sender, skip_sender_checks,
    submit,
};
use formsvc_workbench::target;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::time::Instant;
use url::Url;

use super::checks;
use super::show::{self, Results};
use crate::checks::junit::Junit;
use crate::checks::{self as reports, Check};
use crate::cmd::webhook::args::SecretArgs;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::settings::args::duration;
use crate::settings::{KeySource, Service};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for the rate limit.
const MAX_WAIT: Duration = Duration::from_secs(90);
/// Default time limit of the API checks, and of the delivery checks. Longer than the retry schedule of the
/// service.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);

/// Check that a service follows its specification
///
/// Sends requests to the REST API and compares each response with a statement of the specification. Without further
/// flags the requests only read, and stay within the rate limit. A check that needs a revoked key, a form of another
/// user or the whole rate limit is skipped without its flag. `--deliveries` also checks webhook deliveries to a
/// receiver on this machine. `--output json` adds behaviour that the specification leaves open. Exits
/// with 1 if a check fails.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo contract check\n  formsvc contract check --junit report.xml\n  formsvc --demo contract check --only cursor,has-more --output json"
)]
pub(crate) struct CheckService {
    /// Read the submissions of this form [default: one with several pages]
    #[arg(long, value_name = "ID")]
    form: Option<String>,
    /// Run only these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// File with a revoked API key: run the check `key-revoked`
    #[arg(long, value_name = "PATH", help_heading = "Optional checks")]
    revoked_key_file: Option<PathBuf>,
    /// Id of a form of another user: run the check `foreign-form`
    #[arg(long, value_name = "ID", help_heading = "Optional checks")]
    foreign_form: Option<String>,
    /// Exceed the rate limit and run its checks. Other clients of the key are refused for a minute
    #[arg(long, help_heading = "Optional checks")]
    spend_quota: bool,
    /// Receive deliveries and run their checks. Needs the signing secret of the endpoint
    #[arg(long, help_heading = "Deliveries")]
    deliveries: bool,
    /// Port of the endpoint on this machine
    #[arg(long, value_name = "PORT", default_value_t = 4242, help_heading = "Deliveries")]
    port: u16,
    /// Make three submissions to this public form. Without it, make them yourself
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = "Deliveries")]
    public_form: Option<Url>,
    /// Answers of these submissions, URL-encoded
    #[arg(
        long,
        value_name = "ANSWERS",
        default_value = "Message=formsvc+contract+check",
        requires = "public_form",
        help_heading = "Deliveries"
    )]
    answers: String,
    /// Longest wait for a retry; if it does not come, its checks are skipped
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Deliveries")]
    max_pause: Option<Duration>,
    /// Stop after this time; exit code 8 if no check failed before [default: 30m for the API checks, and
    /// 30m for the delivery checks]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl CheckService {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        let listing = show::listing(cx)?;
        let junit = self.junit.as_deref().map(Junit::create).transpose()?;
        // Before any request, because this reports wrong arguments.
        let secrets = cx.until(deadline, self.prepare_deliveries(cx)).await?;
        let mut results = Results::default();
        let receiver = format!("http://127.0.0.1:{}/", self.port);
        let receiver = Url::parse(&receiver).map_err(invalid_url)?;
        let (mut keys, mut url) = (Vec::new(), receiver);
        if API_CHECKS.iter().any(|check| self.is_wanted(&check.info)) {
            (keys, url) = self.check_api(cx, deadline, &mut results).await?;
        }
        let is_wanted = |check: &CheckInfo| self.is_wanted(check);
        let mut failure = None;
        match secrets {
            None => results.checks.extend(skip_sender_checks(is_wanted, None)),
            Some(secrets) => match self.check_deliveries(cx, secrets, keys, deadline).await {
                Ok(deliveries) => {
                    results.checks.extend(deliveries.reports);
                    results.deliveries = Some(deliveries.profile);
                }
                Err(error) => {
                    let reason = format!("not checked: {}", error.brief());
                    results.checks.extend(skip_sender_checks(is_wanted, Some(&reason)));
                    // Returned after the results are written.
                    failure = Some(error);
                }
            },
        }
        let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
        cx.progress.end();
        let checks: Vec<_> = results.checks.iter().map(show::check).collect();
        if let Some(junit) = junit {
            // Before the output, which may fail as well.
            let failure = failure.as_ref().map(|error| Check::failed("deliveries", error.brief()));
            let cases: Vec<_> = checks.iter().cloned().chain(failure).collect();
            junit.write("formsvc contract check", &url, &cases)?;
        }
        show::print(cx, listing, &results, &checks)?;
        if let Some(error) = failure {
            return Err(error);
        }
        reports::result(&checks, Some("--only"))?;
        if is_late { Err(cx.stopped(Exit::Incomplete)) } else { Ok(()) }
    }

    fn is_wanted(&self, check: &CheckInfo) -> bool {
        self.only.is_empty() || self.only.iter().any(|id| id == check.id)
    }

    /// Runs the API checks. Returns the keys that they used, and the base URL.
    async fn check_api(
        &self,
        cx: &Context,
        deadline: Option<Instant>,
        results: &mut Results,
    ) -> Result<(Vec<SecretString>, Url), CliError> {
        let revoked_key = match &self.revoked_key_file {
            Some(path) => {
                let named_by = "--revoked-key-file";
                let source = KeySource::File { path: path.clone(), named_by };
                Some(cx.until(deadline, source.read(&cx.progress)).await?.key)
            }
            None => None,
        };
        let (base_url, key) = cx.until(deadline, cx.service()).await?;
        let base_url = Url::parse(&base_url).map_err(invalid_url)?;
        let options = ApiOptions {
            base_url: base_url.clone(),
            key: header_key(&key)?,
            form: self.form.clone(),
            revoked_key: revoked_key.as_ref().map(header_key).transpose()?,
            foreign_form: self.foreign_form.clone(),
            spend_quota: self.spend_quota,
            max_wait: cx.settings.max_wait.unwrap_or(MAX_WAIT),
            time_limit: remaining(deadline),
        };
        let sender = http_sender(cx, API_ANSWER_MAX)?;
        let mut sent = 0_usize;
        let on_request = |request: &str| {
            sent += 1;
            cx.progress.doing(&format!("{sent} requests sent · {request}"));
        };
        let api = check_api(&sender, &options, |check| self.is_wanted(check), on_request).await;
        (results.checks, results.profile) = (api.reports, Some(api.profile));
        Ok((revoked_key.into_iter().chain([key]).collect(), base_url))
    }

    /// Returns the signing secrets if checks of deliveries are wanted.
    async fn prepare_deliveries(
        &self,
        cx: &Context,
    ) -> Result<Option<Vec<SecretString>>, CliError> {
        if !self.deliveries || !SENDER_CHECKS.iter().any(|check| self.is_wanted(&check.info)) {
            return Ok(None);
        }
        if let Service::Demo = cx.settings.service {
            let what = "`--demo` and `--deliveries` cannot be used together";
            return Err(CliError::usage(what).hint("start `formsvc sandbox` and add an endpoint"));
        }
        let secrets = self.secrets.read_for_signing(cx, "`--deliveries`").await?.texts();
        // Fails early if the port is in use. The listener is closed again, because a delivery that arrives
        // during the API checks would get no response.
        self.listen().await?;
        Ok(Some(secrets))
    }

    async fn listen(&self) -> Result<TcpListener, CliError> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await;
        listener.map_err(|error| self.cannot_listen(&error))
    }

    fn cannot_listen(&self, error: &std::io::Error) -> CliError {
        let what = format!("cannot listen on port {}", self.port);
        CliError::new(Exit::LocalIo, what).because(error)
    }

    async fn check_deliveries(
        &self,
        cx: &Context,
        secrets: Vec<SecretString>,
        masked: Vec<SecretString>,
        deadline: Option<Instant>,
    ) -> Result<SenderResults, CliError> {
        let (time_limit, max_pause) = (remaining(deadline), self.max_pause);
        let options = SenderOptions { secrets, masked, time_limit, max_pause };
        let listener = self.listen().await?;
        let endpoint = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let on_event = |event| match event {
            SenderEvent::Waiting(count) if self.public_form.is_none() => {
                let form = format!("a form with the endpoint http://{endpoint}/");
                cx.progress.remark(&format!("waiting for {count} submissions to {form}"));
            }
            SenderEvent::Waiting(count) => {
                cx.progress.doing(&format!("waiting for {count} deliveries"));
            }
            SenderEvent::Attempt(number) => {
                cx.progress.doing(&format!("{number} of 4 attempts · waiting for the next"));
            }
            SenderEvent::Quiet(wait) => {
                cx.progress.waiting(wait, "unexpected attempts");
            }
        };
        let submitted = async {
            let Some(form) = &self.public_form else { return Ok(()) };
            let sender = http_sender(cx, formsvc_contract::send::ANSWER_MAX)?;
            submit(&sender, form, &self.answers).await.map_err(|error| {
                let error =
                    CliError::coded(Code::CheckFailed, error.to_string()).because_of(&error);
                error.hint("set the answers that the form requires with --answers")
            })
        };
        let is_wanted = |check: &CheckInfo| self.is_wanted(check);
        let checked = async {
            let results = check_sender(listener, &options, is_wanted, on_event).await;
            results.map_err(|error| self.cannot_listen(&error))
        };
        let submitted = cx.until(deadline, submitted);
        let (results, ()) = tokio::try_join!(checked, submitted)?;
        Ok(results)
    }
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(checks().map(|check| check.id))
}

/// Returns the time until the deadline, or the default time limit.
fn remaining(deadline: Option<Instant>) -> Duration {
    crate::context::remaining(deadline).unwrap_or(MAX_TIME)
}

/// Creates an HTTP client with the proxy and TLS settings of all commands.
fn http_sender(cx: &Context, answer_max: usize) -> Result<HttpSender, CliError> {
    let timeout = cx.settings.timeout.unwrap_or(TIMEOUT);
    let network = cx.network()?.clone();
    let options =
        HttpSenderOptions { timeout, network, answer_max, ..HttpSenderOptions::default() };
    HttpSender::new(options)
        .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
}

fn header_key(key: &SecretString) -> Result<Key, CliError> {
    let what = "the API key contains characters that are not allowed in a header";
    Key::new(key).ok_or_else(|| CliError::new(Exit::Auth, what))
}

fn invalid_url(error: url::ParseError) -> CliError {
    CliError::usage("the URL of the service is not valid").because(&error)
}
