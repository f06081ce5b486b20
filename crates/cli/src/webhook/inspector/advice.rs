//! A verdict for people: what was found, the rule behind it, and what to do.

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use serde::Serialize;

use crate::webhook::capture::CaptureNumber;
use crate::webhook::verdict::{Verdict, VerdictCode};

/// What is said of a verdict. Nothing of it is a stranger's word but the age.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Advice {
    /// What was found.
    pub(super) found: String,
    /// The rule, and where it stands.
    pub(super) rule: &'static str,
    /// What to do about it; none where nothing is to be done.
    pub(super) next: Option<String>,
    /// The command that says more.
    pub(super) command: Option<String>,
}

/// The rule that a verdict rests on.
fn rule(code: VerdictCode) -> &'static str {
    match code {
        VerdictCode::Valid | VerdictCode::Unchecked | VerdictCode::NoMatch => {
            "SPEC §5: v1 is the HMAC-SHA256 of “<t>.<raw body>” with the endpoint’s signing secret, \
             compared in constant time."
        }
        VerdictCode::MissingHeader | VerdictCode::Malformed => {
            "SPEC §5: each delivery carries X-Service-Signature: t=<unix-seconds>,v1=<64 lower-case \
             hex digits>; without t or v1 it is refused."
        }
        VerdictCode::TooOld | VerdictCode::InFuture => {
            "SPEC §5: a delivery is refused when its t is more than 300 seconds from now, so that \
             nobody can send an old one again."
        }
        VerdictCode::TooLarge => {
            "The listener reads a body up to its cap, and judges none that goes on."
        }
        VerdictCode::BadEvent => {
            "SPEC §6: the body is a JSON object with event, submission_id, form_id, form_title, data \
             and created_at."
        }
    }
}

/// What is said of a verdict.
pub(super) fn advice(verdict: &Verdict, number: Option<CaptureNumber>) -> Advice {
    let (found, next) = match verdict.code {
        VerdictCode::Valid => (valid(verdict), None),
        VerdictCode::Unchecked => (
            "Nobody looked at the signature, for the listener has no signing secret.".to_owned(),
            Some("Start the listener with --secret-file, or with FORMSVC_SIGNING_SECRET."),
        ),
        VerdictCode::MissingHeader => (
            "The request has no X-Service-Signature.".to_owned(),
            Some(
                "Was it the service that sent it? If so, look for a proxy on the way that drops \
                 headers it does not know.",
            ),
        ),
        VerdictCode::Malformed => (
            "X-Service-Signature is not of the form it must have, or came twice.".to_owned(),
            Some(
                "Compare the header below with the rule: spaces, capital letters and base64 are not taken.",
            ),
        ),
        VerdictCode::NoMatch => (
            "No v1 of the header was made over this body with a secret that the listener has."
                .to_owned(),
            Some(
                "Most often it is another endpoint’s secret, or a proxy that wrote the JSON anew. \
                 Both are tried, and more, when you have it find out why.",
            ),
        ),
        VerdictCode::TooOld => (
            format!("The signature is right, and was {} old when it came.", seconds(verdict.age)),
            Some(
                "Replay it: it is signed anew then. If it came straight from the service, the clock of \
                 one of the two machines is wrong.",
            ),
        ),
        VerdictCode::InFuture => (
            format!(
                "The signature is right, and its time was {} ahead when it came.",
                seconds(verdict.age)
            ),
            Some("The clock of this machine or of the sender’s is wrong."),
        ),
        VerdictCode::TooLarge => (
            "The body is larger than the listener takes.".to_owned(),
            Some("Start the listener with a larger --max-body."),
        ),
        VerdictCode::BadEvent => (
            "The signature is right, but the body is no event.".to_owned(),
            Some("Look at the body below; whoever signed it has the secret."),
        ),
    };
    let command = number
        .filter(|_| verdict.code == VerdictCode::NoMatch)
        .map(|number| format!("formsvc webhook verify --capture {number} --explain"));
    Advice { found, rule: rule(verdict.code), next: next.map(str::to_owned), command }
}

fn valid(verdict: &Verdict) -> String {
    let with = verdict.secret.as_deref().map(|name| format!(" with the secret of {name}"));
    let age = match verdict.age {
        Some(age) if age < 0 => format!(", {} ahead of this machine’s clock", seconds(Some(age))),
        Some(age) => format!(", {} before it came", seconds(Some(age))),
        None => String::new(),
    };
    format!(
        "The body was signed{}{age}; {} are allowed.",
        with.unwrap_or_default(),
        SIGNATURE_TOLERANCE.as_secs()
    )
}

fn seconds(age: Option<i64>) -> String {
    match age.map_or(0, i64::unsigned_abs) {
        1 => "1 second".to_owned(),
        age => format!("{age} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::verdict::VERDICTS;

    fn of(code: VerdictCode, age: Option<i64>) -> Advice {
        advice(&Verdict { code, secret: None, age }, Some(17))
    }

    #[test]
    fn every_verdict_is_explained_and_every_refusal_says_what_to_do() {
        for row in VERDICTS {
            let advice = of(row.code, Some(5));
            assert!(advice.found.ends_with('.') && advice.rule.ends_with('.'), "{advice:?}");
            assert_eq!(advice.next.is_none(), row.code == VerdictCode::Valid, "{}", row.name);
        }
    }

    #[test]
    fn ages_are_told_in_the_direction_they_have() {
        for (code, age, has) in [
            (VerdictCode::Valid, 0, ", 0 seconds before it came; 300 are allowed"),
            (VerdictCode::Valid, -2, ", 2 seconds ahead of this machine’s clock"),
            (VerdictCode::TooOld, 412, "412 seconds old"),
            (VerdictCode::InFuture, -301, "301 seconds ahead"),
            (VerdictCode::TooOld, i64::MIN, "9223372036854775808 seconds"),
        ] {
            let found = of(code, Some(age)).found;
            assert!(found.contains(has), "{found}");
        }
    }

    #[test]
    fn only_a_mismatch_has_more_to_be_found_out() {
        let command = "formsvc webhook verify --capture 17 --explain";
        assert_eq!(of(VerdictCode::NoMatch, None).command.as_deref(), Some(command));
        assert_eq!(of(VerdictCode::Valid, None).command, None);
    }
}
