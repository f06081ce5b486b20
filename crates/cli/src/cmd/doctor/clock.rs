//! Compares this machine's clock with the service's. Pure.

use std::time::{Duration, SystemTime};

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;

use crate::checks::{Check, Outcome};

const NAME: &str = "clock";
/// Difference from which the check warns. It fails from [`SIGNATURE_TOLERANCE`]: such a receiver refuses
/// every delivery (SPEC §5).
const WARNING: Duration = Duration::from_secs(60);

/// Checks the `Date` of a response against the times of its request.
pub(super) fn check(date: Option<&str>, sent: SystemTime, received: SystemTime) -> Check {
    let Some(date) = date else {
        return Check::warning(NAME, "not compared: the response has no `Date`");
    };
    let Ok(date) = httpdate::parse_http_date(date) else {
        return Check::warning(NAME, "not compared: the `Date` of the response is invalid");
    };
    // The service set the date, without its fraction of a second, between the two times.
    let (least, most) = (seconds(received, date), seconds(sent, date) + 1.0);
    let tolerance = (most - least) / 2.0;
    // The smallest difference that explains the date; positive if this clock is behind.
    let skew = if least > 0.0 { least } else { most.min(0.0) };
    let outcome = match skew.abs() {
        difference if difference < WARNING.as_secs_f64() => {
            let found = format!("agrees with the service's clock (±{tolerance:.1} s)");
            return Check::passed(NAME, found);
        }
        difference if difference < SIGNATURE_TOLERANCE.as_secs_f64() => Outcome::Warning,
        _ => Outcome::Failed,
    };
    let side = if skew > 0.0 { "behind" } else { "ahead of" };
    let found = format!("at least {:.0} s {side} the service's clock", skew.abs().floor());
    Check::new(NAME, outcome, found).hint(Some(
        "synchronize this machine's clock (NTP): webhook signatures are refused at a difference of 300 s",
    ))
}

/// Returns the seconds from one time to another; negative if the second is earlier.
fn seconds(from: SystemTime, to: SystemTime) -> f64 {
    match to.duration_since(from) {
        Ok(time) => time.as_secs_f64(),
        Err(error) => -error.duration().as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z plus milliseconds.
    fn at(millis: i64) -> SystemTime {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let by = Duration::from_millis(millis.unsigned_abs());
        if millis < 0 { then - by } else { then + by }
    }

    const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

    #[test]
    fn clock_outcome_allows_for_the_round_trip() {
        use Outcome::{Failed, Passed, Warning};
        for (sent, received, outcome) in [
            (0, 0, Passed),
            // The service set the date in the last millisecond of its second.
            (999, 999, Passed),
            (-59_000, -59_000, Passed),
            (-60_000, -60_000, Warning),
            // The request took half a minute.
            (-75_000, -45_000, Passed),
            (-299_000, -299_000, Warning),
            (-300_000, -300_000, Failed),
            (60_900, 60_900, Passed),
            (61_000, 61_000, Warning),
            (300_900, 300_900, Warning),
            (301_000, 301_000, Failed),
            (290_000, 310_000, Warning),
            (86_400_000_000, 86_400_000_000, Failed),
        ] {
            let check = check(Some(DATE), at(sent), at(received));
            assert_eq!(check.outcome, outcome, "{sent} {received}: {}", check.found);
            assert_eq!(check.hint.is_some(), outcome != Passed);
        }
    }

    #[test]
    fn clock_difference_names_its_direction() {
        assert_eq!(
            check(Some(DATE), at(-90_000), at(-90_000)).found,
            "at least 90 s behind the service's clock"
        );
        assert_eq!(
            check(Some(DATE), at(91_000), at(91_000)).found,
            "at least 90 s ahead of the service's clock"
        );
        assert_eq!(
            check(Some(DATE), at(0), at(400)).found,
            "agrees with the service's clock (±0.7 s)"
        );
    }

    #[test]
    fn missing_or_invalid_date_is_a_warning() {
        for date in [None, Some("yesterday"), Some("")] {
            let check = check(date, at(0), at(0));
            assert_eq!(check.outcome, Outcome::Warning);
            assert!(check.found.starts_with("not compared: "), "{}", check.found);
        }
    }
}
