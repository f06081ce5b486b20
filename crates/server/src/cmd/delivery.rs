//! How deliveries are made, as `serve` is told of it.

use std::time::Duration;

use super::error::CommandError;
use super::settings::{bad, duration, whole};
use crate::delivery::{DeliveryOptions, read_retry_base, read_retry_factor};

const SLOTS_MAX: u32 = 10_000;
const ATTEMPT_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(super) struct DeliveryArgs {
    /// Attempts to deliver under way at a time [default: 256].
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_DELIVERY_SLOTS")]
    delivery_slots: Option<String>,
    /// Of these, to one endpoint [default: 4].
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_ENDPOINT_SLOTS")]
    endpoint_slots: Option<String>,
    /// Pause before the first retry of a delivery, up to a fifth longer [default: 10s].
    #[arg(long, value_name = "DURATION", env = "FORMSVC_SERVER_RETRY_BASE")]
    retry_base: Option<String>,
    /// What each further pause is multiplied by [default: 6].
    #[arg(long, value_name = "N", env = "FORMSVC_SERVER_RETRY_FACTOR")]
    retry_factor: Option<String>,
    /// Time an attempt has, from looking up the name to the end of the answer [default: 10s].
    #[arg(long, value_name = "DURATION", env = "FORMSVC_SERVER_ATTEMPT_TIMEOUT")]
    attempt_timeout: Option<String>,
}

impl DeliveryArgs {
    /// The settings, or the first that breaks a rule.
    pub(super) fn resolve(&self) -> Result<DeliveryOptions, CommandError> {
        let mut options = DeliveryOptions::default();
        let number = |flag, text: &Option<String>, most, usual| {
            let Some(text) = text else { return Ok(usual) };
            let rule = format!("must be a whole number from 1 to {most}");
            whole(text, 1, most).ok_or_else(|| bad(flag, text, &rule))
        };
        let slots = &mut options.slots;
        slots.in_all = number("--delivery-slots", &self.delivery_slots, SLOTS_MAX, slots.in_all)?;
        slots.per_endpoint =
            number("--endpoint-slots", &self.endpoint_slots, SLOTS_MAX, slots.per_endpoint)?;
        if let Some(text) = &self.retry_factor {
            options.schedule.factor =
                read_retry_factor(text).map_err(|rule| bad("--retry-factor", text, rule))?;
        }
        if let Some(text) = &self.retry_base {
            options.schedule.base =
                read_retry_base(text).map_err(|rule| bad("--retry-base", text, rule))?;
        }
        if let Some(text) = &self.attempt_timeout {
            let rule = "must be a whole number with `ms` or `s`, from 1ms to 60s, such as 10s";
            let within = |time: &Duration| !time.is_zero() && *time <= ATTEMPT_MAX;
            options.timeout = duration(text)
                .filter(within)
                .ok_or_else(|| bad("--attempt-timeout", text, rule))?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: DeliveryArgs,
    }

    fn resolve(flags: &[&str]) -> Result<DeliveryOptions, CommandError> {
        Line::parse_from([&["x"], flags].concat()).args.resolve()
    }

    #[test]
    fn nothing_said_is_the_schedule_and_the_limits_of_the_documents() {
        assert_eq!(resolve(&[]).unwrap(), DeliveryOptions::default());
    }

    #[test]
    fn each_setting_has_one_rule() {
        let table: [(&str, &[&str], &[&str]); 5] = [
            ("--delivery-slots", &["1", "10000"], &["", "0", "10001", "many"]),
            ("--endpoint-slots", &["1", "64"], &["0", "-1", "1.5"]),
            ("--retry-base", &["0s", "50ms", "10m"], &["10", "11m", "-1s"]),
            ("--retry-factor", &["1", "100"], &["0", "101", "x"]),
            ("--attempt-timeout", &["1ms", "60s"], &["0s", "61s", "10"]),
        ];
        for (flag, good, bad) in table {
            let judged = |value: &&str| resolve(&[&format!("{flag}={value}")]).is_ok();
            assert!(good.iter().all(judged), "{flag} {good:?}");
            assert!(!bad.iter().any(judged), "{flag} {bad:?}");
        }
    }
}
