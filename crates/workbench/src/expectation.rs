//! Expectations about the responses of receivers: sets of statuses, and a count of other responses.

use std::fmt;
use std::str::FromStr;

use formsvc_contract::send::SendError;

use crate::mask;

/// Longest text in [`ResponseTally::first_unexpected`], in characters.
const MAX_EXCERPT: usize = 200;

/// A set of response statuses, parsed from a text such as `5xx`, `failed` or `404`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusSet {
    /// All 2xx statuses.
    #[default]
    Success,
    /// All statuses except 2xx. This set also contains a missing response.
    Failure,
    Exact(u16),
    /// All statuses with this first digit.
    Class(u16),
}

impl StatusSet {
    /// Returns true if the status is in the set. `None` means that there was no response.
    pub fn contains(self, status: Option<u16>) -> bool {
        let is_in = |class: u16| status.is_some_and(|status| status / 100 == class);
        match self {
            Self::Success => is_in(2),
            Self::Failure => !is_in(2),
            Self::Exact(expected) => status == Some(expected),
            Self::Class(class) => is_in(class),
        }
    }
}

impl FromStr for StatusSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let class = text.strip_suffix("xx").and_then(|digit| digit.parse().ok());
        match (text, class, text.parse()) {
            ("ok", ..) => Ok(Self::Success),
            ("failed", ..) => Ok(Self::Failure),
            (_, Some(class @ 1..=5), _) => Ok(Self::Class(class)),
            (_, _, Ok(status @ 100..=599)) => Ok(Self::Exact(status)),
            _ => Err("expected `ok`, `failed`, a status from 100 to 599, or a class such as 5xx"
                .to_owned()),
        }
    }
}

impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("ok"),
            Self::Failure => f.write_str("failed"),
            Self::Exact(status) => write!(f, "{status}"),
            Self::Class(class) => write!(f, "{class}xx"),
        }
    }
}

/// Counts responses, and keeps the first unexpected response and the first error.
#[derive(Clone, Debug, Default)]
pub struct ResponseTally {
    pub expected: StatusSet,
    pub sent: u64,
    /// Number of responses with a status that is not in `expected`.
    pub unexpected: u64,
    /// The first unexpected response: its status and the start of its body, with secrets masked.
    pub first_unexpected: Option<(u16, String)>,
    pub no_response: u64,
    pub first_error: Option<SendError>,
}

impl ResponseTally {
    pub fn new(expected: StatusSet) -> Self {
        Self { expected, ..Self::default() }
    }

    /// Counts the result of one request: the status and body of the response.
    pub fn add(&mut self, result: Result<(u16, &[u8]), &SendError>) {
        self.sent += 1;
        match result {
            Ok((status, body)) => {
                if !self.expected.contains(Some(status)) {
                    self.unexpected += 1;
                    let body = String::from_utf8_lossy(body);
                    // Secrets are masked, because the body may be a debug page that contains the request's headers.
                    let excerpt = mask::text(body.trim()).chars().take(MAX_EXCERPT).collect();
                    self.first_unexpected.get_or_insert((status, excerpt));
                }
            }
            Err(error) => {
                self.no_response += 1;
                self.first_error.get_or_insert_with(|| error.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_set_is_a_word_a_status_or_a_class() {
        for (text, inside, outside) in [
            ("ok", &[Some(200), Some(299)][..], &[None, Some(199), Some(300)][..]),
            ("failed", &[None, Some(199), Some(300), Some(503)], &[Some(200), Some(204)]),
            ("2xx", &[Some(204)], &[Some(301), None]),
            ("401", &[Some(401)], &[Some(403), None]),
        ] {
            let set: StatusSet = text.parse().unwrap();
            assert_eq!(set.to_string(), text);
            assert!(inside.iter().all(|status| set.contains(*status)), "{text}");
            assert!(!outside.iter().any(|status| set.contains(*status)), "{text}");
        }
        for bad in ["", "xx", "6xx", "0xx", "20", "20x", "-1", "OK", "600", "1000"] {
            assert!(bad.parse::<StatusSet>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tally_keeps_first_unexpected_response_masked() {
        let mut tally = ResponseTally::new(StatusSet::Success);
        let mut add = |status: u16, body: &str| {
            tally.add(Ok((status, body.as_bytes())));
            tally.clone()
        };
        assert!(add(204, "").first_unexpected.is_none());
        add(500, &format!(" v1={} ", "ab".repeat(32)));
        let tally = add(404, "x");
        assert_eq!((tally.sent, tally.unexpected, tally.no_response), (3, 2, 0));
        let (status, body) = tally.first_unexpected.clone().unwrap();
        assert_eq!(status, 500);
        assert!(body.starts_with("v1=abab") && !body.contains(&"ab".repeat(32)), "{body}");
    }
}
