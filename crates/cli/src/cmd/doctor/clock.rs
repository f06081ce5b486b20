//! This machine's clock, beside the service's. Pure; times go in.

use std::time::{Duration, SystemTime};

use crate::checks::Check;

const NAME: &str = "clock";
/// From where it is worth a word.
const WARN: Duration = Duration::from_secs(60);
/// How old a signature may be: a receiver whose clock is further off refuses every delivery (SPEC §5).
const FAIL: Duration = Duration::from_secs(300);

/// How far the service's clock is from this one, in milliseconds: somewhere in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Skew {
    least: i128,
    most: i128,
}

impl Skew {
    /// The service wrote its `date`, whose fraction of a second is cut, after the request was sent and
    /// before the answer was there.
    fn of(date: SystemTime, sent: SystemTime, received: SystemTime) -> Self {
        Self { least: millis(date) - millis(received), most: millis(date) + 1_000 - millis(sent) }
    }

    /// How far it is off at least: nothing while it may be right.
    fn certain(self) -> i128 {
        if self.least > 0 { self.least } else { self.most.min(0) }
    }
}

/// Milliseconds since 1970, also before.
fn millis(time: SystemTime) -> i128 {
    let whole = |time: Duration| i128::try_from(time.as_millis()).expect("a u64 of seconds fits");
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => whole(since),
        Err(before) => -whole(before.duration()),
    }
}

/// Compares this machine's clock with what the service's answer says.
pub(super) fn check(date: Option<&str>, sent: SystemTime, received: SystemTime) -> Check {
    let Some(date) = date else {
        return Check::warn(NAME, "not compared: the service's answer has no Date");
    };
    let Ok(date) = httpdate::parse_http_date(date) else {
        return Check::warn(NAME, "not compared: the Date of the service's answer is none");
    };
    let skew = Skew::of(date, sent, received);
    let certain = skew.certain();
    let off = Duration::from_millis(u64::try_from(certain.unsigned_abs()).unwrap_or(u64::MAX));
    #[expect(clippy::cast_precision_loss, reason = "seconds for reading need no more digits")]
    let within = (skew.most - skew.least) as f64 / 2_000.0;
    if off < WARN {
        return Check::ok(
            NAME,
            format!("agrees with the service's, as far as can be told (±{within:.1} s)"),
        );
    }
    let side = if certain > 0 { "behind" } else { "ahead of" };
    let found = format!("{} s {side} the service's, or more", off.as_secs());
    let check = if off < FAIL { Check::warn } else { Check::fail };
    check(NAME, found).hint(
        "set it, by NTP for one: webhooks are refused here when their signatures seem to be 300 s off",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Outcome;

    /// 2026-01-01T00:00:00Z and so many milliseconds.
    fn at(millis: i64) -> SystemTime {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let by = Duration::from_millis(millis.unsigned_abs());
        if millis < 0 { then - by } else { then + by }
    }

    const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

    #[test]
    fn what_the_date_and_the_round_trip_leave_open_is_not_held_against_it() {
        use Outcome::{Fail, Ok, Warn};
        for (sent, received, outcome) in [
            (0, 0, Ok),
            // Written in the last millisecond of its second.
            (999, 999, Ok),
            (-59_000, -59_000, Ok),
            (-60_000, -60_000, Warn),
            // Half a minute under way: it may have been written at any moment of it.
            (-75_000, -45_000, Ok),
            (-299_000, -299_000, Warn),
            (-300_000, -300_000, Fail),
            (60_900, 60_900, Ok),
            (61_000, 61_000, Warn),
            (300_900, 300_900, Warn),
            (301_000, 301_000, Fail),
            (290_000, 310_000, Warn),
            (86_400_000_000, 86_400_000_000, Fail),
        ] {
            let check = check(Some(DATE), at(sent), at(received));
            assert_eq!(check.outcome, outcome, "{sent} {received}: {}", check.found);
            assert_eq!(check.hint.is_some(), outcome != Ok);
        }
    }

    #[test]
    fn it_says_which_clock_is_behind() {
        assert_eq!(
            check(Some(DATE), at(-90_000), at(-90_000)).found,
            "90 s behind the service's, or more"
        );
        assert_eq!(
            check(Some(DATE), at(91_000), at(91_000)).found,
            "90 s ahead of the service's, or more"
        );
        assert_eq!(
            check(Some(DATE), at(0), at(400)).found,
            "agrees with the service's, as far as can be told (±0.7 s)"
        );
    }

    #[test]
    fn a_service_without_a_date_is_not_compared() {
        for date in [None, Some("yesterday"), Some("")] {
            let check = check(date, at(0), at(0));
            assert_eq!(check.outcome, Outcome::Warn);
            assert!(check.found.starts_with("not compared: "), "{}", check.found);
        }
    }
}
