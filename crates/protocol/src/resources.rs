//! The resources of the REST API (SPEC §2): user, form, submission, and the pages that list them;
//! and the webhook event (SPEC §6).

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::wire_object::{ExtraMembers, wire_object};
use crate::{Answers, Cursor, FormId, PublicId, SubmissionId, Timestamp, UserId};

wire_object! {
    /// The owner of an API key, as `GET /api/v1/me` returns it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct User {
        /// Identifier of the user.
        id: UserId,
        /// E-mail address.
        email: String,
        /// Display name.
        name: String,
    }
}

impl User {
    /// Creates a user from its parts.
    pub fn new(id: UserId, email: impl Into<String>, name: impl Into<String>) -> Self {
        Self { id, email: email.into(), name: name.into(), extra: ExtraMembers::default() }
    }
}

open_enum! {
    /// Status of a form. SPEC §2 shows only `published`; the reference service adds the others.
    pub enum FormStatus / UnknownFormStatus {
        /// Being written; accepts no submissions.
        Draft = "draft",
        /// Accepts submissions.
        Published = "published",
        /// No longer accepts submissions; its submissions stay readable.
        Closed = "closed",
    }
}

wire_object! {
    /// A form, as listed by `GET /api/v1/forms`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Form {
        /// Identifier; names the form in API paths.
        id: FormId,
        /// Identifier in the form's public address.
        public_id: PublicId,
        /// Title.
        title: String,
        /// Status; decides whether the form accepts submissions.
        status: FormStatus,
        /// The time at which it was created.
        created_at: Timestamp,
        /// The time of its last change.
        updated_at: Timestamp,
        /// Path of the public form, relative to the base address: `/f/<public_id>`.
        url: String,
    }
}

/// Lets calls accept a form where they need its id.
impl From<&Form> for FormId {
    fn from(form: &Form) -> Self {
        form.id.clone()
    }
}

impl Form {
    /// Creates a form from its parts; `url` follows from the public id.
    pub fn new(
        id: FormId,
        public_id: PublicId,
        title: impl Into<String>,
        status: FormStatus,
        created_at: Timestamp,
        updated_at: Timestamp,
    ) -> Self {
        let (title, url) = (title.into(), format!("/f/{public_id}"));
        let extra = ExtraMembers::default();
        Self { id, public_id, title, status, created_at, updated_at, url, extra }
    }
}

/// The body of `GET /api/v1/forms`: newest first, at most
/// [`FORMS_LISTED_MAX`](crate::limits::FORMS_LISTED_MAX) forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormList {
    /// The forms.
    pub data: Vec<Form>,
}

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
}

impl Submission {
    /// Creates a submission from its parts.
    pub fn new(id: SubmissionId, data: Answers, created_at: Timestamp) -> Self {
        Self { id, data, created_at, extra: ExtraMembers::default() }
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items, newest first.
    pub data: Vec<T>,
    /// The position of the next page.
    pub pagination: Pagination,
}

/// The pagination object (SPEC §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PaginationMembers")]
pub struct Pagination {
    /// The `cursor` of the next request. `None` for `null`, an empty text or a missing member.
    pub next_cursor: Option<Cursor>,
    /// True if more items remain. This alone decides whether the list continues.
    pub has_more: bool,
}

wire_object! {
    /// The pagination object as it is sent. serde's derived code would also read an array, and end a
    /// list at `[null, false]`.
    struct PaginationMembers {
        next_cursor: Option<Cursor>,
        has_more: bool,
    }
}

impl From<PaginationMembers> for Pagination {
    fn from(PaginationMembers { next_cursor, has_more, .. }: PaginationMembers) -> Self {
        let next_cursor = next_cursor.filter(|cursor| !cursor.as_str().is_empty());
        Self { next_cursor, has_more }
    }
}

open_enum! {
    /// The kind of a webhook event.
    pub enum EventKind / UnknownEventKind {
        /// A submission was made to a form that has an endpoint.
        SubmissionCreated = "submission.created",
    }
}

/// The body of a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookEvent {
    /// Kind of the event.
    pub event: EventKind,
    /// The submission. It is the idempotency key of the delivery: receivers deduplicate on it.
    pub submission_id: SubmissionId,
    /// The form of the submission.
    pub form_id: FormId,
    /// Title of the form.
    pub form_title: String,
    /// The answers, as exact JSON text.
    pub data: Answers,
    /// The time at which the submission was made.
    pub created_at: Timestamp,
}

impl WebhookEvent {
    /// Creates a `submission.created` event from its parts.
    pub fn submission_created(
        submission_id: SubmissionId,
        form_id: FormId,
        form_title: impl Into<String>,
        data: Answers,
        created_at: Timestamp,
    ) -> Self {
        let (event, form_title) = (EventKind::SubmissionCreated, form_title.into());
        Self { event, submission_id, form_id, form_title, data, created_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn cursor_null_empty_or_missing_is_none() {
        for text in [
            r#"{"next_cursor":null,"has_more":false}"#,
            r#"{"next_cursor":"","has_more":false}"#,
            r#"{"has_more":false}"#,
        ] {
            let pagination: Pagination = serde_json::from_str(text).unwrap();
            assert_eq!(pagination, Pagination { next_cursor: None, has_more: false }, "{text}");
        }
    }

    #[test]
    fn repeated_member_is_an_error_that_names_it() {
        let text = r#"{"has_more":false,"has_more":true}"#;
        let error = serde_json::from_str::<Pagination>(text).unwrap_err().to_string();
        assert!(error.starts_with("duplicate field `has_more`"), "{error}");
    }
}
