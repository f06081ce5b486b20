//! The value of a fault: how it is written, and how it is printed back.

use std::fmt;
use std::time::Duration;

use crate::value_text::{duration, whole};

/// Longest `Retry-After`, in seconds.
const SECONDS_MAX: u32 = 3_600;

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// There is none.
    Nothing,
    /// A share of the requests or attempts.
    Percent,
    /// A length of time.
    Duration,
    /// A number of seconds, for `Retry-After`.
    Seconds,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultValue {
    /// The fault is on.
    On,
    /// From 1 to 100.
    Percent(u32),
    /// More than nothing.
    Duration(Duration),
    /// 1 or more.
    Seconds(u32),
}

impl Grammar {
    /// What stands for a value in help; `None` when there is none.
    pub const fn placeholder(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Percent => Some("PERCENT"),
            Self::Duration => Some("DURATION"),
            Self::Seconds => Some("SECONDS"),
        }
    }

    /// What a value must be.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Nothing => "takes no value",
            Self::Percent => "takes a whole number from 1 to 100, such as 25%",
            Self::Duration => {
                "takes a whole number with `ms`, `s` or `m`, more than 0 and at most 10m"
            }
            Self::Seconds => "takes a whole number of seconds from 1 to 3600",
        }
    }

    /// Reads a value.
    pub fn parse(self, text: &str) -> Option<FaultValue> {
        match self {
            Self::Nothing => text.is_empty().then_some(FaultValue::On),
            Self::Percent => {
                let number = text.strip_suffix('%').unwrap_or(text);
                whole(number, 1, 100).map(FaultValue::Percent)
            }
            Self::Duration => {
                duration(text).filter(|time| !time.is_zero()).map(FaultValue::Duration)
            }
            Self::Seconds => whole(text, 1, SECONDS_MAX).map(FaultValue::Seconds),
        }
    }
}

impl fmt::Display for FaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => Ok(()),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Duration(time) => match time.as_millis() {
                millis if millis % 60_000 == 0 => write!(f, "{}m", millis / 60_000),
                millis if millis % 1_000 == 0 => write!(f, "{}s", millis / 1_000),
                millis => write!(f, "{millis}ms"),
            },
            Self::Seconds(seconds) => write!(f, "{seconds}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_their_rule_and_printed_as_they_are_written() {
        let table: [(Grammar, &[&str], &[&str]); 4] = [
            (Grammar::Nothing, &[""], &["1", "on", " "]),
            (Grammar::Percent, &["1%", "50%", "100%"], &["", "0", "%", "101", "1.5", "-1", "5 %"]),
            (
                Grammar::Duration,
                &["1ms", "250ms", "2s", "90s", "10m"],
                &["", "0s", "5", "s", "11m", "1h"],
            ),
            (Grammar::Seconds, &["1", "60", "3600"], &["", "0", "3601", "1s", "1.5"]),
        ];
        for (grammar, good, bad) in table {
            for text in good {
                assert_eq!(grammar.parse(text).unwrap().to_string(), *text);
            }
            for text in bad {
                assert_eq!(grammar.parse(text), None, "{grammar:?} {text:?}");
            }
        }
        assert_eq!(Grammar::Percent.parse("50"), Some(FaultValue::Percent(50)));
        assert_eq!(Grammar::Duration.parse("60s").unwrap().to_string(), "1m");
    }
}
