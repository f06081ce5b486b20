//! The flags of `webhook listen`.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use formsvc_contract::send::HttpSender;
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::forward::{Forwarder, MAX_RESPONSE_BODY, Route};
use formsvc_workbench::listen::{Expression, Fault, Faults, GoalOptions, OnInvalid};
use formsvc_workbench::target;
use url::Url;

use crate::cmd::webhook::args::SenderArgs;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::args::{duration, whole};

const RESPONSES: &str = "Responses";
const FORWARDING: &str = "Forwarding";
const END: &str = "End of the run";
const STORE: &str = "Store";
const INSPECTOR: &str = "Inspector";

/// The flags of responses.
#[derive(Debug, Args)]
pub(super) struct ResponseArgs {
    /// What to do with an invalid delivery, which a receiver must refuse: respond with 401 or 400 (by verdict), respond
    /// with 200, or forward it
    #[arg(long, value_name = "ACTION", default_value = "reject", value_parser = on_invalid(), help_heading = RESPONSES)]
    pub(super) on_invalid: OnInvalid,
    /// Respond to the attempts of each submission with these statuses in order, such as 503,pass; the last one
    /// repeats. `pass` responds as without this flag
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', value_parser = Fault::parse, help_heading = RESPONSES)]
    respond: Vec<Fault>,
    /// Wait this long before each response
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = RESPONSES)]
    respond_delay: Option<Duration>,
    /// Close the connection of the first N attempts of each submission without a response
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = RESPONSES)]
    drop: u32,
    /// Pause before the first retry of --demo, --sandbox and --poll [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = RESPONSES)]
    pub(super) retry_base: Option<Duration>,
}

/// The flags of targets.
#[derive(Debug, Args)]
pub(super) struct ForwardArgs {
    /// Forward each delivery, except invalid ones, to this URL, host:port/path, or port/path on this machine; repeatable
    ///
    /// A URL without a path gets each delivery at the path where it arrived. Without a scheme, a URL of this machine is
    /// http, and every other one is https. A target has 10 seconds to respond, unless `--timeout` is given.
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = FORWARDING)]
    forward_to: Vec<Url>,
    /// Forward the deliveries that match a condition; the URL follows the condition and `=`, as in
    /// form_id=frm_1=4242/hook or 'event=submission.* && path=/a=4242'; repeatable
    #[arg(long, value_name = "EXPR=URL", value_parser = Route::parse, help_heading = FORWARDING)]
    route: Vec<Route>,
    #[command(flatten)]
    requests: SenderArgs,
}

/// Flags that end the run.
#[derive(Debug, Args)]
pub(super) struct EndArgs {
    /// Exit after N deliveries that were not rejected; exit code 11 if fewer arrived. With `--expect`, the run does
    /// not end at a match but at the Nth delivery
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), help_heading = END)]
    pub(super) count: Option<u64>,
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

impl ResponseArgs {
    pub(super) fn faults(&self) -> Faults {
        Faults { drop: self.drop, respond: self.respond.clone(), delay: self.respond_delay }
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
        self.requests.sender(cx, MAX_RESPONSE_BODY)
    }
}

impl EndArgs {
    pub(super) fn goal(&self) -> GoalOptions {
        GoalOptions {
            count: self.count,
            expect: self.expect.clone(),
            expect_every: self.expect_every.clone(),
            expect_within: self.expect_within,
        }
    }
}

fn expect_help() -> String {
    format!(
        "Exit when a delivery matches EXPR, such as 'event=submission.created && status<300'; exit code 11 \
         if none did. Repeatable: each EXPR needs a match. A rejected delivery counts only for conditions on \
         `verdict` or `valid`\n\n{}",
        DeliveryFilter::help()
    )
}

fn on_invalid() -> impl TypedValueParser<Value = OnInvalid> {
    PossibleValuesParser::new(OnInvalid::ALL.map(|(_, name)| name)).map(|name| {
        let row = OnInvalid::ALL.iter().find(|(_, known)| *known == name);
        row.expect("the parser accepts these names only").0
    })
}
