//! The webhook event (SPEC §6).

use crate::open_enum::open_enum;
use crate::wire_object::wire_object;
use crate::{Answers, FormId, SubmissionId, Timestamp};

open_enum! {
    /// The kind of a webhook event.
    pub enum EventKind / UnknownEventKind {
        /// A submission was made to a form that has an endpoint.
        SubmissionCreated = "submission.created",
    }
}

wire_object! {
    /// The body of a delivery.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct WebhookEvent {
        /// Kind of the event.
        event: EventKind,
        /// The submission. It is the idempotency key of the delivery: receivers deduplicate on it.
        submission_id: SubmissionId,
        /// The form of the submission.
        form_id: FormId,
        /// Title of the form.
        form_title: String,
        /// The answers, as exact JSON text.
        data: Answers,
        /// The time at which the submission was made.
        created_at: Timestamp,
    }
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
