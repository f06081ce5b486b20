//! The global flags, and parsers of their values.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::ErrorFormat;
use crate::output::{Color, OutputFormat, TimeStyle};
use crate::settings::config::keys::Kind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};

/// The flags that every command accepts. A flag without a description here has that of its environment variable.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag without a value")]
pub(crate) struct Globals {
    /// Start a service with sample data, for this command only
    #[arg(long, global = true, help_heading = ACCOUNT)]
    pub(crate) demo: bool,
    #[arg(long, global = true, value_name = "NAME", help_heading = ACCOUNT)]
    pub(crate) profile: Option<String>,
    #[arg(long, global = true, value_name = "URL", help_heading = ACCOUNT)]
    pub(crate) base_url: Option<String>,
    /// Read the API key from standard input (or set FORMSVC_API_KEY)
    #[arg(long, global = true, help_heading = ACCOUNT, hide_short_help = true)]
    pub(crate) api_key_stdin: bool,
    #[arg(long, global = true, value_name = "PATH", help_heading = ACCOUNT, hide_short_help = true)]
    pub(crate) api_key_file: Option<PathBuf>,
    #[arg(long, global = true, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) output: Option<OutputFormat>,
    /// Output these fields as JSON; without a value, list the fields
    #[arg(long, global = true, value_name = "FIELDS", num_args = 0..=1, default_missing_value = "", help_heading = OUTPUT)]
    pub(crate) json: Option<String>,
    /// Filter the JSON with a jq expression
    #[arg(long, global = true, value_name = "EXPR", help_heading = OUTPUT)]
    pub(crate) jq: Option<String>,
    /// Format the JSON with a template (see `formsvc help output`)
    #[arg(long, global = true, value_name = "TEMPLATE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) template: Option<String>,
    #[arg(long, global = true, value_name = "WHEN", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) color: Option<Color>,
    #[arg(long, global = true, value_name = "STYLE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) time_style: Option<TimeStyle>,
    /// Never show long output in a pager
    #[arg(long, global = true, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) no_pager: bool,
    /// Print only errors on standard error
    #[arg(short, long, global = true, help_heading = MESSAGES)]
    pub(crate) quiet: bool,
    /// Print more on standard error: -v each request, -vv debug events, -vvv all events
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = MESSAGES)]
    pub(crate) verbose: u8,
    #[arg(long, global = true, value_name = "FORMAT", help_heading = MESSAGES, hide_short_help = true)]
    pub(crate) error_format: Option<ErrorFormat>,
    /// Never prompt, even on a terminal [env: FORMSVC_NO_INPUT] [default: false]
    #[arg(long, global = true, help_heading = MESSAGES, hide_short_help = true)]
    pub(crate) no_input: bool,
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, help_heading = NETWORK, hide_short_help = true)]
    pub(crate) timeout: Option<Duration>,
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, help_heading = NETWORK, hide_short_help = true)]
    pub(crate) max_wait: Option<Duration>,
    #[arg(long, global = true, value_name = "PATH", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) cacert: Option<PathBuf>,
    /// Allow a base URL with http, which sends the API key without encryption (FORMSVC_ALLOW_HTTP allows
    /// single hosts)
    #[arg(long, global = true, help_heading = NETWORK, hide_short_help = true)]
    pub(crate) allow_http: bool,
    #[arg(long, global = true, value_name = "N|off", value_parser = rate, help_heading = NETWORK, hide_short_help = true)]
    pub(crate) max_rate: Option<Rate>,
    /// All given flags as typed. The values of settings are read from here.
    #[arg(skip)]
    pub(crate) given: Given,
}

/// Help headings of the global flags.
const ACCOUNT: &str = "Account";
const OUTPUT: &str = "Output";
const MESSAGES: &str = "Messages";
const NETWORK: &str = "Network";

/// The global flags of data on standard output.
pub(crate) const DATA: &[&str] = &["--output", "--json", "--jq", "--template", "--time-style"];

/// Global flags with their values as typed; a flag without a value has `None`.
pub(crate) type Given = Vec<(String, Option<String>)>;

/// Returns the global flags of a command line, except `--demo` and `--verbose`.
pub(crate) fn given(root: &Command, matches: &ArgMatches) -> Given {
    let globals = root.get_arguments().filter(|arg| {
        let is_counted = matches!(arg.get_action(), ArgAction::Count);
        arg.is_global_set() && arg.get_id() != "demo" && !is_counted
    });
    typed(globals, matches)
}

/// Returns those of the arguments that were typed, in their order. Arguments without a flag have an empty name.
pub(crate) fn typed<'a>(args: impl Iterator<Item = &'a Arg>, matches: &ArgMatches) -> Given {
    let is_typed = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut typed = Vec::new();
    for arg in args.filter(|arg| is_typed(arg.get_id().as_str())) {
        let flag = arg.get_long().map_or(String::new(), |name| format!("--{name}"));
        if !arg.get_action().takes_values() {
            typed.push((flag, None));
            continue;
        }
        for value in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
            typed.push((flag.clone(), Some(value.to_string_lossy().into_owned())));
        }
    }
    typed
}

/// A maximum number of requests per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Requests per minute.
    PerMinute(NonZeroU32),
    /// No maximum.
    Off,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerMinute(rate) => rate.fmt(f),
            Self::Off => f.write_str("off"),
        }
    }
}

/// The longest duration of a flag: 100 years. Sums with the time of a clock do not overflow.
const DURATION_MAX: Duration = Duration::from_secs(876_000 * 3_600);

/// Parses a duration such as `30s`, `2m`, `250ms` or `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let rule = |_| format!("expected {}", Kind::Duration.rule());
    let parsed: jiff::SignedDuration = text.parse().map_err(rule)?;
    match Duration::try_from(parsed) {
        Ok(duration) if duration > DURATION_MAX => {
            Err("expected a duration of at most 876000h".to_owned())
        }
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a duration longer than zero".to_owned()),
    }
}

/// Formats a duration as [`duration`] parses it.
pub(crate) fn format_duration(duration: Duration) -> String {
    jiff::SignedDuration::try_from(duration)
        .map_or_else(|_| format!("{}s", duration.as_secs()), |duration| format!("{duration:#}"))
}

/// Parses a number of requests per minute, or `off`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    if text == "off" {
        return Ok(Rate::Off);
    }
    text.parse().map(Rate::PerMinute).map_err(|_| format!("expected {}", Kind::Rate.rule()))
}

/// Parses a whole number in a range. The rule does not name a maximum of `u32::MAX` or more.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match range.end() {
            most if *most >= u32::MAX.into() => {
                format!("expected a whole number from {} up", range.start())
            }
            most => format!("expected a whole number from {} to {most}", range.start()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_needs_a_unit() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        for bad in ["", "30", "-1s", "0s", "soon", "1 fortnight"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn duration_beyond_clocks_is_refused() {
        assert_eq!(duration("876000h"), Ok(DURATION_MAX));
        assert!(std::time::Instant::now().checked_add(DURATION_MAX).is_some());
        for long in ["876001h", "9223372036854775807s"] {
            let rule = "expected a duration of at most 876000h";
            assert_eq!(duration(long).unwrap_err(), rule, "{long}");
        }
    }

    #[test]
    fn whole_number_error_names_the_range() {
        let limit = whole::<u32>(1..=u32::MAX.into());
        assert_eq!(limit("7"), Ok(7));
        for bad in ["", "0", "-1", "1.5", "ten", "4294967296"] {
            assert_eq!(limit(bad).unwrap_err(), "expected a whole number from 1 up", "{bad:?}");
        }
        let page = whole::<u32>(1..=100);
        assert_eq!(page("101").unwrap_err(), "expected a whole number from 1 to 100");
        assert_eq!(page("x").unwrap_err(), "expected a whole number from 1 to 100");
    }

    #[test]
    fn rate_is_a_number_or_off() {
        assert_eq!(rate("off"), Ok(Rate::Off));
        assert_eq!(rate("300"), Ok(Rate::PerMinute(NonZeroU32::new(300).unwrap())));
        for bad in ["", "0", "-1", "1.5", "OFF", "300/min"] {
            assert!(rate(bad).is_err(), "{bad:?}");
        }
    }
}
