//! The announced rate limit of a service: the header `RateLimit-Policy` of
//! draft-ietf-httpapi-ratelimit-headers.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// Longest window of a policy. A longer one is a quota, not a pace.
const WINDOW_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A number of requests in any window of time.
///
/// ```
/// use formsvc_protocol::RatePolicy;
/// let policy = RatePolicy::parse(r#""default";q=300;w=60"#).unwrap();
/// assert_eq!((policy.requests.get(), policy.window.as_secs()), (300, 60));
/// assert_eq!(policy.to_string(), r#""default";q=300;w=60"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatePolicy {
    /// Number of requests in any window.
    pub requests: NonZeroU32,
    /// Length of the window in whole seconds.
    pub window: Duration,
}

impl RatePolicy {
    /// Name of the header.
    pub const HEADER: &str = "ratelimit-policy";

    /// Parses the value of the header. Of several policies, returns the one with the shortest window,
    /// because it sets the pace. Policies that do not count requests, have no window or a window of
    /// more than a day are skipped.
    pub fn parse(header: &str) -> Option<Self> {
        header.split(',').filter_map(Self::parse_one).min_by_key(|policy| policy.window)
    }

    fn parse_one(policy: &str) -> Option<Self> {
        let (mut requests, mut window) = (None, None);
        for (name, value) in policy.split(';').filter_map(|parameter| parameter.split_once('=')) {
            match name.trim() {
                "q" => requests = value.trim().parse().ok(),
                "w" => window = value.trim().parse().ok().map(Duration::from_secs),
                "qu" if value.trim().trim_matches('"') != "requests" => return None,
                _ => {}
            }
        }
        let window = window.filter(|window| !window.is_zero() && *window <= WINDOW_MAX)?;
        Some(Self { requests: requests?, window })
    }
}

impl fmt::Display for RatePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"default\";q={};w={}", self.requests, self.window.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(header: &str) -> Option<(u32, u64)> {
        RatePolicy::parse(header).map(|policy| (policy.requests.get(), policy.window.as_secs()))
    }

    #[test]
    fn policy_with_the_shortest_window_is_chosen() {
        assert_eq!(
            parsed(r#""day";q=9000;w=86400, "burst, short";w=10;q=5;x="a;b""#),
            Some((5, 10))
        );
        assert_eq!(parsed("default; q=7; w=1; qu=\"requests\""), Some((7, 1)));
    }

    #[test]
    fn unusable_policy_is_skipped() {
        for header in [
            "",
            "\"a\"",
            "\"a\";q=5",
            "\"a\";w=5",
            "\"a\";q=0;w=5",
            "\"a\";q=5;w=0",
            "\"a\";q=5;w=86401",
            "\"a\";q=-5;w=5",
            "\"a\";q=99999999999;w=5",
            "\"a\";q=5;w=5;qu=\"content-bytes\"",
        ] {
            assert_eq!(parsed(header), None, "{header}");
        }
    }
}
