//! Statuses as people name them, wherever a flag or a filter does: `2xx`, `failed`, `404`.

use std::fmt;
use std::str::FromStr;

/// Statuses of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statuses {
    /// 2xx, which is what a sender takes for delivered.
    Ok,
    /// Anything else, no answer included.
    Failed,
    /// Exactly this one.
    One(u16),
    /// Those that begin with this digit.
    Class(u8),
}

impl Statuses {
    /// Whether an answer of this status, or none, is one of them.
    pub(crate) fn has(self, status: Option<u16>) -> bool {
        let (least, most, within) = self.range();
        status.is_some_and(|status| (least..=most).contains(&status.into())) == within
    }

    /// The statuses from here to there, and whether it is those or all others.
    pub(crate) fn range(self) -> (i64, i64, bool) {
        match self {
            Self::Ok => (200, 299, true),
            Self::Failed => (200, 299, false),
            Self::One(status) => (status.into(), status.into(), true),
            Self::Class(digit) => (i64::from(digit) * 100, i64::from(digit) * 100 + 99, true),
        }
    }
}

/// Whether a sender takes a status for delivered.
pub(crate) fn is_accepted(status: u16) -> bool {
    Statuses::Ok.has(Some(status))
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let class = text.strip_suffix("xx").and_then(|digit| digit.parse().ok());
        match (text, class, text.parse()) {
            ("ok", ..) => Ok(Self::Ok),
            ("failed", ..) => Ok(Self::Failed),
            (_, Some(digit @ 1..=5), _) => Ok(Self::Class(digit)),
            (_, _, Ok(status @ 100..=599)) => Ok(Self::One(status)),
            _ => Err("expected `ok`, `failed`, a status from 100 to 599, or a class such as 5xx"
                .to_owned()),
        }
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Failed => f.write_str("failed"),
            Self::One(status) => write!(f, "{status}"),
            Self::Class(digit) => write!(f, "{digit}xx"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_words_numbers_or_classes_and_told_as_they_are_typed() {
        for (text, has, has_not) in [
            ("ok", &[Some(200), Some(299)][..], &[None, Some(199), Some(300)][..]),
            ("failed", &[None, Some(199), Some(300), Some(503)], &[Some(200), Some(204)]),
            ("2xx", &[Some(204)], &[Some(301), None]),
            ("401", &[Some(401)], &[Some(403), None]),
        ] {
            let statuses: Statuses = text.parse().unwrap();
            assert_eq!(statuses.to_string(), text);
            assert!(has.iter().all(|status| statuses.has(*status)), "{text}");
            assert!(!has_not.iter().any(|status| statuses.has(*status)), "{text}");
        }
        for bad in ["", "xx", "6xx", "0xx", "20", "20x", "-1", "OK", "600", "1000"] {
            assert!(bad.parse::<Statuses>().is_err(), "{bad}");
        }
    }
}
