//! What came of sending: whether the answers are those that were expected.

use formsvc_contract::send::{Answer, SendError};

use super::mask;
use super::sender;
use super::statuses::Statuses;
use crate::error::{CliError, Code};
use crate::exit::Exit;

/// Characters of an answer's body that are told in an error.
const TOLD_MAX: usize = 200;

/// What came back, as far as it was not expected.
#[derive(Debug)]
pub(crate) struct Answers {
    expected: Statuses,
    /// Whether what the receiver said is told to whoever is told the error, too.
    said: bool,
    sent: u64,
    /// Answers with another status, and the first of them with what it said.
    others: u64,
    first: Option<(u16, String)>,
    /// How often nothing came back, and why the first time.
    silences: u64,
    why: Option<SendError>,
}

impl Answers {
    pub(crate) fn new(expected: Statuses) -> Self {
        Self { expected, said: false, sent: 0, others: 0, first: None, silences: 0, why: None }
    }

    /// The same where what the receiver said is told anyway.
    #[must_use]
    pub(crate) fn said_elsewhere(self) -> Self {
        Self { said: true, ..self }
    }

    /// Notes what came back, or that nothing did.
    pub(crate) fn note(&mut self, answer: &Result<Answer, SendError>) {
        self.sent += 1;
        match answer {
            Ok(answer) if self.expected.has(Some(answer.status.as_u16())) => {}
            Ok(answer) => {
                self.others += 1;
                let body = String::from_utf8_lossy(&answer.body);
                // A page for debugging shows the request's headers.
                let told = mask::text(body.trim()).chars().take(TOLD_MAX).collect();
                self.first.get_or_insert((answer.status.as_u16(), told));
            }
            Err(error) => {
                self.silences += 1;
                self.why.get_or_insert_with(|| error.clone());
            }
        }
    }

    /// The error, if anything was not as expected. `what` was sent: "deliveries"; `hint` knows what is most
    /// often behind a status.
    pub(crate) fn judged(
        &self,
        what: &str,
        hint: impl Fn(u16) -> Option<&'static str>,
    ) -> Result<(), CliError> {
        let (expected, all) = (self.expected, self.sent);
        if let Some((status, said)) = &self.first {
            let told = match (all, self.others) {
                (1, _) => format!("expected {expected}, and {status} came back"),
                (_, some) => format!(
                    "expected {expected}, and {some} of {all} came back with another, such as {status}"
                ),
            };
            let mut error = CliError::coded(Code::Unmet, told);
            if !said.is_empty() && !self.said {
                error = error.cause(format!("the receiver said: {said}"));
            }
            return Err(match hint(*status) {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        if let Some(why) = &self.why {
            let told = match (all, self.silences) {
                (1, _) => "nothing came back".to_owned(),
                (_, some) => format!("nothing came back of {some} of {all} {what}"),
            };
            let error = CliError::new(Exit::Network, told).cause(why.to_string());
            return Err(match sender::hint(why) {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderMap, StatusCode};

    use super::*;

    fn note(answers: &mut Answers, status: u16, body: &str) {
        let (status, headers) = (StatusCode::from_u16(status).unwrap(), HeaderMap::new());
        let body = body.to_owned().into();
        answers.note(&Ok(Answer { status, headers, body, truncated: false, took: Duration::ZERO }));
    }

    fn told(answers: &Answers) -> String {
        answers.judged("deliveries", |_| Some("do something")).unwrap_err().told()
    }

    #[test]
    fn what_is_not_expected_is_counted_and_the_first_told_without_signatures() {
        let mut answers = Answers::new(Statuses::Ok);
        note(&mut answers, 204, "");
        assert!(answers.judged("deliveries", |_| None).is_ok());
        note(&mut answers, 500, &format!(" v1={} ", "ab".repeat(32)));
        note(&mut answers, 404, "x");
        let told = told(&answers);
        assert!(
            told.contains("expected ok, and 2 of 3 came back with another, such as 500"),
            "{told}"
        );
        assert!(
            told.contains("the receiver said: v1=abab…") && told.contains("do something"),
            "{told}"
        );
        let elsewhere = self::told(&answers.said_elsewhere());
        assert!(elsewhere.contains("such as 500") && !elsewhere.contains("abab"), "{elsewhere}");
        let mut one = Answers::new("401".parse().unwrap());
        note(&mut one, 401, "");
        assert!(one.judged("deliveries", |_| None).is_ok());
        one = Answers::new(Statuses::Class(2));
        note(&mut one, 302, "");
        assert!(self::told(&one).contains("expected 2xx, and 302 came back"));
    }
}
