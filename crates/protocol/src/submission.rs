//! The submission (SPEC §2).

use crate::wire_object::wire_object;
use crate::{Answers, ExtraMembers, SubmissionId, Timestamp};

wire_object! {
    /// One submission of a form. Its Debug output does not show the answers.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Submission {
        /// Identifier.
        id: SubmissionId,
        /// The answers by field label, as the exact JSON text that was accepted.
        data: Answers,
        /// The time at which it was made.
        created_at: Timestamp,
    }
    +
    /// Members that a later release of the service added.
    extra
}

impl Submission {
    /// Creates a submission from its parts.
    pub fn new(id: SubmissionId, data: Answers, created_at: Timestamp) -> Self {
        Self { id, data, created_at, extra: ExtraMembers::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Answers, Page, Submission, WebhookEvent};

    #[test]
    fn debug_shows_no_answers() {
        let json = r#"{"E-mail":"ada@example.org"}"#;
        let time = "2026-01-31T09:30:00.120Z";
        let item = format!(r#"{{"id":"sub_1","data":{json},"created_at":"{time}","score":"ada"}}"#);
        let submission: Submission = serde_json::from_str(&item).unwrap();
        let event = WebhookEvent::submission_created(
            "sub_1".parse().unwrap(),
            "frm_1".parse().unwrap(),
            "T",
            Answers::parse(json).unwrap(),
            time.parse().unwrap(),
        );
        let page = format!(r#"{{"data":[{item}],"pagination":{{"has_more":false}}}}"#);
        let page: Page<Submission> = serde_json::from_str(&page).unwrap();
        let shown = format!("{submission:?} {event:?} {page:?} {:?}", submission.data);
        assert!(!shown.contains("ada") && !shown.contains("E-mail"), "{shown}");
        assert!(shown.contains("sub_1") && shown.contains("28 bytes"), "{shown}");
    }

    #[test]
    fn unknown_members_are_kept_byte_for_byte() {
        let text = r#"{"id":"s","data":{},"created_at":"2026-01-01T00:00:00.000Z","n":1.50,"o":{"a" : 1e999}}"#;
        let submission: Submission = serde_json::from_str(text).unwrap();
        assert_eq!(submission.extra.get("n"), Some("1.50"));
        assert_eq!(submission.extra.get("id"), None);
        assert_eq!(serde_json::to_string(&submission).unwrap(), text);
    }
}
