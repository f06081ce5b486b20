//! Times of signatures: Unix seconds, or a time as in other flags.

use std::str::FromStr;

use jiff::{SignedDuration, Zoned};

use crate::base::when::When;

const RULE: &str = "expected Unix seconds such as 1767225600, a time such as 2026-01-01T00:00:00Z, or the \
    time since then, such as 10m";

/// A time that the user typed.
#[derive(Clone, Debug)]
pub(in crate::cmd) enum SigningTime {
    Unix(u64),
    When(When),
}

impl FromStr for SigningTime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Unix).map_err(|_| RULE);
        }
        text.parse().map(Self::When).map_err(|_| RULE)
    }
}

impl SigningTime {
    /// Returns Unix seconds.
    pub(in crate::cmd) fn unix_secs(&self, now: &Zoned) -> Result<u64, &'static str> {
        match self {
            Self::Unix(secs) => Ok(*secs),
            Self::When(when) => {
                let secs = when.at(now)?.unix_nanos().div_euclid(1_000_000_000);
                u64::try_from(secs).map_err(|_| "is before 1970, the start of Unix seconds")
            }
        }
    }
}

/// Parses `-10m`, `+30s`, `2h` into seconds.
pub(in crate::cmd) fn skew(text: &str) -> Result<i64, &'static str> {
    let rule = "expected a duration with its unit, such as -10m, 30s or +2h";
    let duration: SignedDuration = text.parse().map_err(|_| rule)?;
    Ok(duration.as_secs())
}

/// Returns Unix seconds as a time; `None` after the year 9999.
pub(in crate::cmd) fn format_unix(secs: u64) -> Option<String> {
    let secs = i64::try_from(secs).ok()?;
    jiff::Timestamp::from_second(secs).ok().map(|at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_unix_seconds_and_other_text_is_a_time() {
        let now: Zoned = "2026-01-01T00:00:00+00:00[UTC]".parse().unwrap();
        let secs = |text: &str| text.parse::<SigningTime>().unwrap().unix_secs(&now);
        assert_eq!(secs("1767225600"), Ok(1_767_225_600));
        assert_eq!(secs("0"), Ok(0));
        assert_eq!(secs("2026-01-01T01:00:00+01:00"), Ok(1_767_225_600));
        assert_eq!(secs("10m"), Ok(1_767_225_000));
        assert!(secs("1969-12-31T23:59:59Z").is_err());
        for bad in ["", "-5", "1e9", "18446744073709551616", "soon"] {
            assert!(bad.parse::<SigningTime>().is_err(), "{bad}");
        }
        assert_eq!(format_unix(1_767_225_600).as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(format_unix(u64::MAX), None);
    }

    #[test]
    fn skew_has_a_sign_and_a_unit() {
        for (text, secs) in [("-10m", -600), ("+30s", 30), ("2h", 7200), ("1m 1s", 61)] {
            assert_eq!(skew(text), Ok(secs), "{text}");
        }
        assert!(skew("5").is_err() && skew("").is_err());
    }
}
