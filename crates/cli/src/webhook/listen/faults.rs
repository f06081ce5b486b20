//! Answers that were asked for, so that a sender's retries can be seen: `--respond`, `--drop` and
//! `--respond-delay`. They follow the attempts of each submission, whatever comes between them.

use std::time::Duration;

use http::StatusCode;

/// Longest list of answers.
const ANSWERS_MAX: usize = 64;

/// What a delivery is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Respond {
    Status(StatusCode),
    /// As if nothing had been asked for.
    Pass,
}

/// Answers as they were typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses(pub(crate) Vec<Respond>);

/// Answers by the attempts of each submission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// So many attempts are dropped first.
    pub(crate) dropped: u32,
    /// Then these are answered, one by one; the last goes on.
    pub(crate) respond: Vec<Respond>,
    /// How long an answer is held back.
    pub(crate) delay: Option<Duration>,
}

/// What becomes of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    Drop,
    Answer(StatusCode),
}

impl Faults {
    /// What becomes of an attempt, the first being 1.
    pub(super) fn of_attempt(&self, attempt: u32) -> Fault {
        if attempt <= self.dropped {
            return Fault::Drop;
        }
        let after = attempt - self.dropped - 1;
        let last = self.respond.len().saturating_sub(1);
        let at = usize::try_from(after).unwrap_or(usize::MAX).min(last);
        match self.respond.get(at) {
            Some(Respond::Status(status)) => Fault::Answer(*status),
            Some(Respond::Pass) | None => Fault::None,
        }
    }
}

/// Reads `503,503,200` or `503,pass`.
pub(crate) fn respond(text: &str) -> Result<Responses, String> {
    let rule = "expected statuses from 200 to 599, or `pass`, with commas: 503,503,200";
    let answers: Vec<_> = text
        .split(',')
        .map(|answer| match answer.trim() {
            "pass" => Ok(Respond::Pass),
            status => {
                let status = status.parse().ok().filter(|status| (200..600).contains(status));
                let status = status.and_then(|status| StatusCode::from_u16(status).ok());
                status.map(Respond::Status).ok_or(rule)
            }
        })
        .collect::<Result<_, _>>()?;
    if answers.len() > ANSWERS_MAX {
        return Err(format!("expected at most {ANSWERS_MAX} answers"));
    }
    Ok(Responses(answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(faults: &Faults) -> Vec<String> {
        (1..=5)
            .map(|attempt| match faults.of_attempt(attempt) {
                Fault::None => "-".to_owned(),
                Fault::Drop => "drop".to_owned(),
                Fault::Answer(status) => status.as_str().to_owned(),
            })
            .collect()
    }

    #[test]
    fn attempts_are_dropped_first_and_the_last_answer_goes_on() {
        for (dropped, text, expected) in [
            (0, None, ["-"; 5]),
            (2, None, ["drop", "drop", "-", "-", "-"]),
            (0, Some("503,503,200"), ["503", "503", "200", "200", "200"]),
            (1, Some("500"), ["drop", "500", "500", "500", "500"]),
            (0, Some("503, pass"), ["503", "-", "-", "-", "-"]),
            (u32::MAX, None, ["drop"; 5]),
        ] {
            let respond = text.map(|text| respond(text).unwrap().0).unwrap_or_default();
            let faults = Faults { dropped, respond, delay: None };
            assert_eq!(answers(&faults), expected);
        }
    }

    #[test]
    fn what_is_no_status_is_refused_with_the_rule() {
        for bad in ["", "100", "600", "200,", "2e2", "-200", "ok", "503;200", &"200,".repeat(70)] {
            assert!(respond(bad).unwrap_err().contains("expected"), "{bad:?}");
        }
        assert!(respond(&vec!["200"; 65].join(",")).is_err());
    }
}
