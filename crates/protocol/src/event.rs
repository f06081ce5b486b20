//! The webhook event (SPEC §6).

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::{Answers, FormId, SubmissionId, Timestamp};

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
    /// What happened.
    pub event: EventKind,
    /// The submission; the idempotency key of the delivery: receivers deduplicate on it.
    pub submission_id: SubmissionId,
    /// The form it was made to.
    pub form_id: FormId,
    /// Title of the form.
    pub form_title: String,
    /// The answers, as exact JSON text.
    pub data: Answers,
    /// When the submission was made.
    pub created_at: Timestamp,
}

impl WebhookEvent {
    /// A `submission.created` event from its parts.
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
