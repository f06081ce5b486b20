//! The arguments as typed.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::ErrorFormat;
use crate::output::{Color, OutputFormat, TimeStyle};
use clap::Args;

/// Flags of every command.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch as typed")]
pub struct Globals {
    /// Start a service with sample data, for this command only
    #[arg(long, global = true, help_heading = ACCOUNT)]
    pub demo: bool,
    /// Profile with the service and its API key [env: FORMSVC_PROFILE]
    #[arg(long, global = true, value_name = "NAME", help_heading = ACCOUNT)]
    pub profile: Option<String>,
    /// Base URL of the service: https, or http on this machine [env: FORMSVC_BASE_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = ACCOUNT)]
    pub base_url: Option<String>,
    /// Read the API key from standard input (or set FORMSVC_API_KEY)
    #[arg(long, global = true, help_heading = ACCOUNT)]
    pub api_key_stdin: bool,
    /// Read the API key from a file [env: FORMSVC_API_KEY_FILE]
    #[arg(long, global = true, value_name = "PATH", help_heading = ACCOUNT)]
    pub api_key_file: Option<PathBuf>,
    /// Output format [default: table on a terminal, tsv in a pipe]
    #[arg(long, global = true, value_name = "FORMAT", help_heading = OUTPUT)]
    pub output: Option<OutputFormat>,
    /// Output these fields as JSON; without a value, list the fields
    #[arg(long, global = true, value_name = "FIELDS", num_args = 0..=1, default_missing_value = "", help_heading = OUTPUT)]
    pub json: Option<String>,
    /// Filter the JSON with a jq expression
    #[arg(long, global = true, value_name = "EXPR", help_heading = OUTPUT)]
    pub jq: Option<String>,
    /// Format the JSON with a template (see `formsvc help output`)
    #[arg(long, global = true, value_name = "TEMPLATE", help_heading = OUTPUT)]
    pub template: Option<String>,
    /// When to use colours [default: auto]
    #[arg(long, global = true, value_name = "WHEN", help_heading = OUTPUT)]
    pub color: Option<Color>,
    /// Format of times on a terminal [default: relative]
    #[arg(long, global = true, value_name = "STYLE", help_heading = OUTPUT, hide_short_help = true)]
    pub time_style: Option<TimeStyle>,
    /// Never show long output in a pager
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub no_pager: bool,
    /// Print only errors on standard error
    #[arg(short, long, global = true, help_heading = MESSAGES)]
    pub quiet: bool,
    /// Print more on standard error: -v each request, -vv debug events, -vvv all events
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = MESSAGES)]
    pub verbose: u8,
    /// Format of errors and messages on standard error [default: text]
    #[arg(long, global = true, value_name = "FORMAT", help_heading = MESSAGES, hide_short_help = true)]
    pub error_format: Option<ErrorFormat>,
    /// Never prompt, even on a terminal
    #[arg(long, global = true, help_heading = MESSAGES, hide_short_help = true)]
    pub no_input: bool,
    /// Time limit for one request and its answer, such as `500ms` or `2m` [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, help_heading = NETWORK, hide_short_help = true)]
    pub timeout: Option<Duration>,
    /// Fail if a rate limit requires a longer wait [default: 2m]
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, help_heading = NETWORK, hide_short_help = true)]
    pub max_wait: Option<Duration>,
    /// Trust the certificates of a PEM file as well: of an authority or of a server
    /// [env: FORMSVC_CACERT]
    #[arg(long, global = true, value_name = "PATH", help_heading = NETWORK, hide_short_help = true)]
    pub cacert: Option<PathBuf>,
    /// Maximum requests per minute, or `off` [default: the limit that the service announces, else 300]
    #[arg(long, global = true, value_name = "N|off", value_parser = rate, help_heading = NETWORK, hide_short_help = true)]
    pub max_rate: Option<Rate>,
}

/// Help headings of the global flags.
const ACCOUNT: &str = "Account";
const OUTPUT: &str = "Output";
const MESSAGES: &str = "Messages";
const NETWORK: &str = "Network";

/// A number a minute, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many a minute.
    PerMinute(NonZeroU32),
    /// No limit.
    Off,
}

/// The longest duration of a flag: 100 years. Sums with the time of a clock do not overflow.
const DURATION_MAX: Duration = Duration::from_secs(876_000 * 3_600);

/// Reads `30s`, `2m`, `250ms`, `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let rule = "expected a duration with its unit, such as 250ms, 30s, 2m or 1h";
    let read: jiff::SignedDuration = text.parse().map_err(|_| rule.to_owned())?;
    match Duration::try_from(read) {
        Ok(duration) if duration > DURATION_MAX => {
            Err("expected a duration of at most 876000h".to_owned())
        }
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a duration longer than nothing".to_owned()),
    }
}

/// Reads a number a minute, or `off`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    if text == "off" {
        return Ok(Rate::Off);
    }
    let rule = "expected a whole number of requests a minute from 1 up, or `off`";
    text.parse().map(Rate::PerMinute).map_err(|_| rule.to_owned())
}

/// Reads a whole number within a range; an end that is the type's own counts as none.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (least, most) = (range.start(), range.end());
        let too_big = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let rule = || match text.parse::<u64>() {
            Ok(number) if number < *least && *most >= u32::MAX.into() => {
                format!("expected a whole number from {least} up")
            }
            Err(_) if !too_big && *most >= u32::MAX.into() => {
                format!("expected a whole number from {least} up")
            }
            _ => format!("expected a whole number from {least} to {most}"),
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
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
    fn whole_numbers_are_refused_in_words() {
        let limit = whole::<u32>(1..=u32::MAX.into());
        assert_eq!(limit("7"), Ok(7));
        for bad in ["", "0", "-1", "1.5", "ten"] {
            assert_eq!(limit(bad).unwrap_err(), "expected a whole number from 1 up", "{bad:?}");
        }
        let too_big = "expected a whole number from 1 to 4294967295";
        assert_eq!(limit("4294967296").unwrap_err(), too_big);
        assert_eq!(limit("99999999999999999999999").unwrap_err(), too_big);
        let page = whole::<u32>(1..=100);
        assert_eq!(page("101").unwrap_err(), "expected a whole number from 1 to 100");
        assert_eq!(page("x").unwrap_err(), "expected a whole number from 1 to 100");
    }

    #[test]
    fn rates_are_numbers_or_off() {
        assert_eq!(rate("off"), Ok(Rate::Off));
        assert_eq!(rate("300"), Ok(Rate::PerMinute(NonZeroU32::new(300).unwrap())));
        for bad in ["", "0", "-1", "1.5", "OFF", "300/min"] {
            assert!(rate(bad).is_err(), "{bad:?}");
        }
    }
}
