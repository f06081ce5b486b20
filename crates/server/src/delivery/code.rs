//! Why an attempt did not deliver: one table of stable codes, as stored, shown and counted.

use http::StatusCode;

use crate::egress::FailureCode;

/// Why an attempt did not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptCode {
    /// There was an answer, and it was not 2xx.
    StatusNot2xx,
    /// There was an answer, and it was 3xx: redirects are not followed.
    Redirected,
    /// The endpoint's URL breaks a rule.
    UrlRefused,
    /// The signing secret of the endpoint cannot be read.
    SecretUnreadable,
    /// Attempts began, and the process ended before they did.
    Interrupted,
    /// There was no answer: no status line and headers in time.
    NoAnswer(FailureCode),
}

impl AttemptCode {
    /// The codes that are not those of [`FailureCode`], with what they mean.
    pub const OWN: [(Self, &'static str, &'static str); 5] = [
        (
            Self::StatusNot2xx,
            "status_not_2xx",
            "the endpoint answered with another status than 2xx",
        ),
        (
            Self::Redirected,
            "redirected",
            "the endpoint answered with a redirect, which is not followed",
        ),
        (Self::UrlRefused, "url_refused", "the endpoint's address breaks a rule"),
        (
            Self::SecretUnreadable,
            "secret_unreadable",
            "this service cannot read the signing secret; uses an attempt only after an hour",
        ),
        (
            Self::Interrupted,
            "interrupted",
            "this service ended during each of five attempts; uses an attempt only after an hour",
        ),
    ];

    /// The code of an answer with this status; `None` for any 2xx, which delivers (SPEC §6 rule 1). The
    /// body of the answer has no part in it.
    pub(super) fn of_status(status: StatusCode) -> Option<Self> {
        if status.is_success() {
            None
        } else if status.is_redirection() {
            Some(Self::Redirected)
        } else {
            Some(Self::StatusNot2xx)
        }
    }

    /// The code.
    pub fn as_str(self) -> &'static str {
        if let Self::NoAnswer(failure) = self {
            return failure.as_str();
        }
        let row = Self::OWN.iter().find(|(code, ..)| *code == self);
        row.expect("every code of our own has a row").1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_2xx_delivers_and_no_other_status() {
        for number in 100..1_000 {
            let code = AttemptCode::of_status(StatusCode::from_u16(number).unwrap());
            let expected = match number {
                200..300 => None,
                300..400 => Some(AttemptCode::Redirected),
                _ => Some(AttemptCode::StatusNot2xx),
            };
            assert_eq!(code, expected, "{number}");
        }
    }

    #[test]
    fn no_two_codes_share_a_text() {
        let own = AttemptCode::OWN.iter().map(|(code, ..)| *code);
        let network = FailureCode::ALL.iter().copied().map(AttemptCode::NoAnswer);
        let all: Vec<_> = own.chain(network).map(AttemptCode::as_str).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
