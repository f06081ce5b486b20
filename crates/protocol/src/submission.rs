//! The submission (SPEC §2).

use serde::{Deserialize, Serialize};

use crate::{Answers, SubmissionId, Timestamp};

/// One submission of a form, owned. Its Debug does not show the answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Submission {
    /// Identifier.
    pub id: SubmissionId,
    /// The answers by field label, as the exact JSON text that was accepted.
    pub data: Answers,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Submission {
    /// A submission from its parts.
    pub fn new(id: SubmissionId, data: Answers, created_at: Timestamp) -> Self {
        Self { id, data, created_at }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AnswerPlace, Answers, Literals, PageRef, Submission, WebhookEvent};

    #[test]
    fn no_debug_shows_an_answer() {
        let json = r#"{"E-mail":"ada@example.org"}"#;
        let answers = Answers::parse(json).unwrap();
        let time = "2026-01-31T09:30:00.120Z";
        let id = || "sub_1".parse().unwrap();
        let submission = Submission::new(id(), answers.clone(), time.parse().unwrap());
        let form = "frm_1".parse().unwrap();
        let event = WebhookEvent::submission_created(
            id(),
            form,
            "T",
            answers.clone(),
            time.parse().unwrap(),
        );
        let page = format!(
            r#"{{"data":[{{"id":"sub_1","data":{json},"created_at":"{time}"}}],"pagination":{{"has_more":false}}}}"#
        );
        let page: PageRef<'_> = serde_json::from_str(&page).unwrap();
        let places = AnswerPlace::of(json).unwrap();
        let literals = Literals::new(json, &places);
        let first = literals.iter().next().unwrap().1;
        let shown = format!("{answers:?} {submission:?} {event:?} {page:?} {literals:?} {first:?}");
        assert!(!shown.contains("ada") && !shown.contains("E-mail"), "{shown}");
        assert!(shown.contains("sub_1") && shown.contains("28 bytes"), "{shown}");
    }
}
