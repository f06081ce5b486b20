//! The flags of `webhook listen`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::forward::{Forwarder, MAX_RESPONSE_BODY, Route};
use formsvc_workbench::listen::{Expression, Fault, Faults, GoalOptions, ListenLimits, OnInvalid};
use formsvc_workbench::target;
use url::Url;

use crate::cmd::webhook::args::{SenderArgs, response_timeout};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::args::{duration, whole};

const RESPONSES: &str = "Responses";
const FORWARDING: &str = "Forwarding";
const END: &str = "End of the run";
const STORE: &str = "Store";
const INSPECTOR: &str = "Inspector";
const LIMITS: &str = "Limits";

/// The flags of responses.
#[derive(Debug, Args)]
pub(super) struct ResponseArgs {
    /// What to do with a delivery without a valid signature: respond with 401 as receivers must, respond with 200,
    /// or forward it
    #[arg(long, value_name = "ACTION", default_value = "reject", value_parser = on_invalid(), help_heading = RESPONSES)]
    pub(super) on_invalid: OnInvalid,
    /// Respond to the attempts of each submission with these statuses in order, such as 503,pass; the last one
    /// repeats. `pass` responds as without this flag
    #[arg(long, value_name = "STATUS,…", value_parser = responses, help_heading = RESPONSES)]
    respond: Option<Arc<[Fault]>>,
    /// Wait this long before each response
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = RESPONSES)]
    respond_delay: Option<Duration>,
    /// Close the connection of the first N attempts of each submission without a response
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = RESPONSES)]
    drop: u32,
    /// Pause before the first retry of --demo, --sandbox and --poll [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = RESPONSES, hide_short_help = true)]
    retry_base: Option<Duration>,
    /// Factor by which each further pause is longer [default: 6]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100), help_heading = RESPONSES, hide_short_help = true)]
    retry_factor: Option<u32>,
}

/// The flags of targets.
#[derive(Debug, Args)]
pub(super) struct ForwardArgs {
    /// Forward every delivery to this URL, host:port/path, or port/path on this machine; repeatable
    ///
    /// A URL without a path gets each delivery at the path where it arrived. A target has 10 seconds to respond,
    /// unless `--timeout` or FORMSVC_TIMEOUT is given.
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = FORWARDING)]
    forward_to: Vec<Url>,
    /// Forward the deliveries that match a condition; the last `=` separates it from the URL, as in
    /// form_id=frm_1=4242/hook or 'event=submission.* && path=/a=4242'; repeatable
    #[arg(long, value_name = "EXPR=URL", value_parser = Route::parse, help_heading = FORWARDING)]
    route: Vec<Route>,
    #[command(flatten)]
    requests: SenderArgs,
}

/// The flags of the end.
#[derive(Debug, Args)]
pub(super) struct EndArgs {
    /// Exit after N deliveries that were not rejected; exit code 11 if fewer arrived
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), help_heading = END)]
    count: Option<u64>,
    /// Exit after one delivery that was not rejected
    #[arg(long, conflicts_with = "count", help_heading = END)]
    once: bool,
    /// Exit after this time
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = END)]
    pub(super) max_time: Option<Duration>,
    /// Exit when a delivery matches EXPR; exit code 11 if none did. Repeatable: each EXPR needs a match
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, help_heading = END, long_help = expect_help())]
    expect: Vec<Expression>,
    /// Exit with code 11 at the first delivery that does not match EXPR; repeatable
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, help_heading = END)]
    expect_every: Vec<Expression>,
    /// Exit with code 11 when no delivery arrives for this time
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = END)]
    expect_within: Option<Duration>,
}

/// The flags of the store and the inspector.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct StoreArgs {
    /// Keep deliveries in memory only; they are lost when the command ends
    #[arg(long, help_heading = STORE)]
    pub(super) no_store: bool,
    /// Serve a page on this machine that shows deliveries as they arrive; prints its address
    #[arg(long, help_heading = INSPECTOR)]
    pub(super) ui: bool,
    /// Port of the page; 0 chooses a free one
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        requires = "ui",
        value_parser = whole::<u16>(0..=65_535),
        help_heading = INSPECTOR
    )]
    pub(super) ui_port: u16,
}

/// The flags of limits.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Longest body of a delivery, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = whole::<usize>(1..=1 << 30), help_heading = LIMITS, hide_short_help = true)]
    pub(super) max_body: usize,
    /// Time limit for the head of a request, and again for its body
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration, help_heading = LIMITS, hide_short_help = true)]
    read_timeout: Duration,
    /// Deliveries that are handled at the same time; others get 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole::<usize>(1..=10_000), help_heading = LIMITS, hide_short_help = true)]
    pub(super) max_in_flight: usize,
}

impl ResponseArgs {
    pub(super) fn faults(&self) -> Faults {
        Faults {
            drop: self.drop,
            respond: self.respond.as_deref().map(<[_]>::to_vec).unwrap_or_default(),
            delay: self.respond_delay,
        }
    }

    /// Returns the pauses between the attempts of the sandbox and of the poll.
    pub(super) fn schedule(&self) -> RetrySchedule {
        let usual = RetrySchedule::default();
        RetrySchedule {
            base: self.retry_base.unwrap_or(usual.base),
            factor: self.retry_factor.unwrap_or(usual.factor),
            ..usual
        }
    }
}

impl ForwardArgs {
    /// Returns the forwarder; `None` without targets.
    pub(super) fn forwarder(&self, sender: HttpSender, max_in_flight: usize) -> Option<Forwarder> {
        let all = self.forward_to.iter().cloned().map(Route::all);
        let routes: Vec<Route> = all.chain(self.route.iter().cloned()).collect();
        (!routes.is_empty()).then(|| Forwarder::new(sender, routes, max_in_flight))
    }

    /// Creates the sender, also without targets, so that wrong network settings are always an error.
    pub(super) fn sender(&self, cx: &Context) -> Result<HttpSender, CliError> {
        let targets = self.forward_to.iter().chain(self.route.iter().map(Route::target));
        targets.into_iter().try_for_each(|target| cx.check_network(target.as_str()))?;
        self.requests.sender(cx, response_timeout(cx), MAX_RESPONSE_BODY)
    }
}

impl EndArgs {
    pub(super) fn goal(&self) -> GoalOptions {
        GoalOptions {
            count: self.count(),
            expect: self.expect.clone(),
            expect_every: self.expect_every.clone(),
            expect_within: self.expect_within,
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.count }
    }
}

impl LimitArgs {
    pub(super) fn limits(&self, deliveries: Option<u64>) -> ListenLimits {
        ListenLimits {
            body: self.max_body,
            read_timeout: self.read_timeout,
            in_flight: self.max_in_flight,
            deliveries,
            ..ListenLimits::default()
        }
    }
}

fn expect_help() -> String {
    format!(
        "Exit when a delivery matches EXPR, such as 'event=submission.created && status<300'; exit code 11 \
         if none did. Repeatable: each EXPR needs a match\n\n{}",
        DeliveryFilter::help()
    )
}

fn responses(text: &str) -> Result<Arc<[Fault]>, String> {
    Faults::parse_responses(text).map(Into::into)
}

fn on_invalid() -> impl TypedValueParser<Value = OnInvalid> {
    PossibleValuesParser::new(OnInvalid::ALL.map(|(_, name)| name)).map(|name| {
        let row = OnInvalid::ALL.iter().find(|(_, known)| *known == name);
        row.expect("the parser accepts these names only").0
    })
}
