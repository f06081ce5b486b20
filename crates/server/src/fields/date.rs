//! Days of the calendar.

use std::fmt;

/// A day from 0001-01-01 to 9999-12-31, as `YYYY-MM-DD`: what browsers send for a date.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
// Fixed width, so that the order of the texts is the order of the days.
pub struct Date(Box<str>);

impl Date {
    /// Takes a day; else the rule it breaks, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if is_day(text) { Ok(Self(text.into())) } else { Err("must be a day, such as 2026-01-31") }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !shaped {
        return false;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    year >= 1 && (1..=days_of(year, month)).contains(&day)
}

fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for good in ["0001-01-01", "1900-02-28", "2000-02-29", "2024-02-29", "9999-12-31"] {
            assert_eq!(Date::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "2026",
            "2026-1-31",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-01-32",
            "2026-04-31",
            "1900-02-29",
            "2023-02-29",
            "0000-01-01",
            "10000-01-01",
            "2026/01/31",
            "31-01-2026",
            "2026-01-31T00:00",
            "٢٠٢٦-٠١-٣١",
            "2026-01-3é",
        ] {
            assert!(Date::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn later_days_are_greater() {
        let days = ["0999-12-31", "2025-12-31", "2026-01-01", "2026-01-02", "2026-02-01"];
        assert!(days.map(|day| Date::parse(day).unwrap()).is_sorted_by(|a, b| a < b));
    }
}
