//! The form (SPEC §2, §4).

use crate::open_enum::open_enum;
use crate::wire_object::wire_object;
use crate::{ExtraMembers, FormId, PublicId, Timestamp};

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
    +
    /// Members that a later release of the service added.
    extra
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

wire_object! {
    /// The body of `GET /api/v1/forms`: newest first, at most
    /// [`FORMS_LISTED_MAX`](crate::limits::FORMS_LISTED_MAX) forms.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FormList {
        /// The forms.
        data: Vec<Form>,
    }
}
