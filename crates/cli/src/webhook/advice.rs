//! A verdict for people: what was found, the rule behind it, and what to do.

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use serde::Serialize;

use crate::webhook::capture::CaptureNumber;
use crate::webhook::verdict::{Search, Verdict};

/// What is said of a verdict. Nothing of it is a stranger's word but the age.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Advice {
    /// What was found.
    pub(crate) found: String,
    /// The rule, and where it stands.
    pub(crate) rule: &'static str,
    /// What to do about it; none where nothing is to be done.
    pub(crate) next: Option<String>,
    /// Whether a search may say more.
    pub(crate) can_search: bool,
    /// The command that says more.
    pub(crate) command: Option<String>,
    /// Why a receiver refuses it; none where it takes it.
    pub(crate) refused: Option<&'static str>,
}

/// What is said of a verdict.
pub(crate) fn advice(verdict: &Verdict, number: Option<CaptureNumber>) -> Advice {
    let row = verdict.code.row();
    let signed = row.is_signed.then(|| signed(verdict)).flatten().unwrap_or_default();
    let command = number
        .filter(|_| row.search == Search::All)
        .map(|number| format!("formsvc webhook verify --capture {number} --explain"));
    Advice {
        found: format!("{}{signed}", sentence(row.meaning)),
        rule: row.rule,
        next: row.next.map(sentence),
        can_search: row.search != Search::Nothing,
        command,
        refused: row.is_refusal().then_some(row.meaning),
    }
}

/// When what is signed rightly was signed, and with what.
fn signed(verdict: &Verdict) -> Option<String> {
    let age = verdict.age?;
    let with = verdict.secret.as_deref().map(|name| format!(" with the secret of {name}"));
    let far = seconds(age);
    let when = if age < 0 {
        format!("{far} ahead of this machine’s clock")
    } else {
        format!("{far} before it came")
    };
    let with = with.unwrap_or_default();
    Some(format!(" It was signed{with} {when}; {} are allowed.", SIGNATURE_TOLERANCE.as_secs()))
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if clause.ends_with('?') { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

fn seconds(age: i64) -> String {
    match age.unsigned_abs() {
        1 => "1 second".to_owned(),
        age => format!("{age} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::verdict::{VERDICTS, VerdictCode};

    fn of(code: VerdictCode, age: Option<i64>) -> Advice {
        advice(&Verdict { code, secret: None, age }, Some(17))
    }

    #[test]
    fn every_verdict_is_explained_in_sentences() {
        for row in VERDICTS {
            let advice = of(row.code, Some(5));
            for text in [Some(&*advice.found), Some(advice.rule), advice.next.as_deref()] {
                let text = text.unwrap_or("None.");
                assert!(text.starts_with(char::is_uppercase) && text.ends_with('.'), "{text}");
            }
            assert_eq!(advice.refused.is_some(), row.is_refusal(), "{}", row.name);
        }
    }

    #[test]
    fn ages_are_told_in_the_direction_they_have_where_they_are_proven() {
        for (code, age, has) in [
            (
                VerdictCode::Valid,
                0,
                "now. It was signed 0 seconds before it came; 300 are allowed.",
            ),
            (VerdictCode::Valid, -2, "signed 2 seconds ahead of this machine’s clock; 300"),
            (VerdictCode::TooOld, 412, "signed 412 seconds before it came"),
            (VerdictCode::InFuture, -301, "signed 301 seconds ahead"),
            (VerdictCode::BadEvent, 1, "signed 1 second before"),
            (VerdictCode::TooOld, i64::MIN, "9223372036854775808 seconds"),
            (VerdictCode::NoMatch, 5, "over this body."),
            (VerdictCode::Unchecked, 5, "to verify with."),
        ] {
            let found = of(code, Some(age)).found;
            assert!(found.contains(has), "{found}");
        }
        let signed = Verdict { code: VerdictCode::Valid, secret: Some("new".into()), age: Some(7) };
        let found = advice(&signed, None).found;
        assert!(found.contains("It was signed with the secret of new 7 seconds before"), "{found}");
    }

    #[test]
    fn only_a_mismatch_has_all_to_be_found_out() {
        let command = "formsvc webhook verify --capture 17 --explain";
        assert_eq!(of(VerdictCode::NoMatch, None).command.as_deref(), Some(command));
        assert_eq!(of(VerdictCode::Valid, None).command, None);
        assert!(of(VerdictCode::TooOld, None).can_search);
        assert!(!of(VerdictCode::BadEvent, None).can_search);
    }
}
