//! Times and ages in arguments.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};

use crate::base::when::{When, now};

/// Parses the time of a signature: Unix seconds, or a time as in other flags. Returns Unix seconds.
pub(in crate::cmd) fn unix_secs(text: &str) -> Result<i64, String> {
    let rule = "expected Unix seconds such as 1767225600, a time such as 2026-01-01T00:00:00Z, or an age such as 10m";
    let secs = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| rule)?
    } else {
        let when: When = text.parse().map_err(|_| rule)?;
        i64::try_from(when.at(&now())?.unix_nanos().div_euclid(1_000_000_000)).map_err(|_| rule)?
    };
    if jiff::Timestamp::from_second(secs).is_err() {
        return Err("expected a time before the year 10000".to_owned());
    }
    if secs < 0 { Err("it is before 1970, the start of Unix seconds".to_owned()) } else { Ok(secs) }
}

/// Parses `7d`, `12h`, `2w`.
pub(in crate::cmd) fn age(text: &str) -> Result<Duration, String> {
    let span = text.parse::<Span>();
    let age = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let age = age.ok().and_then(|age| Duration::try_from(age).ok());
    age.filter(|age| !age.is_zero())
        .ok_or_else(|| "expected a duration with its unit, such as 7d, 12h or 30m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_unix_seconds_and_other_text_is_a_time() {
        assert_eq!(unix_secs("1767225600"), Ok(1_767_225_600));
        assert_eq!(unix_secs("0"), Ok(0));
        assert_eq!(unix_secs("2026-01-01T01:00:00+01:00"), Ok(1_767_225_600));
        let ago = jiff::Timestamp::now().as_second() - unix_secs("10m").unwrap();
        assert!((600..=605).contains(&ago), "{ago}");
        for bad in ["", "-5", "1e9", "1969-12-31T23:59:59Z", "999999999999", "9e99", "soon"] {
            assert!(unix_secs(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn age_has_a_unit() {
        let day = Duration::from_secs(86_400);
        assert_eq!(age("7d"), Ok(7 * day));
        assert_eq!(age("2w"), Ok(14 * day));
        assert_eq!(age("30m"), Ok(Duration::from_secs(1800)));
        for bad in ["", "d", "0d", "-1d", "7", "é", "99999999999d", "7 fortnights"] {
            assert!(age(bad).is_err(), "{bad:?}");
        }
    }
}
