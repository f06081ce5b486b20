//! The treatment of invalid deliveries, and injected faults.

use std::time::Duration;

use http::StatusCode;

/// The treatment of invalid deliveries, which a receiver must refuse: those with any verdict but valid and unchecked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// Respond with the status of the verdict, 401 or 400, and do not forward.
    #[default]
    Reject,
    /// Respond with 200, and do not forward.
    Accept,
    /// Treat such deliveries as valid.
    Forward,
}

/// Faults to inject. The attempts of each submission are counted separately.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Number of attempts, beginning with the first, that get no response because the listener closes the connection.
    pub drop: u32,
    /// Faults of the attempts after the dropped ones, in order. The last fault applies to all later attempts.
    pub respond: Vec<Fault>,
    /// Delay before every response.
    pub delay: Option<Duration>,
}

/// The fault of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Drop,
    Respond(StatusCode),
}

impl OnInvalid {
    /// All values with their names in JSON and in flags.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Reject, "reject"), (Self::Accept, "accept"), (Self::Forward, "forward")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(value, _)| *value == self).expect("every value has a name").1
    }
}

impl Fault {
    /// Parses a status such as `503`, or `pass` for no fault.
    ///
    /// # Errors
    /// Returns the rule that the text violates.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "pass" {
            return Ok(Self::None);
        }
        let status = text.trim().parse().ok().filter(|status| (200..600).contains(status));
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let rule = "expected statuses from 200 to 599, or `pass`, separated by commas: 503,503,200";
        status.map(Self::Respond).ok_or_else(|| rule.to_owned())
    }
}

impl Faults {
    /// Returns the fault of an attempt. The first attempt has number 1.
    pub(super) fn of_attempt(&self, attempt: u32) -> Fault {
        let Some(after) = attempt.checked_sub(self.drop).and_then(|after| after.checked_sub(1))
        else {
            return Fault::Drop;
        };
        let last = self.respond.len().saturating_sub(1);
        let index = usize::try_from(after).unwrap_or(usize::MAX).min(last);
        self.respond.get(index).copied().unwrap_or(Fault::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_dropped_first_and_the_last_response_repeats() {
        for (drop, text, expected) in [
            (0, None, ["-"; 5]),
            (2, None, ["drop", "drop", "-", "-", "-"]),
            (0, Some("503,503,200"), ["503", "503", "200", "200", "200"]),
            (1, Some("500"), ["drop", "500", "500", "500", "500"]),
            (0, Some("503, pass"), ["503", "-", "-", "-", "-"]),
            (u32::MAX, None, ["drop"; 5]),
        ] {
            let parse =
                |text: &str| text.split(',').map(|one| Fault::parse(one).unwrap()).collect();
            let faults = Faults { drop, respond: text.map(parse).unwrap_or_default(), delay: None };
            let name = |attempt| match faults.of_attempt(attempt) {
                Fault::None => "-".to_owned(),
                Fault::Drop => "drop".to_owned(),
                Fault::Respond(status) => status.as_str().to_owned(),
            };
            assert_eq!((1..=5).map(name).collect::<Vec<_>>(), expected);
            assert_eq!(name(u32::MAX) == "drop", drop == u32::MAX);
        }
    }

    #[test]
    fn invalid_response_error_contains_the_rule() {
        for bad in ["", "100", "600", "2e2", "-200", "ok", "503;200"] {
            assert!(Fault::parse(bad).unwrap_err().contains("expected"), "{bad:?}");
        }
    }
}
