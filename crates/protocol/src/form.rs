//! The form (SPEC §2, §4).

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::{FormId, PublicId, Timestamp};

open_enum! {
    /// Status of a form (SPEC §2 shows only `published`; the others are the reference service's).
    pub enum FormStatus / UnknownFormStatus {
        /// Being written; accepts no submissions.
        Draft = "draft",
        /// Accepts submissions.
        Published = "published",
        /// No longer accepts submissions; those it has stay readable.
        Closed = "closed",
    }
}

/// A form, as listed by `GET /api/v1/forms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Form {
    /// Identifier; names the form in API paths.
    pub id: FormId,
    /// Identifier in the form's public address.
    pub public_id: PublicId,
    /// Title.
    pub title: String,
    /// Whether it accepts submissions.
    pub status: FormStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Path of the public form, relative to the base address: `/f/<public_id>`.
    pub url: String,
}

impl Form {
    /// A form from its parts; `url` follows from the public id.
    pub fn new(
        id: FormId,
        public_id: PublicId,
        title: impl Into<String>,
        status: FormStatus,
        created_at: Timestamp,
        updated_at: Timestamp,
    ) -> Self {
        let url = format!("/f/{public_id}");
        Self { id, public_id, title: title.into(), status, created_at, updated_at, url }
    }
}

/// The body of `GET /api/v1/forms`: newest first, at most
/// [`FORMS_LISTED_MAX`](crate::limits::FORMS_LISTED_MAX).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormList {
    /// The forms.
    pub data: Vec<Form>,
}
