//! The flags of `webhook listen`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_contract::send::HttpSender;
use formsvc_protocol::RetrySchedule;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_workbench::filter::DeliveryFilter;
use formsvc_workbench::forward::{Forwarder, MAX_RESPONSE_BODY, Route};
use formsvc_workbench::listen::{Expression, Fault, Faults, GoalOptions, ListenLimits, OnInvalid};
use formsvc_workbench::store::StoreLimits;
use formsvc_workbench::target;
use url::Url;

use crate::cmd::webhook::args::{SenderArgs, age, timeout_setting};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::Origin;
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
    /// What to do with a delivery without a valid signature
    #[arg(long, value_name = "ACTION", default_value = "reject", value_parser = on_invalid(), help_heading = RESPONSES)]
    pub(super) on_invalid: OnInvalid,
    /// Respond to the attempts of each submission with these statuses in order; the last one repeats.
    /// `pass` responds as without this flag
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
    /// Forward every delivery to this URL, port of this machine, or host:port/path; repeatable. A URL
    /// without a path gets each delivery at the path where it arrived
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = FORWARDING)]
    forward_to: Vec<Url>,
    /// Forward the deliveries that match EXPR: form_id=frm_1=4242/hook,
    /// 'event=submission.* && path=/a=URL'; repeatable
    #[arg(long, value_name = "EXPR=URL", value_parser = Route::parse, help_heading = FORWARDING)]
    route: Vec<Route>,
    /// Time limit of a target's response [default: FORMSVC_TIMEOUT, else 10s as the service has]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = FORWARDING)]
    forward_timeout: Option<Duration>,
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
    /// Exit after this time; `--timeout` is the same
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = END)]
    max_time: Option<Duration>,
    /// Exit when a delivery matches EXPR; exit code 11 if none did. Repeatable: each EXPR must match
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, help_heading = END, long_help = expect_help())]
    expect: Vec<Expression>,
    /// Exit with code 11 at the first delivery that does not match EXPR; repeatable
    #[arg(long, value_name = "EXPR", value_parser = Expression::parse, help_heading = END)]
    expect_every: Vec<Expression>,
    /// Exit with code 11 when no delivery arrives for this time
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = END)]
    expect_within: Option<Duration>,
    /// Stop when standard input is closed
    #[arg(long, help_heading = END)]
    pub(super) exit_on_stdin_eof: bool,
}

/// The flags of the store and the inspector.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct StoreArgs {
    /// Store deliveries in memory only; they are lost when the command ends
    #[arg(long, help_heading = STORE)]
    pub(super) no_store: bool,
    /// Size of the store; the oldest deliveries are removed first. Deliveries without a valid signature get at
    /// most half of it
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size, help_heading = STORE)]
    store_max_size: u64,
    /// Remove deliveries after this time
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = age, help_heading = STORE)]
    store_max_age: Duration,
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
        let variable = || timeout_setting(cx, |origin| matches!(origin, Origin::Env(_)));
        let timeout = self.forward_timeout.or_else(variable).unwrap_or(DELIVERY_TIMEOUT);
        self.requests.sender(cx, timeout, MAX_RESPONSE_BODY)
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

    /// Returns the time limit of the run. `--timeout` limits requests in other commands, but this command
    /// sends none.
    pub(super) fn max_time(&self, cx: &Context) -> Option<Duration> {
        let timeout = || timeout_setting(cx, |origin| matches!(origin, Origin::Flag(_)));
        self.max_time.or_else(timeout)
    }
}

impl StoreArgs {
    pub(super) fn limits(self) -> StoreLimits {
        StoreLimits { bytes: self.store_max_size, age: self.store_max_age }
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
         if none did. Repeatable: each EXPR must match\n\n{}",
        DeliveryFilter::help()
    )
}

fn responses(text: &str) -> Result<Arc<[Fault]>, String> {
    Faults::parse_responses(text).map(Into::into)
}

fn on_invalid() -> impl TypedValueParser<Value = OnInvalid> {
    let values = OnInvalid::ALL.map(|(value, name)| {
        PossibleValue::new(name).help(match value {
            OnInvalid::Reject => "Respond with 401 as a receiver must, and do not forward it",
            OnInvalid::Accept => "Respond with 200, and do not forward it",
            OnInvalid::Forward => "Treat it as a valid delivery",
        })
    });
    PossibleValuesParser::new(values).map(|name| {
        let row = OnInvalid::ALL.iter().find(|(_, known)| *known == name);
        row.expect("the parser accepts these names only").0
    })
}

/// Parses `64MiB`, `1GiB`, `1048576`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let size = digits.parse().ok().zip(unit).and_then(|(n, unit): (u64, u64)| n.checked_mul(unit));
    match size {
        // A smaller store cannot store the largest delivery.
        Some(size) if (1 << 20..1 << 46).contains(&size) => Ok(size),
        Some(_) => Err("expected at least 1MiB, and less than 64 TiB".to_owned()),
        None => Err("expected a size with its unit, such as 64MiB or 1GiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_has_a_unit_and_limits() {
        assert_eq!(size("256MiB"), Ok(256 << 20));
        assert_eq!(size("1048576"), Ok(1 << 20));
        assert_eq!(size("2 GiB"), Ok(2 << 30));
        for bad in ["", "MiB", "-1MiB", "1.5GiB", "10KiB", "99999999999GiB", "1TB", "ten"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
    }
}
