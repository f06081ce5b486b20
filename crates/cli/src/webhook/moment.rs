//! Moments of signatures on the command line: Unix seconds, or a time as everywhere else.

use std::str::FromStr;

use jiff::{SignedDuration, Zoned};

use crate::when::When;

const RULE: &str = "expected Unix seconds such as 1767225600, or a time such as 2026-01-01T00:00:00Z, \
    or how long ago, such as 10m";

/// A moment as typed.
#[derive(Clone, Debug)]
pub(crate) enum Moment {
    /// Unix seconds, as signatures have them.
    Unix(u64),
    /// A time.
    When(When),
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Unix).map_err(|_| RULE);
        }
        text.parse().map(Self::When).map_err(|_| RULE)
    }
}

impl Moment {
    /// In Unix seconds, seen from `now`.
    pub(crate) fn seconds(&self, now: &Zoned) -> Result<u64, &'static str> {
        match self {
            Self::Unix(seconds) => Ok(*seconds),
            Self::When(when) => {
                let nanos = when.at(now)?.unix_nanos();
                let seconds = nanos.div_euclid(1_000_000_000);
                u64::try_from(seconds).map_err(|_| "is before 1970, where Unix seconds begin")
            }
        }
    }
}

/// Reads `-10m`, `+30s`, `2h`.
pub(crate) fn skew(text: &str) -> Result<i64, &'static str> {
    let rule = "expected a duration with its unit, such as -10m, 30s or +2h";
    let read: SignedDuration = text.parse().map_err(|_| rule)?;
    Ok(read.as_secs())
}

/// Unix seconds as a time, where there is one.
pub(crate) fn shown(seconds: u64) -> Option<String> {
    let seconds = i64::try_from(seconds).ok()?;
    jiff::Timestamp::from_second(seconds).ok().map(|at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_unix_seconds_and_anything_else_is_a_time() {
        let now: Zoned = "2026-01-01T00:00:00+00:00[UTC]".parse().unwrap();
        let seconds = |text: &str| text.parse::<Moment>().unwrap().seconds(&now);
        assert_eq!(seconds("1767225600"), Ok(1_767_225_600));
        assert_eq!(seconds("0"), Ok(0));
        assert_eq!(seconds("2026-01-01T01:00:00+01:00"), Ok(1_767_225_600));
        assert_eq!(seconds("10m"), Ok(1_767_225_000));
        assert!(seconds("1969-12-31T23:59:59Z").is_err());
        for bad in ["", "-5", "1e9", "18446744073709551616", "soon"] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
        assert_eq!(shown(1_767_225_600).as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(shown(u64::MAX), None);
    }

    #[test]
    fn skews_have_a_sign() {
        for (text, seconds) in [("-10m", -600), ("+30s", 30), ("2h", 7200), ("1m 1s", 61)] {
            assert_eq!(skew(text), Ok(seconds), "{text}");
        }
        assert!(skew("5").is_err() && skew("").is_err());
    }
}
